//! L4: the number of virtual users, not the plan's rate, set the load.

use evidence::{Finding, RuleId, Scope, Severity};
use figures::ScenarioPhase;
use workload::Scenario;

use crate::facts::{AtVuLimit, Facts};
use crate::rule::{AffectedClaims, Check, Rule, with_figures};
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::L4,
    title: "closed-loop-or-capped",
    severity: Severity::Invalid,
    tests: "The number of virtual users set the load, not a rate. That is so in a closed model. It is so in an open one where at \
            least 99 % of the VU limit was in use for at least 1 % of a phase, or where completed iterations a second × mean \
            iteration time is at least 90 % of the VU limit. In a closed model objectives on goodput and throughput are \
            invalid, and a note says for how many virtual users the other objectives hold. In an open model it is a caution: \
            each arrival that was dropped counts with the shortest and the longest time that it could have had.",
    affects: "objectives on a rate of a closed scenario; its other objectives hold for its number of virtual \
              users. In a comparison: differences between runs of which one reached its limit",
    why: "Where the number of virtual users sets the load, a slow target gets fewer requests: rate and \
          latency then depend on the number of virtual users.",
    next: "Use an arrival-rate executor, raise `max_vus` (`-c` of a command), or state the objective for a number of virtual \
           users.",
    affected: AffectedClaims::LoadExceptRatesOfClosed,
    check: Check::Run(check),
};

/// Where no rate was offered, and an objective is on one.
const NEXT_OF_RATES: &str =
    "Use an arrival-rate executor, which offers a rate, or state the objective on times or failures.";
/// Where the results hold for a number of virtual users.
const NEXT_OF_CLOSED: &str =
    "Nothing, if so many virtual users are the question; use an arrival-rate executor if a rate is.";
/// Where an open model reached its limit.
const NEXT_OF_LIMITED: &str = "Raise `max_vus` of the scenario (`-c` of a command), or offer a lower rate.";

/// The largest share of a phase that a scenario may be at its VU limit.
pub(crate) const AT_VU_LIMIT: f64 = 0.01;
/// The largest share of the VU limit that rate × iteration time may reach.
pub(crate) const VU_LIMIT_USE: f64 = 0.90;

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for scenario in &facts.workload.scenarios {
        match scenario.executor.peak_vus() {
            Some(vus) => findings.extend(closed(facts, scenario, vus)),
            None => findings.extend(limited(facts, scenario)),
        }
    }
    findings
}

/// A closed model: its results apply to its number of virtual users, and no rate was offered.
fn closed(facts: &Facts<'_>, scenario: &Scenario, vus: u32) -> Vec<Finding> {
    let whole = Scope { scenario: Some(scenario.name.clone()), ..Scope::default() };
    let measured: Vec<_> = facts
        .objectives
        .iter()
        .filter(|a| a.is_about_load() && a.applies_to(&whole, &facts.figures))
        .collect();
    let figures = [("virtual users", f64::from(vus), "1")];
    let mut findings = Vec::new();
    for measured in measured.iter().filter(|measured| measured.is_a_rate()) {
        let what = format!(
            "`{}` is a closed model: {} and the target's own speed set the rate; no rate was offered.",
            scenario.name,
            brief::counted(u64::from(vus), "virtual user")
        );
        let scope = Scope { objective: Some(measured.name().to_owned()), ..whole.clone() };
        findings.push(advised(NEXT_OF_RATES, RULE.finding(Severity::Invalid, scope, what), &figures));
    }
    if measured.iter().any(|measured| !measured.is_a_rate()) {
        let what = format!(
            "`{}` is a closed model: its results apply to {}, and to no rate of arrivals.",
            scenario.name,
            brief::counted(u64::from(vus), "virtual user")
        );
        findings.push(advised(NEXT_OF_CLOSED, RULE.finding(Severity::Info, whole, what), &figures));
    }
    findings
}

/// An open model that reached its VU limit.
fn limited(facts: &Facts<'_>, scenario: &Scenario) -> Vec<Finding> {
    let scenario_phases = facts.figures.scenario_phases.iter().filter(|s| *s.key.scenario == *scenario.name);
    scenario_phases
        .filter_map(|scenario_phase| {
            at_vu_limit(facts, scenario, scenario_phase)
                .or_else(|| near_vu_limit(facts, scenario, scenario_phase))
        })
        .collect()
}

fn at_vu_limit(facts: &Facts<'_>, scenario: &Scenario, scenario_phase: &ScenarioPhase) -> Option<Finding> {
    let key = &scenario_phase.key;
    let is_here = |c: &&AtVuLimit| *c.phase == *key.phase && *c.scenario == *key.scenario;
    let share = facts
        .generator
        .at_vu_limit
        .iter()
        .find(is_here)
        .map(|c| c.share)
        .filter(|share| *share >= AT_VU_LIMIT)?;
    let what = format!(
        "`{}` was at its limit of {} for {} of `{}`: the VU limit set both the rate and the latency.",
        key.scenario,
        brief::counted(u64::from(scenario.max_vus), "virtual user"),
        brief::percent(share),
        key.phase
    );
    let figures = [("time at the VU limit", share * 100.0, "%"), ("threshold", AT_VU_LIMIT * 100.0, "%")];
    Some(advised(NEXT_OF_LIMITED, RULE.finding(Severity::Caution, key.scope(), what), &figures))
}

