//! L6: the counts add up, or the run is invalid.

mod imported;

use evidence::{Finding, Metric, RuleId, Scope, Severity};
use figures::{Row, ScenarioPhase};
use workload::Scenario;

use crate::facts::Facts;
use crate::rule::{AffectedClaims, Check, Rule, with_figures};
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::L6,
    title: "accounting-identity",
    severity: Severity::Invalid,
    tests: "For each scenario and phase: scheduled = started + dropped; started = iterations done + cancelled \
            + in flight at the end. For each endpoint: requests = responses of every outcome + in flight at \
            the end; no more service times than response times. For the window of each phase: requests begun = \
            completed + cancelled + growth of requests in flight. For a completed run: scheduled = the plan's \
            arrivals, within 1; of a number of iterations, no more than the plan's. Any other gap is invalid. \
            What was in flight is known only for runs that ended in order; for others the difference is \
            stated.",
    affects: "everything: counts that do not add up invalidate the run, with or without objectives",
    why: "If requests are missing from the counts, their results are unknown.",
    next: "Do not use this run. Keep the run file: it is evidence of a fault in the generator. Of an import, look \
           for the rest of its files, or import the tool's own summary beside them: its claims allow for what \
           is missing.",
    affected: AffectedClaims::Everything,
    check: Check::Run(check),
};

/// The largest difference between arrivals and the plan's, for rounding.
pub(crate) const PLAN_GAP: u64 = 1;

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    if facts.source.is_some() {
        return imported::check(facts);
    }
    let mut findings: Vec<Finding> = facts.figures.scenario_phases.iter().filter_map(arrivals).collect();
    findings.extend(iterations(facts));
    findings.extend(requests(facts));
    findings.extend(windows(facts));
    findings.extend(facts.figures.endpoints().filter_map(service_times));
    if facts.is_complete() {
        findings.extend((0..facts.workload.scenarios.len()).filter_map(|scenario| plan(facts, scenario)));
    }
    findings.extend(given_up(facts));
    findings
}

struct NamedCount {
    name: &'static str,
    count: u64,
}

fn named(name: &'static str, count: u64) -> NamedCount {
    NamedCount { name, count }
}

/// The finding about two counts that should be equal.
fn gap(scope: Scope, what: String, left: NamedCount, right: NamedCount) -> Finding {
    let figures = [
        (left.name, left.count as f64, "1"),
        (right.name, right.count as f64, "1"),
        ("gap", left.count.abs_diff(right.count) as f64, "1"),
        ("threshold", 0.0, "1"),
    ];
    with_figures(RULE.finding(Severity::Invalid, scope, what), &figures)
}

/// scheduled = started + dropped.
fn arrivals(scenario_phase: &ScenarioPhase) -> Option<Finding> {
    let accounted = scenario_phase.started + scenario_phase.dropped();
    if scenario_phase.scheduled == accounted {
        return None;
    }
    let what = format!(
        "{} of `{}` {} scheduled in `{}`, {} started or dropped ({} {}).",
        brief::counted(scenario_phase.scheduled, "arrival"),
        scenario_phase.key.scenario,
        brief::were(scenario_phase.scheduled),
        scenario_phase.key.phase,
        brief::count(accounted),
        brief::count(scenario_phase.scheduled.abs_diff(accounted)),
        direction(scenario_phase.scheduled, accounted)
    );
    let scheduled = named("scheduled", scenario_phase.scheduled);
    Some(gap(scenario_phase.key.scope(), what, scheduled, named("started + dropped", accounted)))
}

fn direction(whole: u64, parts: u64) -> &'static str {
    if whole > parts { "missing" } else { "too many" }
}

/// started = done + cancelled + in flight at the end.
fn iterations(facts: &Facts<'_>) -> Vec<Finding> {
    let counts = facts.figures.scenario_phases.iter().map(|s| BegunAndEnded {
        scope: s.key.scope(),
        begun: s.started,
        ended: s.done + s.cancelled,
    });
    unended(facts, "iterations", &counts.collect::<Vec<_>>(), facts.iterations_in_flight())
}

/// requests = responses of every outcome + in flight at the end.
fn requests(facts: &Facts<'_>) -> Vec<Finding> {
    let counts = facts.figures.endpoints().map(|e| BegunAndEnded {
        scope: e.key.scope(),
        begun: e.begun(),
        ended: e.responses(),
    });
    unended(facts, "requests", &counts.collect::<Vec<_>>(), facts.requests_in_flight())
}

