//! L6 for an imported run.

use evidence::{Finding, Scope, Severity, Source};

use super::RULE;
use crate::facts::Facts;
use crate::numbers;
use crate::rule::with_figures;

/// A larger gap in the counts of an imported run is invalid, a smaller one a caution.
pub(crate) const IMPORTED_GAP: f64 = 0.001;

/// Only counts that the source has can be compared, and a small gap may be the file's.
pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    // A record that could not be read, or that was cut off, explains a gap of one.
    let unread_records = facts.source.map_or(0, |source| source.malformed) + u64::from(!facts.is_complete());
    for endpoint in facts.tables.endpoints.iter().filter(|endpoint| endpoint.requests > 0) {
        let (begun, ended) = (endpoint.requests, endpoint.responses());
        let gap = begun.abs_diff(ended);
        if gap == 0 {
            continue;
        }
        let share = gap as f64 / begun.max(ended) as f64;
        let is_invalid = share > IMPORTED_GAP && gap > unread_records;
        let severity = if is_invalid { Severity::Invalid } else { Severity::Caution };
        let what = format!(
            "{} has {} requests and {} times of requests.",
            endpoint.key.describe(),
            numbers::count(begun),
            numbers::count(ended)
        );
        let figures = [
            ("requests", begun as f64, "1"),
            ("times", ended as f64, "1"),
            ("gap", share * 100.0, "%"),
            ("threshold", IMPORTED_GAP * 100.0, "%"),
        ];
        findings.push(with_figures(RULE.finding(severity, endpoint.key.scope(), what), &figures));
    }
    findings.extend(facts.source.and_then(unread));
    findings
}

fn unread(source: &Source) -> Option<Finding> {
    let first = source.first_malformed.as_deref()?;
    let what = match source.malformed {
        1 => format!("One record of the {} could not be read and is not included: {first}.", source.format),
        n => format!(
            "{} records of the {} could not be read and are not included; the first is {first}.",
            numbers::count(n),
            source.format
        ),
    };
    let figures = [("records not read", source.malformed as f64, "1"), ("threshold", 0.0, "1")];
    Some(with_figures(RULE.finding(Severity::Caution, Scope::default(), what), &figures))
}
