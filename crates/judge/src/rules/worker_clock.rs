//! W2: a worker whose clock is not known well enough.

use evidence::{Finding, RuleId, Scope, Severity};

use crate::facts::{Facts, WorkerState};
use crate::numbers;
use crate::rule::{AffectedClaims, Check, Rule, with_figures};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::W2,
    title: "worker-clock",
    severity: Severity::Caution,
    tests: "For each worker: the difference between its clock and the recording process's was known to no better than 5 ms \
            when the load began, or changed by more than 5 ms during the run.",
    affects: "nothing by itself: times of requests are measured on one clock",
    why: "Its arrivals were due earlier or later than those of the others, and what it counted in a second may belong to the \
          one beside it.",
    next: "Let the machines' clocks be disciplined (chrony, PTP), and put coordinator and workers into one network.",
    affected: AffectedClaims::Load,
    check: Check::Run(check),
};

/// More than so many milliseconds are a caution.
pub(crate) const CLOCK_MS: f64 = 5.0;

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    facts.workers.all.iter().flat_map(|worker| [uncertain(worker), drifting(worker)]).flatten().collect()
}

fn uncertain(worker: &WorkerState) -> Option<Finding> {
    let error_ms = worker.error_ms;
    let what = format!(
        "The clock of {} was known to no better than {} when the load began.",
        worker.name(),
        numbers::ms(error_ms)
    );
    (error_ms > CLOCK_MS).then(|| finding(what, "clock error", error_ms))
}

fn drifting(worker: &WorkerState) -> Option<Finding> {
    let drift_ms = worker.drift_ms;
    let what = format!("The clock of {} changed by {} during the run.", worker.name(), numbers::ms(drift_ms));
    (drift_ms > CLOCK_MS).then(|| finding(what, "clock drift", drift_ms))
}

fn finding(what: String, name: &str, ms: f64) -> Finding {
    let figures = [(name, ms, "ms"), ("threshold", CLOCK_MS, "ms")];
    with_figures(RULE.finding(Severity::Caution, Scope::default(), what), &figures)
}

#[cfg(test)]
mod tests {
    use evidence::SeriesKey;

    use crate::testing::{Load, TestRun, worker};

    fn with_clock(error_ns: u64, drift_s: f64) -> TestRun {
        let mut test_run = TestRun::new().offer("steady", "list", Load::of(100));
        let mut one = worker(1);
        one.clock_error_ns = error_ns;
        let series = SeriesKey::new(SeriesKey::CLOCK_DRIFT, SeriesKey::GENERATOR, "s").instance(one.place);
        test_run.observe(&series, 60..61, drift_s);
        test_run.edit(|manifest| manifest.workers = vec![one]);
        test_run
    }

    #[test]
    fn five_milliseconds_are_allowed() {
        assert_eq!(with_clock(5_000_000, -0.005).findings(super::check), "nothing");
    }

    #[test]
    fn a_clock_that_is_not_known_or_drifts_is_a_caution() {
        let found = with_clock(8_000_000, -0.0201).findings(super::check);
        assert!(found.contains("was known to no better than 8"), "{found}");
        assert!(found.contains("changed by 20.1 ms during the run"), "{found}");
        assert_eq!(found.matches("caution").count(), 2);
    }
}