/// What was begun and ended in a scope.
struct BegunAndEnded {
    scope: Scope,
    begun: u64,
    ended: u64,
}

/// Whatever was begun must have ended, in every scope, except what was in flight. That is known for the run as a whole,
/// and not at all (`None`) for a run that did not end in order. What is open in a run under way may still end.
fn unended(facts: &Facts<'_>, what: &str, counts: &[BegunAndEnded], in_flight: Option<u64>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for BegunAndEnded { scope, begun, ended } in counts.iter().filter(|counts| counts.ended > counts.begun) {
        let text = format!("{} {what} were begun, {} ended.", brief::count(*begun), brief::count(*ended));
        findings.push(gap(scope.clone(), text, named("begun", *begun), named("ended", *ended)));
    }
    let begun: u64 = counts.iter().map(|counts| counts.begun).sum();
    let ended: u64 = counts.iter().map(|counts| counts.ended).sum();
    let open = begun.saturating_sub(ended);
    match in_flight {
        _ if !findings.is_empty() => {}
        Some(in_flight) if open != in_flight => {
            let text = format!(
                "{} {what} were begun, {} ended and {} were in flight at the end ({} {}).",
                brief::count(begun),
                brief::count(ended),
                brief::count(in_flight),
                brief::count(open.abs_diff(in_flight)),
                direction(open, in_flight)
            );
            let accounted = named("ended + in flight", ended + in_flight);
            findings.push(gap(Scope::default(), text, named("begun", begun), accounted));
        }
        None if open > 0 && !facts.is_looked_at => {
            let text = format!(
                "{} of {} {what} have no end: they were in flight when the run broke off, which cannot be checked.",
                brief::count(open),
                brief::count(begun)
            );
            findings.push(without_fault(Scope::default(), text, NOTHING_TO_DO));
        }
        _ => {}
    }
    findings
}

/// In the window of each phase: in flight before + begun = completed + cancelled + in flight at the end. What a worker that
/// vanished had in flight is not known, nor what was in flight at the end of a phase in which a run was killed.
fn windows(facts: &Facts<'_>) -> Vec<Finding> {
    if facts.workers.all.iter().any(|worker| worker.vanished.is_some() || !worker.has_offered) {
        return Vec::new();
    }
    let mut before = Some(0);
    let mut findings = Vec::new();
    for (phase, counts) in facts.figures.phases.iter().zip(&facts.figures.in_window) {
        let began_with = std::mem::replace(&mut before, counts.in_flight_at_end);
        let (Some(began_with), Some(in_flight)) = (began_with, counts.in_flight_at_end) else { continue };
        let begun = began_with + counts.begun;
        let accounted = counts.completed + counts.cancelled + in_flight;
        if begun == accounted {
            continue;
        }
        let what = format!(
            "In `{}` {} {} in flight or begun; {} completed, {} {} cancelled and {} {} in flight at its end ({} {}).",
            phase.name,
            brief::counted(begun, "request"),
            brief::were(begun),
            brief::count(counts.completed),
            brief::count(counts.cancelled),
            brief::were(counts.cancelled),
            brief::count(in_flight),
            brief::were(in_flight),
            brief::count(begun.abs_diff(accounted)),
            direction(begun, accounted)
        );
        let scope = Scope { phase: Some(phase.name.clone()), ..Scope::default() };
        let accounted = named("completed + cancelled + in flight", accounted);
        findings.push(gap(scope, what, named("in flight or begun", begun), accounted));
    }
    findings
}

/// A service time belongs to a response.
fn service_times(endpoint: &Row) -> Option<Finding> {
    let responses = endpoint.responses();
    if endpoint.service_all <= responses {
        return None;
    }
    let what = format!(
        "{} has {} service times for {} responses.",
        endpoint.key.describe(),
        brief::count(endpoint.service_all),
        brief::count(responses)
    );
    let service_times = named("service times", endpoint.service_all);
    Some(gap(endpoint.key.scope(), what, service_times, named("responses", responses)))
}

