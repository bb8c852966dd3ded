//! L7: what was under way when the run ended was counted as failed.

use evidence::{Finding, Scope, Severity};

use crate::facts::Facts;
use crate::rule::{named, with_figures};
use crate::thresholds::{CUTOFF_FAILURES, CUTOFF_NEAR};
use crate::words;

pub(crate) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    facts.last_second.and_then(cut_off).into_iter().collect()
}

fn cut_off(last: crate::facts::LastSecond) -> Option<Finding> {
    let failed = last.failed as f64;
    if last.failed < CUTOFF_FAILURES || (failed - last.in_flight).abs() > CUTOFF_NEAR * last.in_flight {
        return None;
    }
    let what = format!(
        "{} failures in the last second against {} requests in flight before it: they were cut off by the end of the run.",
        words::whole(last.failed),
        words::number(last.in_flight)
    );
    let figures = [
        ("failed", failed, "1"),
        ("in flight", last.in_flight, "1"),
        ("threshold", CUTOFF_NEAR * 100.0, "%"),
    ];
    Some(with_figures(named("L7").finding(Severity::Caution, Scope::default(), what), &figures))
}

#[cfg(test)]
mod tests {
    use evidence::SeriesKey;

    use crate::testing::{Bench, Load};

    fn ending_with(failed: u64) -> Bench {
        let mut bench = Bench::new().offer("steady", "list", Load::of(100));
        bench.observe(&SeriesKey::new("in_flight", SeriesKey::GENERATOR, "1").part("loop 0"), 0..70, 40.0);
        bench.offer_once(69, "list", Load { failed, ..Load::of(0) });
        bench
    }

    #[test]
    fn failures_as_many_as_were_in_flight_are_the_end_s_doing() {
        insta::assert_snapshot!(ending_with(42).findings(super::rule), @r"
        caution [] 42 failures in the last second against 40 requests in flight before it: they were cut off by the end of the run.
          failed Some(42.0) 1, in flight Some(40.0) 1, threshold Some(15.0) %
        ");
    }

    #[test]
    fn other_failures_are_the_target_s() {
        assert_eq!(ending_with(80).findings(super::rule), "nothing");
        assert_eq!(ending_with(0).findings(super::rule), "nothing");
    }
}
