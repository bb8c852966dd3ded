//! The report as JSON for programs, with a versioned schema: `docs/report-json.md`.

use evidence::{Claim, Finding};
use serde::Serialize;

use crate::summary::{
    Arrivals, CapturedProfile, Check, Connections, CpuUse, Generator, Header, Outcomes, PhaseCoverage, Row,
    ScenarioTotal, SeriesSummary, Summary,
};

/// The name and version of the schema. A field may be added within a version, never change its meaning.
pub const SCHEMA: &str = "plimsoll.report/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    verdict: evidence::Verdict,
    because: &'a str,
    rules_version: u32,
    run: &'a Header,
    phases: &'a [PhaseCoverage],
    #[serde(rename = "accounting")]
    accounting: Accounting<'a>,
    claims: Vec<&'a Claim>,
    findings: &'a [Finding],
    endpoints: &'a [Row],
    scenarios: &'a [ScenarioTotal],
    checks: &'a [Check],
    connections: &'a [Connections],
    cpu: &'a [CpuUse],
    generator: &'a Generator,
    series: &'a [SeriesSummary],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    profiles: &'a [CapturedProfile],
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
pub fn json(summary: &Summary) -> String {
    let outcomes = &summary.outcomes;
    let document = Document {
        schema: SCHEMA,
        verdict: summary.judgement.verdict,
        because: &summary.judgement.because,
        rules_version: summary.judgement.rules_version,
        run: &summary.header,
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
        scenarios: &summary.scenarios,
        checks: &summary.checks,
        connections: &summary.connections,
        cpu: &summary.cpu,
        generator: &summary.generator,
        series: &summary.series,
        profiles: &summary.profiles,
    };
    serde_json::to_string_pretty(&document)
        .expect("the keys of a report are strings, so it always serialises")
}
