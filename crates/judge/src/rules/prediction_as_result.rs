//! M5: an expected change beside the measured one.
//!
//! An expectation is reported with what was measured of the same endpoints, so that neither is mistaken for the other.
//! Where differences are refused none is computed, whatever was expected.

use evidence::{Finding, Histogram, Refusal, RuleId, Scope, Severity};
use figures::is_any_or;

use crate::expectation::{Expectation, ExpectedStatistic};
use crate::pair::{EndpointPair, Pair};
use crate::rule::{AffectedClaims, Check, Rule, with_figures};
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::M5,
    title: "prediction-as-result",
    severity: Severity::Caution,
    tests: "A change was expected of a comparison (`plimsoll compare --expect \"p95 -30%\"`): it is reported as \
            expected, beside what was measured of the same endpoints, or without it where differences are refused.",
    affects: "nothing directly: an expectation is not evidence",
    why: "An expected gain in a table of results is easily mistaken for a result.",
    next: "Measure it: repeated runs in random order, of the program with and without the change.",
    affected: AffectedClaims::Named,
    check: Check::Elsewhere,
};

/// The most endpoints that a sentence names.
const MOST_NAMED: usize = 4;

pub(crate) fn check(pair: &Pair<'_, '_>, expected: &[Expectation], refusals: &[Refusal]) -> Vec<Finding> {
    let measured_for = |expectation: &Expectation| -> Vec<String> {
        let endpoints =
            pair.endpoints().filter(|e| is_any_or(expectation.endpoint.as_ref(), &e.base.key.endpoint));
        endpoints.filter_map(|e| measured(expectation.statistic, &e, refusals, pair.side)).collect()
    };
    expected.iter().map(|expectation| finding(expectation, &measured_for(expectation))).collect()
}

fn finding(expectation: &Expectation, measured: &[String]) -> Finding {
    let more = measured.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let measured = match measured {
        [] => "nothing that both runs have".to_owned(),
        measured => measured[..measured.len().min(MOST_NAMED)].join("; ") + &more,
    };
    let what =
        format!("Expected, and never measured: {}. Measured, one run each: {measured}.", expectation.text);
    let finding = RULE.finding(Severity::Caution, Scope::default(), what);
    with_figures(finding, &[("expected", expectation.change * 100.0, "%")])
}

/// The measured change at one endpoint of the run `side`; none where there was no success.
fn measured(
    statistic: ExpectedStatistic,
    EndpointPair { base, new }: &EndpointPair<'_>,
    refusals: &[Refusal],
    side: usize,
) -> Option<String> {
    let place = (&*base.key.phase, &*base.key.scenario, &*base.key.endpoint);
    if let Some(refusal) = refusals.iter().find(|refusal| refusal.applies_to(side, place)) {
        return Some(format!("{} refused ({})", base.key.describe(), refusal.rule));
    }
    let value = |times: &Histogram| match statistic {
        ExpectedStatistic::Quantile(q) => times.quantile(q).finite_us(),
        ExpectedStatistic::Mean => times.mean_us(),
    };
    let (before, after) = (value(&base.ok)?, value(&new.ok)?);
    let change = after / before.max(f64::MIN_POSITIVE) - 1.0;
    let sign = if change > 0.0 { "+" } else { "" };
    Some(format!(
        "{} {sign}{} ({} against {})",
        base.key.describe(),
        brief::percent(change),
        brief::ms(before / 1_000.0),
        brief::ms(after / 1_000.0)
    ))
}