/// A completed run has scheduled all arrivals of the plan; a number of iterations, as many as its duration allowed.
fn plan(facts: &Facts<'_>, index: usize) -> Option<Finding> {
    let scenario = &facts.workload.scenarios[index];
    let planned = facts.workload.arrivals_planned(index).filter(|planned| planned.is_exact)?.count;
    let its = facts.figures.scenario_phases.iter().filter(|s| *s.key.scenario == *scenario.name);
    let scheduled: u64 = its.map(|s| s.scheduled).sum();
    let scope = Scope { scenario: Some(scenario.name.clone()), ..Scope::default() };
    if scenario.executor.iterations().is_some() && scheduled < planned {
        return Some(ran_out_of_time(scenario, scope, planned, scheduled));
    }
    if scheduled.abs_diff(planned) <= PLAN_GAP {
        return None;
    }
    let what = format!(
        "The plan has {} arrivals of `{}`, the run scheduled {} ({} {}).",
        brief::count(planned),
        scenario.name,
        brief::count(scheduled),
        brief::count(planned.abs_diff(scheduled)),
        direction(planned, scheduled)
    );
    Some(gap(scope, what, named("planned", planned), named(Metric::Scheduled.name(), scheduled)))
}

/// The longest duration of a number of iterations ended before they were done.
fn ran_out_of_time(scenario: &Scenario, scope: Scope, planned: u64, begun: u64) -> Finding {
    let what = format!(
        "The longest duration of `{}`, {}, was over when {} of its {} iterations had begun.",
        scenario.name,
        brief::ms(scenario.executor.duration().as_secs_f64() * 1e3),
        brief::count(begun),
        brief::count(planned)
    );
    let figures = [("planned", planned as f64, "1"), ("begun", begun as f64, "1")];
    let next = "Nothing, or give the scenario a longer `max_duration` if all iterations are to be made.";
    with_figures(without_fault(scope, what, next), &figures)
}

/// Requests that the generator cancelled or left in flight.
fn given_up(facts: &Facts<'_>) -> Option<Finding> {
    let cancelled =
        |endpoint: &Row| endpoint.outcomes.get(&evidence::Outcome::Cancelled).copied().unwrap_or(0);
    let cancelled: u64 = facts.figures.endpoints().map(cancelled).sum();
    let in_flight = facts.requests_in_flight().unwrap_or(0);
    if cancelled + in_flight == 0 {
        return None;
    }
    let what = format!(
        "{} {} cancelled by the generator and {} {} in flight at the end; they count neither as successes nor as \
         failures.",
        brief::counted(cancelled, "request"),
        brief::were(cancelled),
        brief::count(in_flight),
        brief::were(in_flight)
    );
    let figures = [("cancelled", cancelled as f64, "1"), ("in flight", in_flight as f64, "1")];
    Some(with_figures(without_fault(Scope::default(), what, NOTHING_TO_DO), &figures))
}

const NOTHING_TO_DO: &str = "Nothing: what has no end is no result.";

/// What a reader of the counts should know, although they add up.
fn without_fault(scope: Scope, what: String, next: &str) -> Finding {
    Finding { next: next.to_owned(), ..RULE.finding(Severity::Info, scope, what) }
}

#[cfg(test)]
mod tests {
    use evidence::{Metric, Outcome};

    use crate::testing::{Load, TestRun};

    #[test]
    fn every_count_that_does_not_add_up_is_found() {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(100));
        test_run.count(Metric::Scheduled, "steady", "list", 5);
        test_run.count(Metric::Started, "steady", "list", 2);
        test_run.count(Metric::Requests, "steady", "list", 3);
        insta::assert_snapshot!(test_run.findings(super::check), @r#"
        invalid [steady/play] 6,005 arrivals of `play` were scheduled in `steady`, 6,002 started or dropped (3 missing).
          scheduled Some(6005.0) 1, started + dropped Some(6002.0) 1, gap Some(3.0) 1, threshold Some(0.0) 1
        invalid [] 6,002 iterations were begun, 6,000 ended and 0 were in flight at the end (2 missing).
          begun Some(6002.0) 1, ended + in flight Some(6000.0) 1, gap Some(2.0) 1, threshold Some(0.0) 1
        invalid [] 6,003 requests were begun, 6,000 ended and 0 were in flight at the end (3 missing).
          begun Some(6003.0) 1, ended + in flight Some(6000.0) 1, gap Some(3.0) 1, threshold Some(0.0) 1
        invalid [play] The plan has 6,000 arrivals of `play`, the run scheduled 6,005 (5 too many).
          planned Some(6000.0) 1, scheduled Some(6005.0) 1, gap Some(5.0) 1, threshold Some(0.0) 1
        "#);
    }

