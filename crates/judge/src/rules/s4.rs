//! S4: a tail of a few requests.

use evidence::{Finding, Severity};

use crate::facts::{Asked, Facts};
use crate::measure::Tail;
use crate::rule::{named, with_figures};
use crate::thresholds::{CLEAR_WIDTHS, TAIL_GATED, TAIL_SHOWN};
use crate::words;

/// 1 − q is not exact in binary; no threshold is missed by that.
const ROUNDING: f64 = 1e-6;

pub(crate) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    facts.asked.iter().filter_map(|asked| thin(asked, asked.observed.tail?)).collect()
}

fn thin(asked: &Asked<'_>, tail: Tail) -> Option<Finding> {
    let effect = tail.design_effect.unwrap_or(1.0);
    let independent = tail.beyond / effect;
    let quantile = words::quantile(tail.q);
    let requests = words::number(tail.beyond);
    let mut severity = Severity::Inconclusive;
    let (what, threshold) = if tail.beyond < TAIL_SHOWN - ROUNDING {
        (format!("{quantile} rests on {requests} requests: it is no more than a hint."), TAIL_SHOWN)
    } else if tail.beyond < TAIL_GATED - ROUNDING {
        (format!("{quantile} rests on {requests} requests; {TAIL_GATED} are needed to gate it."), TAIL_GATED)
    } else if independent < TAIL_SHOWN - ROUNDING {
        let what = format!(
            "{quantile} rests on {requests} requests that came in clusters: they act like {}.",
            words::number(independent.max(1.0))
        );
        if is_clear_of_bound(asked) {
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
    Some(with_figures(named("S4").finding(severity, asked.scope(), what), &figures))
}

/// Whether the interval from batches, several times as wide, still lies on one side of the bound: however few
/// the independent requests, they do not leave the answer open.
fn is_clear_of_bound(asked: &Asked<'_>) -> bool {
    let Some((low, high)) = asked.observed.interval else { return false };
    let middle = f64::midpoint(low, high);
    let half = (high - low) / 2.0 * CLEAR_WIDTHS;
    let bound = asked.objective.bound;
    half.is_finite() && (middle + half < bound || middle - half > bound)
}

#[cfg(test)]
mod tests {
    use crate::testing::{Bench, Load};

    #[test]
    fn a_thin_tail_fires() {
        let bench = Bench::new()
            .offer("warm-up", "list", Load::of(140))
            .offer("steady", "list", Load::of(100))
            .asks("hint", "p99(list, phase = warm-up) < 50ms")
            .asks("thin", "p99(list, phase = steady) < 50ms");
        insta::assert_snapshot!(bench.findings(super::rule), @r#"
        inconclusive [hint] p99 rests on 14 requests: it is no more than a hint.
          beyond the quantile Some(14.000000000000012) 1, design effect Some(1.0) 1, threshold Some(20.0) 1
        inconclusive [thin] p99 rests on 60 requests; 100 are needed to gate it.
          beyond the quantile Some(60.00000000000006) 1, design effect Some(1.0) 1, threshold Some(100.0) 1
        "#);
    }

    #[test]
    fn a_clustered_tail_fires() {
        let mut bench = Bench::new().offer("steady", "list", Load::of(40)).asks("tail", "p95(list) < 80ms");
        // All slow answers came in one stretch of ten seconds.
        for second in 30..40 {
            bench.offer_once(second, "list", Load { us: 60_000, ..Load::of(14) });
        }
        insta::assert_snapshot!(bench.findings(super::rule), @r#"
        inconclusive [tail] p95 rests on 127 requests that came in clusters: they act like 1.
          beyond the quantile Some(127.00000000000011) 1, design effect Some(18925.265963063022) 1, threshold Some(20.0) 1
        "#);
    }

    #[test]
    fn a_clustered_tail_far_from_its_bound_is_a_caution() {
        let mut bench = Bench::new().offer("steady", "list", Load::of(40)).asks("tail", "p95(list) < 500ms");
        for second in 30..40 {
            bench.offer_once(second, "list", Load { us: 60_000, ..Load::of(14) });
        }
        insta::assert_snapshot!(bench.findings(super::rule), @r#"
        caution [tail] p95 rests on 127 requests that came in clusters: they act like 1.
          beyond the quantile Some(127.00000000000011) 1, design effect Some(18925.265963063022) 1, threshold Some(20.0) 1
        "#);
    }

    #[test]
    fn a_long_run_and_an_infinite_quantile_are_not_thin() {
        let bench = Bench::new()
            .offer("warm-up", "list", Load { failed: 60, ..Load::of(40) })
            .offer("steady", "list", Load::of(100))
            .asks("infinite", "p99(list, phase = warm-up) < 50ms")
            .asks("sound", "p95(list, phase = steady) < 50ms")
            .asks("mean", "avg(list, phase = steady) < 50ms");
        insta::assert_snapshot!(bench.findings(super::rule), @"nothing");
    }
}
