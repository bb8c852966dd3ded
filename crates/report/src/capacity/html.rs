//! A capacity search as one self-contained HTML file, whose first plot is made for slides.

use askama::Template;
use evidence::capacity::shown_level;

use super::{CapacitySummary, format};
use crate::html::charts::{self, Chart};
use crate::html::policy;
use crate::html::view::verdict_class;
use crate::number;
use crate::text::{self, visible};

/// The style sheet of its plots.
const STYLE: &str = include_str!("../../templates/capacity.css");

/// What limits the answer.
struct FindingView {
    severity: String,
    name: String,
    what: String,
    next: String,
}

#[derive(Template)]
#[template(path = "capacity.html")]
struct Page {
    policy: String,
    style: &'static str,
    own_style: &'static str,
    script: &'static str,
    name: String,
    verdict: String,
    class: &'static str,
    answer: String,
    because: String,
    facts: Vec<(String, String)>,
    findings: Vec<FindingView>,
    first: Option<Chart>,
    charts: Vec<Chart>,
    level_heads: Vec<String>,
    levels: Vec<Vec<String>>,
    overload_heads: [&'static str; 8],
    overload: Vec<[String; 8]>,
    recovery: Option<String>,
    probe_heads: Vec<String>,
    probes: Vec<Vec<String>>,
}

/// The search as one self-contained HTML file.
pub fn html(search: &CapacitySummary) -> String {
    let judgement = &search.judgement;
    let mut charts = charts::by_load(&search.judgement).into_iter();
    let findings = judgement.findings.iter().map(|finding| FindingView {
        severity: finding.severity.to_string(),
        name: visible(&finding.name),
        what: visible(&finding.what),
        next: visible(&finding.next),
    });
    let page = Page {
        policy: policy::content_security_policy(&[policy::STYLE, STYLE], &[policy::SCRIPT]),
        style: policy::STYLE,
        own_style: STYLE,
        script: policy::SCRIPT,
        name: visible(&search.name),
        verdict: judgement.verdict.to_string(),
        class: verdict_class(judgement.verdict),
        answer: format::answer(judgement),
        because: visible(&judgement.because),
        facts: facts(search),
        findings: findings.collect(),
        first: charts.next(),
        charts: charts.collect(),
        level_heads: level_heads(search),
        levels: levels(search),
        overload_heads: format::OVERLOAD_HEADS,
        overload: judgement.overload.iter().flat_map(|of| &of.parts).map(format::overload_cells).collect(),
        recovery: format::recovery(judgement),
        probe_heads: probe_heads(search),
        probes: probes(search),
    };
    text::page(&page)
}

fn facts(search: &CapacitySummary) -> Vec<(String, String)> {
    let judgement = &search.judgement;
    let mut facts = vec![("Target".to_owned(), visible(&search.arm))];
    for slo in &judgement.slos {
        let first = if slo.breaks_first { "; it breaks first" } else { "" };
        facts.push(("Must hold".to_owned(), format!("{}{first}", visible(&slo.of))));
    }
    facts.push(("At its limit".to_owned(), visible(&format::limit(judgement))));
    facts.extend(format::hold(judgement).map(|hold| ("Hold".to_owned(), visible(&hold))));
    facts.push(("Rests on".to_owned(), visible(&format::basis(search))));
    facts
}

fn level_heads(search: &CapacitySummary) -> Vec<String> {
    let slos = search.judgement.slos.iter().map(|slo| visible(&slo.name));
    let first = ["level", ""].map(str::to_owned).into_iter();
    first.chain(slos).chain(["within the bound by", "goodput", "probes"].map(str::to_owned)).collect()
}

fn levels(search: &CapacitySummary) -> Vec<Vec<String>> {
    let judgement = &search.judgement;
    let row = |level: &evidence::capacity::CapacityLevel| {
        let mut row = vec![shown_level(level.level, &judgement.unit), format::verdict(level).to_owned()];
        row.extend(judgement.slos.iter().zip(&level.medians).map(|(slo, value)| format::of_slo(slo, *value)));
        row.extend([format::margin(level), number::rate(level.goodput), level.probes.to_string()]);
        row
    };
    judgement.levels.iter().map(row).collect()
}

fn probe_heads(search: &CapacitySummary) -> Vec<String> {
    let slos = search.judgement.slos.iter().map(|slo| visible(&slo.name));
    let first = ["probe", "stage", "level"].map(str::to_owned).into_iter();
    first.chain(slos).chain(["goodput", "failed", "run file"].map(str::to_owned)).collect()
}

fn probes(search: &CapacitySummary) -> Vec<Vec<String>> {
    let judgement = &search.judgement;
    let mut rows = Vec::new();
    for (probe, run) in judgement.probes.iter().zip(&search.runs) {
        let stage = format!("{:?}", probe.stage).to_lowercase();
        let mut row = vec![probe.number.to_string(), stage, shown_level(probe.level, "")];
        row.extend(judgement.slos.iter().zip(&probe.values).map(|(slo, value)| format::of_slo(slo, *value)));
        row.extend([number::rate(probe.goodput), number::percent(probe.failed, 1.0), visible(&run.file)]);
        rows.push(row);
    }
    rows
}
