//! W2: a worker whose clock is not known well enough.

use evidence::{Finding, RuleId, Scope, Severity};

use crate::facts::{CLOCK_MS, Facts, WorkerState};
use crate::rule::{AffectedClaims, Check, Rule, with_figures};
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::W2,
    title: "worker-clock",
    severity: Severity::Caution,
    tests: "For each worker: the difference between its clock and the recording process's was known to no better than 5 ms \
            when the load began, during it or when it had ended; or it changed by more than 5 ms.",
    affects: "nothing directly: times of requests are measured on one clock",
    why: "Its arrivals were due earlier or later than those of the others, and what it counted in a second may belong to the \
          second before or after.",
    next: "Synchronise the clocks of the machines (chrony, PTP), and put coordinator and workers into one network.",
    affected: AffectedClaims::Load,
    check: Check::Run(check),
};

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let findings = |worker: &WorkerState| {
        let clock = worker.clock;
        let began = uncertain(worker, clock.error_ms, "when the load began");
        let later = || uncertain(worker, clock.later_error_ms, "later");
        [began.or_else(later), drifting(worker)]
    };
    facts.workers.all.iter().flat_map(findings).flatten().collect()
}

fn uncertain(worker: &WorkerState, error_ms: f64, when: &str) -> Option<Finding> {
    let known = brief::ms(error_ms);
    let what = format!("The clock of {} was known to no better than {known} {when}.", worker.name());
    (error_ms > CLOCK_MS).then(|| finding(what, "clock error", error_ms))
}

fn drifting(worker: &WorkerState) -> Option<Finding> {
    let drift_ms = worker.clock.drift_ms;
    let what = format!("The clock of {} changed by {} during the run.", worker.name(), brief::ms(drift_ms));
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

    /// A clock that was known to this when the load began; then in second 60 this far off, and known to that.
    fn with_clock(error_ns: u64, drift_s: f64, later_error_s: f64) -> TestRun {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(100));
        let mut one = worker(1);
        one.clock_error_ns = error_ns;
        for (name, value) in [(SeriesKey::CLOCK_DRIFT, drift_s), (SeriesKey::CLOCK_ERROR, later_error_s)] {
            let series = SeriesKey::new(name, SeriesKey::GENERATOR, "s").instance(one.place);
            test_run.observe(&series, 60..61, value);
        }
        test_run.edit(|manifest| manifest.workers = vec![one]);
        test_run
    }

    #[test]
    fn five_milliseconds_are_allowed() {
        assert_eq!(with_clock(5_000_000, -0.005, 0.005).findings(super::check), "nothing");
    }

    #[test]
    fn a_clock_that_is_not_known_or_drifts_is_a_caution() {
        let found = with_clock(8_000_000, -0.0201, 0.001).findings(super::check);
        assert!(found.contains("was known to no better than 8"), "{found}");
        assert!(found.contains("changed by 20.1 ms during the run"), "{found}");
        assert_eq!(found.matches("caution").count(), 2);
    }

    #[test]
    fn a_clock_that_is_not_known_during_the_load_is_a_caution_and_no_drift() {
        let found = with_clock(20_000, 0.009, 0.012).findings(super::check);
        assert!(found.contains("was known to no better than 12 ms later"), "{found}");
        assert_eq!(found.matches("caution").count(), 1, "{found}");
    }
}
