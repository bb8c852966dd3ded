//! S4: a tail of a few requests.

use evidence::{Finding, RuleId, Severity};

use crate::facts::{Facts, MeasuredObjective};
use crate::measure::QuantileTail;
use crate::numbers;
use crate::rule::{AffectedClaims, Check, Rule, with_figures};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::S4,
    title: "too-few-tail-samples",
    severity: Severity::Inconclusive,
    tests: "m = n × (1 − q) arrivals are beyond a quantile: below 100, or below 20 after division by the \
            design effect of 10 s batches, it is not gated; below 20 its value is no more than a hint. A \
            clustered tail is only a caution where the interval from batches, 3 times as wide, does not \
            include the bound. For a quantile that is infinite, m is at least the number of failed and dropped \
            arrivals.",
    affects: "objectives on quantiles of times",
    why: "A tail of a few requests is chance: the next run has another one.",
    next: "Run longer, offer more, or state a lower quantile.",
    affected: AffectedClaims::Named,
    check: Check::Run(check),
};

/// A quantile with fewer arrivals beyond it is not gated.
pub(crate) const TAIL_GATED: f64 = 100.0;
/// One with fewer arrivals, or fewer independent ones, is no more than a hint.
pub(crate) const TAIL_SHOWN: f64 = 20.0;
/// A clustered tail is inconclusive unless the interval from batches, this many times as wide, does not include
/// the bound.
pub(crate) const CLEAR_WIDTHS: f64 = 3.0;

/// Tolerance of comparisons with thresholds: 1 − q is not exact in binary.
const ROUNDING: f64 = 1e-6;

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    facts.objectives.iter().filter_map(|measured| finding(measured, measured.observed.tail?)).collect()
}

fn finding(measured: &MeasuredObjective<'_>, tail: QuantileTail) -> Option<Finding> {
    let effect = tail.design_effect.unwrap_or(1.0);
    let independent = tail.beyond / effect;
    let quantile = numbers::quantile(tail.q);
    let requests = numbers::significant(tail.beyond);
    let mut severity = Severity::Inconclusive;
    let (what, threshold) = if tail.beyond < TAIL_SHOWN - ROUNDING {
        (format!("{quantile} rests on {requests} requests: it is no more than a hint."), TAIL_SHOWN)
    } else if tail.beyond < TAIL_GATED - ROUNDING {
        (format!("{quantile} rests on {requests} requests; {TAIL_GATED} are needed to gate it."), TAIL_GATED)
    } else if independent < TAIL_SHOWN - ROUNDING {
        let what = format!(
            "{quantile} rests on {requests} requests in clusters: they act like {}.",
            numbers::significant(independent.max(1.0))
        );
        if is_clear_of_bound(measured) {
            severity = Severity::Caution;
        }
        (what, TAIL_SHOWN)
    } else {
        return None;
    };
    let figures = [
        ("beyond the quantile", tail.beyond, "1"),
        ("design effect", effect, "1"),
        ("threshold", threshold, "1"),
    ];
    Some(with_figures(RULE.finding(severity, measured.scope(), what), &figures))
}

/// Whether the interval from batches, [`CLEAR_WIDTHS`] times as wide, is on one side of the bound: then a few
/// independent requests are enough to decide.
fn is_clear_of_bound(measured: &MeasuredObjective<'_>) -> bool {
    let Some((low, high)) = measured.observed.interval else { return false };
    let middle = f64::midpoint(low, high);
    let half = (high - low) / 2.0 * CLEAR_WIDTHS;
    let bound = measured.objective.bound;
    half.is_finite() && (middle + half < bound || middle - half > bound)
}

#[cfg(test)]
mod tests {
    use crate::testing::{Load, TestRun};

    #[test]
    fn a_thin_tail_fires() {
        let test_run = TestRun::new()
            .offer("warm-up", "list", Load::of(140))
            .offer("steady", "list", Load::of(100))
            .with_objective("hint", "p99(list, phase = warm-up) < 50ms")
            .with_objective("thin", "p99(list, phase = steady) < 50ms");
        insta::assert_snapshot!(test_run.findings(super::check), @r#"
        inconclusive [hint] p99 rests on 14 requests: it is no more than a hint.
          beyond the quantile Some(14.000000000000012) 1, design effect Some(1.0) 1, threshold Some(20.0) 1
        inconclusive [thin] p99 rests on 60 requests; 100 are needed to gate it.
          beyond the quantile Some(60.00000000000006) 1, design effect Some(1.0) 1, threshold Some(100.0) 1
        "#);
    }

    #[test]
    fn a_clustered_tail_fires() {
        let mut test_run =
            TestRun::new().offer("steady", "list", Load::of(40)).with_objective("tail", "p95(list) < 80ms");
        // All slow responses are in ten consecutive seconds.
        for second in 30..40 {
            test_run.offer_once(second, "list", Load { us: 60_000, ..Load::of(14) });
        }
        insta::assert_snapshot!(test_run.findings(super::check), @r#"
        inconclusive [tail] p95 rests on 127 requests in clusters: they act like 1.
          beyond the quantile Some(127.00000000000011) 1, design effect Some(18925.265963063022) 1, threshold Some(20.0) 1
        "#);
    }

    #[test]
    fn a_clustered_tail_far_from_its_bound_is_a_caution() {
        let mut test_run =
            TestRun::new().offer("steady", "list", Load::of(40)).with_objective("tail", "p95(list) < 500ms");
        for second in 30..40 {
            test_run.offer_once(second, "list", Load { us: 60_000, ..Load::of(14) });
        }
        insta::assert_snapshot!(test_run.findings(super::check), @r#"
        caution [tail] p95 rests on 127 requests in clusters: they act like 1.
          beyond the quantile Some(127.00000000000011) 1, design effect Some(18925.265963063022) 1, threshold Some(20.0) 1
        "#);
    }

    #[test]
    fn a_long_run_and_an_infinite_quantile_give_no_finding() {
        let test_run = TestRun::new()
            .offer("warm-up", "list", Load { failed: 60, ..Load::of(40) })
            .offer("steady", "list", Load::of(100))
            .with_objective("infinite", "p99(list, phase = warm-up) < 50ms")
            .with_objective("sound", "p95(list, phase = steady) < 50ms")
            .with_objective("mean", "avg(list, phase = steady) < 50ms");
        insta::assert_snapshot!(test_run.findings(super::check), @"nothing");
    }
}
