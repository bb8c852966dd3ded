//! Q4: impossible numbers, and means of two kinds of responses.

use evidence::{Finding, Histogram, RuleId, Severity};
use figures::Row;

use crate::facts::Facts;
use crate::rule::{AffectedClaims, Check, Rule, with_figures};
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::Q4,
    title: "impossible-or-bimodal",
    severity: Severity::Invalid,
    tests: "For each endpoint and phase: p50 > p95, p95 > p99 or p99 > max is impossible and therefore invalid; \
            with at least 400 successes, a mean above the 95th percentile is a caution.",
    affects: "objectives on times of that endpoint and phase",
    why: "A mean above the 95th percentile means two kinds of responses, one far slower; a quantile between \
          them depends on their shares.",
    next: "Look at the latency distribution in the report, and at the slowest exchanges.",
    affected: AffectedClaims::Times,
    check: Check::Run(check),
};

/// With fewer successes, fewer than 20 are beyond the 95th percentile, and it is not compared with the mean.
pub(crate) const BIMODAL_SAMPLES: u64 = 400;

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    facts
        .figures
        .endpoints()
        .filter_map(|endpoint| finding(endpoint, DistributionFigures::of(&endpoint.ok)?))
        .collect()
}

/// The figures that a table shows for one distribution, in milliseconds.
#[derive(Debug, Clone, Copy)]
struct DistributionFigures {
    mean: f64,
    p50: f64,
    p95: f64,
    p99: f64,
    max: f64,
}

impl DistributionFigures {
    fn of(times: &Histogram) -> Option<DistributionFigures> {
        let at = |q| times.quantile(q).finite_us().map(|us| us / 1e3);
        let max = times.max_us()? as f64 / 1e3;
        Some(DistributionFigures {
            mean: times.mean_us()? / 1e3,
            p50: at(0.5)?,
            p95: at(0.95)?,
            p99: at(0.99)?,
            max,
        })
    }
}

fn finding(endpoint: &Row, shown: DistributionFigures) -> Option<Finding> {
    let DistributionFigures { mean, p50, p95, p99, max } = shown;
    if p50 > p95 || p95 > p99 || p99 > max {
        let what = format!(
            "{}: p50 {}, p95 {}, p99 {}, max {} are impossible together.",
            endpoint.key.describe(),
            brief::ms(p50),
            brief::ms(p95),
            brief::ms(p99),
            brief::ms(max)
        );
        return Some(RULE.finding(Severity::Invalid, endpoint.key.scope(), what));
    }
    if mean <= p95 || endpoint.ok.count() < BIMODAL_SAMPLES {
        return None;
    }
    // The fastest 95 % average p95 at most, so the mean of the rest is at least this.
    let rest = (mean - 0.95 * p95) / 0.05;
    let what = format!(
        "{}: mean {} above p95 {}: the slowest 5 % average at least {}.",
        endpoint.key.describe(),
        brief::ms(mean),
        brief::ms(p95),
        brief::ms(rest)
    );
    let figures = [("mean", mean, "ms"), ("p95", p95, "ms"), ("threshold", p95, "ms")];
    Some(with_figures(RULE.finding(Severity::Caution, endpoint.key.scope(), what), &figures))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Load, TestRun};

    #[test]
    fn a_mean_above_p95_is_a_caution() {
        let mut test_run = TestRun::new().offer("steady", "list", Load { us: 34_900, ..Load::ok(100) });
        test_run.offer_once(30, "list", Load { us: 900_000, ..Load::ok(240) });
        insta::assert_snapshot!(test_run.findings(check), @r#"
        caution [steady/play/list] `list` in `steady`: mean 68.5 ms above p95 36.7 ms: the slowest 5 % average at least 673 ms.
          mean Some(68.5051) ms, p95 Some(36.66728) ms, threshold Some(36.66728) ms
        "#);
    }

    #[test]
    fn quantiles_out_of_order_are_impossible() {
        let shown = DistributionFigures { mean: 5.0, p50: 4.0, p95: 8.0, p99: 9.0, max: 7.0 };
        let finding = finding(&Row::default(), shown).unwrap();
        insta::assert_snapshot!(format!("{}: {}", finding.severity, finding.what), @r#"invalid: iterations of `` in ``: p50 4 ms, p95 8 ms, p99 9 ms, max 7 ms are impossible together."#);
    }

    #[test]
    fn an_ordinary_tail_gives_no_finding() {
        insta::assert_snapshot!(TestRun::new().offer("steady", "list", Load::ok(100)).findings(check), @r#"nothing"#);
    }
}
