//! The report as JSON for programs, with a versioned schema: `docs/report-json.md`.

use evidence::diagnosis::Diagnosis;
use evidence::visible::is_invisible;
use evidence::{Claim, Finding};
use serde::Serialize;

use crate::summary::{
    Arrivals, BesideK6, CapturedProfile, Check, Connections, CpuUse, FailureKind, Generator, Header,
    Headline, MarkedEvent, Outcomes, PhaseCoverage, Row, ScenarioTotal, ScriptMetric, SeriesSummary,
    StatusCount, Summary, WorkerSummary,
};

/// The name and version of the schema. A field may be added within a version, never change its meaning.
pub(crate) const SCHEMA: &str = "plimsoll.report/2";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    verdict: evidence::Verdict,
    because: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    assumes: Option<&'a str>,
    rules_version: u32,
    run: &'a Header,
    headline: &'a Option<Headline>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    statuses: &'a [StatusCount],
    failures: &'a [FailureKind],
    phases: &'a [PhaseCoverage],
    #[serde(rename = "accounting")]
    accounting: Accounting<'a>,
    claims: Vec<&'a Claim>,
    findings: &'a [Finding],
    endpoints: &'a [Row],
    totals: &'a [Row],
    scenarios: &'a [ScenarioTotal],
    checks: &'a [Check],
    connections: &'a [Connections],
    cpu: &'a [CpuUse],
    generator: &'a Generator,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    workers: &'a [WorkerSummary],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    metrics: &'a [ScriptMetric],
    #[serde(skip_serializing_if = "Option::is_none")]
    beside_k6: &'a Option<BesideK6>,
    series: &'a [SeriesSummary],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    marks: &'a [MarkedEvent],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    profiles: &'a [CapturedProfile],
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnosis: &'a Option<Diagnosis>,
}

#[derive(Serialize)]
struct Accounting<'a> {
    arrivals: Option<Arrivals>,
    #[serde(flatten)]
    outcomes: &'a Outcomes,
    ok: Option<u64>,
    failed: Option<u64>,
    cancelled: Option<u64>,
    requests_in_flight: Option<u64>,
}

/// The report as indented JSON, without a trailing newline.
pub(crate) fn json(summary: &Summary) -> String {
    let outcomes = &summary.outcomes;
    let document = Document {
        schema: SCHEMA,
        verdict: summary.judgement.verdict,
        because: &summary.judgement.because,
        assumes: summary.judgement.assumes.as_deref(),
        rules_version: summary.judgement.rules_version,
        run: &summary.header,
        headline: &summary.headline,
        statuses: &summary.statuses,
        failures: &summary.failures,
        phases: &summary.phases,
        accounting: Accounting {
            arrivals: summary.arrivals,
            outcomes,
            ok: outcomes.ok(),
            failed: outcomes.failed(),
            cancelled: outcomes.cancelled(),
            requests_in_flight: summary.header.requests_in_flight,
        },
        claims: summary.claims.iter().map(|shown| &shown.claim).collect(),
        findings: &summary.judgement.findings,
        endpoints: &summary.rows,
        totals: &summary.totals,
        scenarios: &summary.scenarios,
        checks: &summary.checks,
        connections: &summary.connections,
        cpu: &summary.cpu,
        generator: &summary.generator,
        workers: &summary.workers,
        metrics: &summary.metrics,
        beside_k6: &summary.beside_k6,
        series: &summary.series,
        marks: &summary.marks,
        profiles: &summary.profiles,
        diagnosis: &summary.diagnosis,
    };
    pretty(&document)
}

#[derive(Serialize)]
struct WithSchema<'a, T> {
    schema: &'static str,
    #[serde(flatten)]
    content: &'a T,
}

/// Content after the name and version of its schema, as [`pretty`] writes it.
pub(crate) fn with_schema(schema: &'static str, content: &impl Serialize) -> String {
    pretty(&WithSchema { schema, content })
}

/// The document as indented JSON. Characters in its texts that are not visible are written as JSON's escapes: a reader
/// gets the same texts, and a terminal nothing to act on.
pub(crate) fn pretty(document: &impl Serialize) -> String {
    let json = serde_json::to_string_pretty(document);
    let json = json.expect("the keys of a document are strings, so it always serialises");
    let mut out = String::with_capacity(json.len());
    let mut units = [0; 2];
    for c in json.chars() {
        match c {
            c if c == '\n' || !is_invisible(c) => out.push(c),
            c => out.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}"))),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_escaped_and_read_back_as_they_were() {
        let text = "a\u{1b}[2J\u{9b}\u{7f}\u{202e}\u{e0041}\n\t\\ é";
        let json = pretty(&vec![text]);
        assert!(!json.replace('\n', "").contains(is_invisible), "{json:?}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).expect("it is JSON"), [text]);
    }
}
