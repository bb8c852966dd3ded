//! M5: an expected change beside the measured one.
//!
//! What somebody expects is told with what was measured of the same thing, so that neither is taken for the other. Where
//! differences are refused none is formed, whatever was expected.

use evidence::{Finding, Histogram, Refusal, Scope, Severity};

use crate::compare::expectation::{Expectation, Expected};
use crate::compare::known::Pair;
use crate::facts::Cell;
use crate::rule::{named, with_figures};
use crate::words;

/// No sentence names more endpoints.
const MOST_NAMED: usize = 4;

/// What was measured of each expectation on the run `side`.
pub(crate) fn rule(
    pair: &Pair<'_, '_>,
    (expected, refusals): (&[Expectation], &[Refusal]),
    side: usize,
) -> Vec<Finding> {
    let finding = |expectation: &Expectation| {
        let cells = pair.cells().filter(|(base, _)| {
            expectation.endpoint.as_ref().is_none_or(|wanted| **wanted == *base.place.endpoint)
        });
        let seen: Vec<String> =
            cells.filter_map(|cells| measured(expectation, cells, (refusals, side))).collect();
        told(expectation, &seen)
    };
    expected.iter().map(finding).collect()
}

fn told(expectation: &Expectation, seen: &[String]) -> Finding {
    let more = seen.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let measured = match seen {
        [] => "nothing that both runs have".to_owned(),
        seen => seen[..seen.len().min(MOST_NAMED)].join("; ") + &more,
    };
    let what =
        format!("Expected, and never measured: {}. Measured, one run each: {measured}.", expectation.text);
    let finding = named("M5").finding(Severity::Caution, Scope::default(), what);
    with_figures(finding, &[("expected", expectation.change * 100.0, "%")])
}

/// What came of it at one endpoint; none where nothing answered.
fn measured(
    expectation: &Expectation,
    (base, new): (&Cell, &Cell),
    (refusals, side): (&[Refusal], usize),
) -> Option<String> {
    let place = (&*base.place.phase, &*base.place.scenario, &*base.place.endpoint);
    if let Some(refusal) = refusals.iter().find(|refusal| refusal.applies_to(side, place)) {
        return Some(format!("{} refused ({})", base.place.words(), refusal.rule));
    }
    let value = |times: &Histogram| match expectation.statistic {
        Expected::Quantile(q) => times.quantile(q).finite_us(),
        Expected::Mean => times.mean_us(),
    };
    let (before, after) = (value(&base.ok)?, value(&new.ok)?);
    let change = after / before.max(f64::MIN_POSITIVE) - 1.0;
    let sign = if change > 0.0 { "+" } else { "" };
    Some(format!(
        "{} {sign}{} ({} against {})",
        base.place.words(),
        words::percent(change),
        words::ms(before / 1_000.0),
        words::ms(after / 1_000.0)
    ))
}