/// Little's law: completions a second × iteration time = concurrent iterations.
fn near_vu_limit(facts: &Facts<'_>, scenario: &Scenario, scenario_phase: &ScenarioPhase) -> Option<Finding> {
    let mut iterations = scenario_phase.iteration_ok.clone();
    iterations.merge(&scenario_phase.iteration_failed);
    let mean_s = iterations.mean_us()? / 1e6;
    let length_s = facts.phase(&scenario_phase.key.phase)?.length_s();
    let vu_limit = f64::from(scenario.max_vus);
    let concurrent = iterations.count() as f64 * mean_s / length_s.max(1e-9);
    if concurrent < VU_LIMIT_USE * vu_limit {
        return None;
    }
    let what = format!(
        "{} x {} / {} = {} in flight: the limit of {} set both the rate and the latency.",
        brief::count(iterations.count()),
        brief::ms(mean_s * 1e3),
        brief::ms(length_s * 1e3),
        brief::significant(concurrent),
        brief::counted(u64::from(scenario.max_vus), "virtual user")
    );
    let figures = [("in flight", concurrent, "1"), ("threshold", VU_LIMIT_USE * vu_limit, "1")];
    let finding = RULE.finding(Severity::Caution, scenario_phase.key.scope(), what);
    Some(advised(NEXT_OF_LIMITED, finding, &figures))
}

/// The finding with these figures and this advice.
fn advised(next: &str, finding: Finding, figures: &[(&str, f64, &str)]) -> Finding {
    with_figures(Finding { next: next.to_owned(), ..finding }, figures)
}

#[cfg(test)]
mod tests {
    use evidence::Provenance;

    use super::*;
    use crate::testing::{Load, TestRun};

    fn advice(test_run: &TestRun) -> Vec<String> {
        let facts = Facts::read(&test_run.run, &test_run.workload, Provenance::Intact).unwrap();
        super::check(&facts).into_iter().map(|finding| finding.next).collect()
    }

    #[test]
    fn what_is_advised_fits_a_closed_model_or_an_open_one() {
        let closed = TestRun::new()
            .offer("steady", "list", Load::ok(100))
            .closed(10)
            .with_objective("fast", "p95(list) < 50ms")
            .with_objective("held", "goodput(within = 50ms) >= 90/s");
        assert_eq!(advice(&closed), [NEXT_OF_RATES, NEXT_OF_CLOSED]);
        let mut open = TestRun::new().offer("steady", "list", Load::ok(100));
        open.at_vu_limit(30..33, 0.7);
        assert_eq!(advice(&open), [NEXT_OF_LIMITED]);
    }

    #[test]
    fn a_closed_model_offers_no_rate() {
        let test_run = TestRun::new()
            .offer("steady", "list", Load::ok(100))
            .closed(10)
            .with_objective("fast", "p95(list) < 50ms")
            .with_objective("held", "goodput(within = 50ms) >= 90/s");
        insta::assert_snapshot!(test_run.findings(super::check), @r#"
        invalid [play/held] `play` is a closed model: 10 virtual users and the target's own speed set the rate; no rate was offered.
          virtual users Some(10.0) 1
        info [play] `play` is a closed model: its results apply to 10 virtual users, and to no rate of arrivals.
          virtual users Some(10.0) 1
        "#);
    }

    #[test]
    fn a_scenario_at_its_vu_limit_fires() {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(100));
        test_run.at_vu_limit(30..33, 0.7);
        insta::assert_snapshot!(test_run.findings(super::check), @r"
        caution [steady/play] `play` was at its limit of 100,000 virtual users for 3.5 % of `steady`: the VU limit set both the rate and the latency.
          time at the VU limit Some(3.4999999999999996) %, threshold Some(1.0) %
        ");
    }

    #[test]
    fn littles_law_finds_a_vu_limit_that_was_not_observed() {
        let mut test_run =
            TestRun::unobserved().offer("steady", "list", Load { us: 7_380_000, ..Load::ok(78) });
        test_run.workload.scenarios[0].max_vus = 600;
        insta::assert_snapshot!(test_run.findings(super::check), @r"
        caution [steady/play] 4,680 x 7.41 s / 60 s = 578 in flight: the limit of 600 virtual users set both the rate and the latency.
          in flight Some(578.1380730000001) 1, threshold Some(540.0) 1
        ");
    }

    #[test]
    fn a_vu_limit_that_is_not_reached_gives_no_finding() {
        let mut test_run =
            TestRun::new().offer("steady", "list", Load::ok(100)).with_objective("fast", "p95(list) < 50ms");
        test_run.at_vu_limit(30..31, 0.5);
        insta::assert_snapshot!(test_run.findings(super::check), @"nothing");
    }
}
