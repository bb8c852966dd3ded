//! L8: requests that waited in the generator because no connection could take them.

use evidence::{Finding, Histogram, RuleId, Severity};
use figures::Row;
use workload::Target;

use crate::facts::Facts;
use crate::rule::{AffectedClaims, Check, Rule, with_figures};
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::L8,
    title: "waited-for-connection",
    severity: Severity::Invalid,
    tests: "For each endpoint and phase: requests that waited in the generator because no connection could take \
            them and no other could be opened. Above 1 % of the requests, where the generator's own limit was \
            reached, that is invalid; otherwise, and where the plan or the target set the limit, a caution.",
    affects: "objectives on times of that endpoint and phase",
    why: "The wait is part of the response time, but the target did not cause it: it had not received the request.",
    next: "Raise the target's `connections`, or the target's own limit on streams; if the wait is intended, such as in a model of a client's pool of fixed size, compare the service time with the response time.",
    affected: AffectedClaims::Times,
    check: Check::Run(check),
};

/// A larger share of requests that waited because of the generator's own limit is invalid.
pub(crate) const WAITED_INVALID: f64 = 0.01;

/// Waits of one endpoint in one phase, and what limited its connections: the name in the evidence.
#[derive(Clone, Copy)]
struct Waits<'a> {
    endpoint: &'a Row,
    limit: &'a str,
    times: &'a Histogram,
}

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let of = |endpoint: &'_ Row| {
        let waits = endpoint.place_waits.iter();
        waits.map(|(limit, times)| finding(facts, Waits { endpoint, limit, times })).collect::<Vec<_>>()
    };
    facts.figures.endpoints().flat_map(of).collect()
}

fn finding(facts: &Facts<'_>, waits: Waits<'_>) -> Finding {
    let Waits { endpoint, limit, times } = waits;
    let planned = target_of(facts, endpoint).and_then(|target| target.connecting.connections);
    let share = times.count() as f64 / endpoint.begun().max(1) as f64;
    let is_own = limit == "ports" || planned.is_none() && matches!(limit, "connections" | "streams");
    let severity = if is_own && share > WAITED_INVALID { Severity::Invalid } else { Severity::Caution };
    let ms = |us: f64| us / 1_000.0;
    let (median_ms, longest_ms) =
        (ms(times.quantile(0.5).finite_us().unwrap_or(0.0)), ms(times.max_us().unwrap_or(0) as f64));
    let what = format!(
        "{} of {} of {} ({}) waited in the generator for a connection, half of them {} or longer, at most {}: {}.",
        brief::count(times.count()),
        brief::counted(endpoint.begun(), "request"),
        endpoint.key.describe(),
        brief::percent(share),
        brief::ms(median_ms),
        brief::ms(longest_ms),
        reason(limit, planned)
    );
    let figures = [
        ("waited", times.count() as f64, "1"),
        ("waited share", share * 100.0, "%"),
        ("median wait", median_ms, "ms"),
        ("longest wait", longest_ms, "ms"),
        ("threshold", WAITED_INVALID * 100.0, "%"),
    ];
    with_figures(RULE.finding(severity, endpoint.key.scope(), what), &figures)
}

/// What limited the connections, in words.
fn reason(limit: &str, planned: Option<u32>) -> String {
    let connections = match planned {
        Some(1) => "the one connection that the plan sets".to_owned(),
        Some(number) => format!("each of the {number} connections that the plan sets"),
        None => "each of the connections that are opened by default".to_owned(),
    };
    match limit {
        "connections" => format!("{connections} was in use"),
        "streams" => format!("100 requests, the most that are sent at once, were under way on {connections}"),
        "peer-streams" => format!(
            "as many requests as the target allows (SETTINGS_MAX_CONCURRENT_STREAMS) were under way on {connections}"
        ),
        "ports" => "no local port was free for another one: each was in use, or kept after a connection that this machine closed less \
                    than a minute ago. Keep connections open, connect from further addresses (`local_address`), or widen \
                    `net.ipv4.ip_local_port_range`"
            .to_owned(),
        _ => format!("the target did not read the data sent on {connections}"),
    }
}

/// The target of the endpoint's step.
fn target_of<'a>(facts: &Facts<'a>, endpoint: &Row) -> Option<&'a Target> {
    let scenario = facts.scenario(&endpoint.key.scenario)?;
    let step = scenario.steps().find(|step| *step.name == *endpoint.key.endpoint)?;
    facts.workload.targets.get(step.request.target())
}

#[cfg(test)]
mod tests {
    use evidence::{Key, Metric};