    /// 60 requests of the warm-up are in flight at its end, and end in the steady phase.
    #[test]
    fn requests_that_end_in_another_phase_add_up_there() {
        let of = |in_flight: u64| {
            let mut test_run =
                TestRun::new().offer("warm-up", "list", Load::ok(100)).offer("steady", "list", Load::ok(100));
            test_run.count(Metric::Requests, "warm-up", "list", 60);
            test_run.count(Metric::Scheduled, "warm-up", "list", 60);
            test_run.count(Metric::Started, "warm-up", "list", 60);
            test_run.count(Metric::IterationsDone, "warm-up", "list", 60);
            test_run.end_from_warm_up(12, 60);
            test_run.in_flight_at_end("warm-up", in_flight);
            test_run.in_flight_at_end("steady", 0);
            test_run.findings(super::windows)
        };
        assert_eq!(of(60), "nothing");
        insta::assert_snapshot!(of(59), @r"
        invalid [warm-up] In `warm-up` 1,060 requests were in flight or begun; 1,000 completed, 0 were cancelled and 59 were in flight at its end (1 missing).
          in flight or begun Some(1060.0) 1, completed + cancelled + in flight Some(1059.0) 1, gap Some(1.0) 1, threshold Some(0.0) 1
        invalid [steady] In `steady` 6,059 requests were in flight or begun; 6,060 completed, 0 were cancelled and 0 were in flight at its end (1 too many).
          in flight or begun Some(6059.0) 1, completed + cancelled + in flight Some(6060.0) 1, gap Some(1.0) 1, threshold Some(0.0) 1
        ");
    }

    #[test]
    fn a_response_without_a_request_is_found_in_its_scope() {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(100));
        test_run.respond("steady", "list", Outcome::Reset, 1);
        insta::assert_snapshot!(test_run.findings(super::check), @r#"
        invalid [steady/play/list] 6,000 requests were begun, 6,001 ended.
          begun Some(6000.0) 1, ended Some(6001.0) 1, gap Some(1.0) 1, threshold Some(0.0) 1
        "#);
    }

    #[test]
    fn a_completed_run_that_scheduled_less_than_planned_is_invalid() {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(100));
        test_run.plan_rate(200.0);
        insta::assert_snapshot!(test_run.findings(super::check), @r#"
        invalid [play] The plan has 14,000 arrivals of `play`, the run scheduled 6,000 (8,000 missing).
          planned Some(14000.0) 1, scheduled Some(6000.0) 1, gap Some(8000.0) 1, threshold Some(0.0) 1
        "#);
    }

    #[test]
    fn iterations_that_ran_out_of_time_are_info() {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(100));
        test_run.plan_iterations(6_000);
        insta::assert_snapshot!(test_run.findings(super::check), @"nothing");
        test_run.plan_iterations(7_000);
        insta::assert_snapshot!(test_run.findings(super::check), @r#"
        info [play] The longest duration of `play`, 70 s, was over when 6,000 of its 7,000 iterations had begun.
          planned Some(7000.0) 1, begun Some(6000.0) 1
        "#);
    }

    #[test]
    fn requests_without_an_end_in_a_killed_run_are_info() {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(100)).killed();
        test_run.count(Metric::Requests, "steady", "list", 12);
        insta::assert_snapshot!(test_run.findings(super::check), @r#"info [] 12 of 6,012 requests have no end: they were in flight when the run broke off, which cannot be checked."#);
    }

    #[test]
    fn counts_that_add_up_give_no_finding_except_cancelled_requests() {
        let test_run = TestRun::new().offer(
            "steady",
            "list",
            Load { dropped_vu_limit: 3, dropped_generator_late: 2, failed: 7, ..Load::ok(100) },
        );
        insta::assert_snapshot!(test_run.findings(super::check), @"nothing");
        let mut test_run = test_run;
        test_run.count(Metric::Requests, "steady", "list", 4);
        test_run.respond("steady", "list", Outcome::Cancelled, 4);
        insta::assert_snapshot!(test_run.findings(super::check), @r#"
        info [] 4 requests were cancelled by the generator and 0 were in flight at the end; they count neither as successes nor as failures.
          cancelled Some(4.0) 1, in flight Some(0.0) 1
        "#);
    }
}
