//! L6 for an imported run: what its source leaves unknown. Such requests may be on either side of every objective, so that
//! no gap invalidates one that they cannot change.

use evidence::{Finding, Scope, Severity, Source, UnknownRecords};

use super::RULE;
use crate::facts::Facts;
use crate::rule::with_figures;
use figures::number::brief;

/// Counts that the source has and that do not add up, records that could not be read, totals that contradict records.
pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for endpoint in facts.figures.endpoints().filter(|endpoint| endpoint.begun() > 0) {
        let (begun, ended) = (endpoint.begun(), endpoint.responses());
        if begun == ended {
            continue;
        }
        let what = format!(
            "{} has {} requests and {} times of requests.",
            endpoint.key.describe(),
            brief::count(begun),
            brief::count(ended)
        );
        let gap = begun.abs_diff(ended) as f64;
        let figures = [
            ("requests", begun as f64, "1"),
            ("times", ended as f64, "1"),
            ("gap", gap / begun.max(ended) as f64 * 100.0, "%"),
            ("threshold", 0.0, "%"),
        ];
        findings.push(with_figures(RULE.finding(Severity::Caution, endpoint.key.scope(), what), &figures));
    }
    if let Some(source) = facts.source {
        findings.extend(source.unknown.iter().map(unknown));
        findings.extend(unread(source).filter(|_| source.unknown.is_empty()));
    }
    findings
}

fn unknown(unknown: &UnknownRecords) -> Finding {
    let of = |name: &String| Some(name.clone()).filter(|name| !name.is_empty());
    let scope =
        Scope { scenario: of(&unknown.scenario), endpoint: of(&unknown.endpoint), ..Scope::default() };
    let finding = RULE.finding(Severity::Caution, scope, unknown.why.clone());
    let more = unknown.more.map(|more| ("missing or unreadable", more as f64, "1"));
    let doubtful = ("contradicted", unknown.doubtful as f64, "1");
    with_figures(finding, &more.into_iter().chain([doubtful, ("threshold", 0.0, "1")]).collect::<Vec<_>>())
}

/// Of a run file that does not list what is unknown.
fn unread(source: &Source) -> Option<Finding> {
    let first = source.first_malformed.as_deref()?;
    let what = match source.malformed {
        1 => format!("One record of the {} could not be read: {first}.", source.format),
        n => format!(
            "{} records of the {} could not be read; the first is {first}.",
            brief::count(n),
            source.format
        ),
    };
    let figures = [("records not read", source.malformed as f64, "1"), ("threshold", 0.0, "1")];
    Some(with_figures(RULE.finding(Severity::Caution, Scope::default(), what), &figures))
}
