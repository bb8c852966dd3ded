//! L7: requests in flight at the end of the run were counted as failed.

use evidence::{Finding, Scope, Severity};

use crate::facts::{Facts, LastSecond};
use crate::numbers;
use crate::rule::{rule_by_id, with_figures};
use crate::thresholds::{CUTOFF_FAILURES, CUTOFF_NEAR};

pub(crate) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    facts.last_second.and_then(cut_off).into_iter().collect()
}

fn cut_off(last: LastSecond) -> Option<Finding> {
    let failed = last.failed as f64;
    if last.failed < CUTOFF_FAILURES || (failed - last.in_flight).abs() > CUTOFF_NEAR * last.in_flight {
        return None;
    }
    let what = format!(
        "{} failures in the last second against {} requests in flight before it: the end of the run cut them off.",
        numbers::count(last.failed),
        numbers::significant(last.in_flight)
    );
    let figures = [
        ("failed", failed, "1"),
        ("in flight", last.in_flight, "1"),
        ("threshold", CUTOFF_NEAR * 100.0, "%"),
    ];
    Some(with_figures(rule_by_id("L7").finding(Severity::Caution, Scope::default(), what), &figures))
}

#[cfg(test)]
mod tests {
    use evidence::SeriesKey;

    use crate::testing::{Load, TestRun};

    fn ending_with(failed: u64) -> TestRun {
        let mut test_run = TestRun::new().offer("steady", "list", Load::of(100));
        test_run.observe(
            &SeriesKey::new("in_flight", SeriesKey::GENERATOR, "1").instance(evidence::Instance::default()),
            0..70,
            40.0,
        );
        test_run.offer_once(69, "list", Load { failed, ..Load::of(0) });
        test_run
    }

    #[test]
    fn as_many_failures_as_requests_in_flight_were_cut_off() {
        insta::assert_snapshot!(ending_with(42).findings(super::rule), @r"
        caution [] 42 failures in the last second against 40 requests in flight before it: the end of the run cut them off.
          failed Some(42.0) 1, in flight Some(40.0) 1, threshold Some(15.0) %
        ");
    }

    #[test]
    fn other_failures_are_those_of_the_target() {
        assert_eq!(ending_with(80).findings(super::rule), "nothing");
        assert_eq!(ending_with(0).findings(super::rule), "nothing");
    }
}
