//! L1 for an imported run whose plan is known: the source's iterations, or requests, against the plan's arrivals.

use evidence::{Finding, Missing, Scope, Severity, Source};
use workload::{Flow, Scenario, Schedule};

use crate::facts::Facts;
use crate::rule::with_figures;
use crate::rules::offered_load_not_reached::{self, DELIVERED_INVALID};
use figures::number::brief;

/// A smaller share is a caution.
const DELIVERED_CAUTION: f64 = 0.995;
/// More than this share of the plan's arrivals is another load.
const EXCEEDED: f64 = 1.05;
/// So many more are of no account: tools differ in whether they begin with an arrival.
const FEW: u64 = 10;

/// What the source counted, and what the plan has.
struct OfferedLoad {
    counted: u64,
    planned: u64,
    what: &'static str,
}

pub(super) fn check(facts: &Facts<'_>, source: &Source) -> Option<Finding> {
    let is_known = !source.lacks(Missing::Arrivals) && !facts.workload.scenarios.is_empty();
    let load = offered(facts, source).filter(|load| is_known && load.planned > 0)?;
    let share = load.counted as f64 / load.planned as f64;
    let severity = match share {
        s if s < DELIVERED_INVALID => Severity::Invalid,
        s if s < DELIVERED_CAUTION || s > EXCEEDED && load.counted > load.planned + FEW => Severity::Caution,
        _ => return None,
    };
    let what = format!(
        "The plan has {} {}, {} counted {} ({}). These latencies describe that load.",
        brief::count(load.planned),
        load.what,
        source.tool,
        brief::count(load.counted),
        brief::percent(share)
    );
    let figures = [
        ("planned", load.planned as f64, "1"),
        ("counted", load.counted as f64, "1"),
        ("share", share * 100.0, "%"),
        ("threshold", DELIVERED_INVALID * 100.0, "%"),
    ];
    Some(with_figures(offered_load_not_reached::RULE.finding(severity, Scope::default(), what), &figures))
}

/// The whole run's load; none for a closed model, whose target sets it.
fn offered(facts: &Facts<'_>, source: &Source) -> Option<OfferedLoad> {
    let arrivals = |scenario: &Scenario| match Schedule::new(&scenario.executor) {
        Some(schedule) => Some(schedule.count()),
        None => scenario.executor.iterations(),
    };
    let scenarios = &facts.workload.scenarios;
    let planned: u64 = scenarios.iter().map(arrivals).sum::<Option<u64>>()?;
    let iterations =
        facts.figures.scenario_phases.iter().map(|s| s.done + s.cancelled + s.dropped_unknown).sum();
    if iterations > 0 {
        return Some(OfferedLoad { counted: iterations, planned, what: "arrivals" });
    }
    // Without iterations, requests are counted where an arrival is one: a sequence ends at the first failure.
    let is_one = |scenario: &Scenario| match &scenario.flow {
        Flow::Mix(_) | Flow::InTurn { .. } => true,
        Flow::Sequence(steps) => steps.len() == 1,
        Flow::Script { .. } => false,
    };
    let counted: u64 = facts.figures.endpoints().map(|endpoint| endpoint.responses()).sum();
    let stated = source.summaries.iter().find(|s| s.scenario.is_empty() && s.endpoint.is_empty());
    let stated = stated.and_then(|summary| Some(summary.requests? + summary.dropped));
    let counted = if counted > 0 { counted } else { stated? };
    scenarios.iter().all(is_one).then_some(OfferedLoad { counted, planned, what: "requests" })
}

#[cfg(test)]
mod tests {
    use evidence::manifest::RequestSummary;
    use evidence::{Metric, Source};

    use crate::testing::TestRun;

    /// A run with a plan of 7,000 arrivals, and what its source says.
    fn planned(source: Source) -> TestRun {
        let mut test_run = TestRun::unobserved();
        test_run.import_with_plan(Source { tool: "k6".to_owned(), ..source });
        test_run.plan_rate(100.0);
        test_run
    }

    fn with_iterations(done: u64) -> String {
        let mut test_run = planned(Source::default());
        test_run.count(Metric::IterationsDone, "steady", "", done);
        test_run.findings_of("L1")
    }

    #[test]
    fn fewer_iterations_than_planned_arrivals_fire() {
        insta::assert_snapshot!(with_iterations(4_000), @r"
        invalid [] The plan has 7,000 arrivals, k6 counted 4,000 (57.1 %). These latencies describe that load.
          planned Some(7000.0) 1, counted Some(4000.0) 1, share Some(57.14285714285714) %, threshold Some(99.0) %
        ");
        assert!(with_iterations(6_950).starts_with("caution"), "{}", with_iterations(6_950));
        assert_eq!(with_iterations(7_005), "nothing");
        assert!(with_iterations(7_500).starts_with("caution"));
    }

    #[test]
    fn requests_that_a_summary_states_are_compared_too() {
        let with = |requests, dropped| {
            let summary = RequestSummary { requests: Some(requests), dropped, ..RequestSummary::default() };
            planned(Source { summaries: vec![summary], ..Source::default() }).findings_of("L1")
        };
        assert!(
            with(4_000, 0).contains("The plan has 7,000 requests, k6 counted 4,000 (57.1 %)"),
            "{}",
            with(4_000, 0)
        );
        assert_eq!(with(6_900, 100), "nothing", "dropped ones have findings of their own");
    }
}