    use crate::testing::{Load, TestRun};

    /// A run of 6,000 requests of which 60 waited in each of so many seconds.
    fn waiting(limit: &str, seconds: u32, connections: Option<u32>) -> TestRun {
        let mut test_run =
            TestRun::new().offer("steady", "list", Load::ok(100)).with_objective("fast", "p95(list) < 50ms");
        let key = Key::of(Metric::PlaceWait).scenario("play").phase("steady").endpoint("list");
        for second in 10..10 + seconds {
            test_run.run.record(&key.clone().tag("limit", limit), second, 4_000, 60);
        }
        let name = test_run.workload.scenarios[0].steps().next().unwrap().request.target().to_owned();
        test_run.workload.targets.entry(name).or_default().connecting.connections = connections;
        test_run
    }

    #[test]
    fn waits_at_the_generators_own_limit_are_invalid_above_one_percent() {
        insta::assert_snapshot!(waiting("streams", 2, None).findings(super::check), @r#"
        invalid [steady/play/list] 120 of 6,000 requests of `list` in `steady` (2 %) waited in the generator for a connection, half of them 4 ms or longer, at most 4 ms: 100 requests, the most that are sent at once, were under way on each of the connections that are opened by default.
          waited Some(120.0) 1, waited share Some(2.0) %, median wait Some(4.0005) ms, longest wait Some(4.001) ms, threshold Some(1.0) %
        "#);
        insta::assert_snapshot!(waiting("streams", 1, None).findings(super::check), @r#"
        caution [steady/play/list] 60 of 6,000 requests of `list` in `steady` (1 %) waited in the generator for a connection, half of them 4 ms or longer, at most 4 ms: 100 requests, the most that are sent at once, were under way on each of the connections that are opened by default.
          waited Some(60.0) 1, waited share Some(1.0) %, median wait Some(4.0005) ms, longest wait Some(4.001) ms, threshold Some(1.0) %
        "#);
        insta::assert_snapshot!(TestRun::new().offer("steady", "list", Load::ok(9)).findings(super::check), @"nothing");
    }

    #[test]
    fn waits_for_a_local_port_are_the_generators_whatever_the_plan_sets() {
        insta::assert_snapshot!(waiting("ports", 2, Some(500)).findings(super::check), @r#"
        invalid [steady/play/list] 120 of 6,000 requests of `list` in `steady` (2 %) waited in the generator for a connection, half of them 4 ms or longer, at most 4 ms: no local port was free for another one: each was in use, or kept after a connection that this machine closed less than a minute ago. Keep connections open, connect from further addresses (`local_address`), or widen `net.ipv4.ip_local_port_range`.
          waited Some(120.0) 1, waited share Some(2.0) %, median wait Some(4.0005) ms, longest wait Some(4.001) ms, threshold Some(1.0) %
        "#);
    }

    #[test]
    fn waits_at_a_limit_of_the_plan_or_the_target_are_a_caution_that_names_it() {
        insta::assert_snapshot!(waiting("connections", 10, Some(2)).findings(super::check), @r#"
        caution [steady/play/list] 600 of 6,000 requests of `list` in `steady` (10 %) waited in the generator for a connection, half of them 4 ms or longer, at most 4 ms: each of the 2 connections that the plan sets was in use.
          waited Some(600.0) 1, waited share Some(10.0) %, median wait Some(4.0005) ms, longest wait Some(4.001) ms, threshold Some(1.0) %
        "#);
        insta::assert_snapshot!(waiting("peer-streams", 10, None).findings(super::check), @r#"
        caution [steady/play/list] 600 of 6,000 requests of `list` in `steady` (10 %) waited in the generator for a connection, half of them 4 ms or longer, at most 4 ms: as many requests as the target allows (SETTINGS_MAX_CONCURRENT_STREAMS) were under way on each of the connections that are opened by default.
          waited Some(600.0) 1, waited share Some(10.0) %, median wait Some(4.0005) ms, longest wait Some(4.001) ms, threshold Some(1.0) %
        "#);
        insta::assert_snapshot!(waiting("unread", 10, Some(1)).findings(super::check), @r"
        caution [steady/play/list] 600 of 6,000 requests of `list` in `steady` (10 %) waited in the generator for a connection, half of them 4 ms or longer, at most 4 ms: the target did not read the data sent on the one connection that the plan sets.
          waited Some(600.0) 1, waited share Some(10.0) %, median wait Some(4.0005) ms, longest wait Some(4.001) ms, threshold Some(1.0) %
        ");
    }
}
