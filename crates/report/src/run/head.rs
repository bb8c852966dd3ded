//! What was run and how it ended, and the numbers that a reader looks for first.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{Finding, RuleId, Severity};

use super::exchanges::cut;
use crate::document::{
    Block, FactLayout, Facts, Forms, Paragraph, ParagraphKind, Section, Tile, VerdictBlock, WHOLE_RUN,
};
use crate::number;
use crate::summary::{Header, Headline, RunEndState, Summary, quantile_text};

/// A longer resolved workload is cut, in bytes.
const MAX_WORKLOAD: usize = 100_000;

/// Its name, start and length.
pub(super) fn subject(summary: &Summary) -> String {
    let header = &summary.header;
    let subject = format!("{} · {} · {}", header.name, header.started_at, number::length(header.elapsed_s));
    if header.end == RunEndState::Completed { subject + " · completed" } else { subject }
}

/// The run's start, length, end and files. How far a run is that is under way its verdict says.
pub(super) fn facts(summary: &Summary) -> Vec<Paragraph> {
    let header = &summary.header;
    let mut facts = vec![
        Paragraph::labelled("started", &header.started_at),
        Paragraph::labelled("elapsed", elapsed(header)),
    ];
    if header.end == RunEndState::UnderWay {
        facts.extend(invalidity(summary));
        return facts;
    }
    facts.push(Paragraph::labelled("ended", header.end_in_words()));
    facts.push(Paragraph::labelled("rules", format!("version {}", summary.judgement.rules_version)));
    facts.extend(summary.files.iter().map(|(kind, path)| Paragraph::labelled(kind, path)));
    if header.end != RunEndState::Completed {
        let notice =
            format!("The run was {}. This report covers the time until then.", header.end_in_words());
        facts.push(Paragraph::new(ParagraphKind::Notice, notice));
    }
    facts
}

/// Of a run under way; nothing is shorter than its first second.
fn elapsed(header: &Header) -> String {
    match header.seconds {
        0 if header.end == RunEndState::UnderWay => "less than 1 s".to_owned(),
        _ => number::length(header.elapsed_s),
    }
}

/// What makes a run under way invalid as it is now, and the workers that it has lost, each once.
fn invalidity(summary: &Summary) -> Vec<Paragraph> {
    let mut said = BTreeSet::new();
    let findings = summary.judgement.findings.iter();
    let grave = findings.filter(|of| of.severity == Severity::Invalid || of.rule == RuleId::W1);
    let is_new = |of: &&Finding| said.insert((of.rule.to_string(), of.what.clone()));
    let text = |of: &Finding| match of.severity {
        Severity::Invalid => format!("INVALID so far, {} {}: {}", of.rule, of.title, of.what),
        _ => format!("{} {}: {}", of.rule, of.title, of.what),
    };
    grave.filter(is_new).map(|of| Paragraph::new(ParagraphKind::Notice, text(of))).collect()
}

/// The verdict; of a run that is under way, how far it is.
pub(super) fn verdict(summary: &Summary) -> VerdictBlock {
    let judgement = &summary.judgement;
    let (verdict, word, because) = match summary.header.end {
        RunEndState::UnderWay => {
            let Header { seconds, planned_seconds, .. } = &summary.header;
            let phase = summary.headline.as_ref().map(|headline| format!(", in {}", headline.phase));
            let far = format!("{seconds} s of {planned_seconds} s{}", phase.unwrap_or_default());
            (None, "UNDER WAY".to_owned(), far)
        }
        _ => (Some(judgement.verdict), judgement.verdict.to_string(), judgement.because.clone()),
    };
    let assumes = judgement.assumes.clone().filter(|_| verdict.is_some());
    VerdictBlock { verdict, word, answer: None, because, assumes, case: WHOLE_RUN }
}

/// How far a run is that is under way, of its planned length.
pub(super) fn progress(summary: &Summary) -> Option<f64> {
    let Header { end, seconds, planned_seconds, .. } = &summary.header;
    let is_known = *end == RunEndState::UnderWay && *planned_seconds > 0;
    is_known.then(|| (f64::from(*seconds) / f64::from(*planned_seconds)).min(1.0))
}

/// The numbers at the top of a page, all of one phase; and what was dropped, if anything was.
pub(super) fn tiles(summary: &Summary) -> Vec<Tile> {
    let numbers = summary.headline.iter().flat_map(headline);
    numbers.chain(dropped(summary)).collect()
}

/// What the tiles are of.
pub(super) fn tiles_note(summary: &Summary) -> String {
    let Some(headline) = &summary.headline else { return String::new() };
    let so_far = if summary.header.end == RunEndState::UnderWay { " so far" } else { "" };
    format!("Phase {}{so_far}; response times of successes", headline.phase)
}

/// Throughput, response times and failures of the phase in which most requests ended, or which is under way.
fn headline(headline: &Headline) -> [Tile; 5] {
    let tile =
        |name: &str, value: String| Tile { name: name.to_owned(), value, note: String::new(), is_bad: false };
    let (times, outcomes) = (&headline.response_time, &headline.outcomes);
    let note = match (outcomes.failed(), outcomes.retried_text()) {
        (Some(0) | None, retried) if retried.is_empty() => String::new(),
        (failed, retried) => format!("{}{retried}", number::counted(failed.unwrap_or(0), "request")),
    };
    [
        tile("Throughput", number::or_not_measured(headline.throughput_per_s, number::rate)),
        tile("p50", number::time_or_none(times.p50_ms)),
        tile("p95", quantile_text(times, 0.95, times.p95_ms)),
        tile("p99", quantile_text(times, 0.99, times.p99_ms)),
        Tile { note, is_bad: outcomes.known_failures() > 0, ..tile("Failed", outcomes.failed_share()) },
    ]
}

fn dropped(summary: &Summary) -> Option<Tile> {
    let arrivals = summary.arrivals.filter(|arrivals| arrivals.dropped() > 0)?;
    let of = match summary.header.end {
        RunEndState::UnderWay => "whole run so far",
        _ => "whole run",
    };
    Some(Tile {
        name: "Never started".to_owned(),
        value: number::count(arrivals.dropped()),
        note: format!("of {} due, {of}", number::counted(arrivals.scheduled, "arrival")),
        is_bad: true,
    })
}

/// What identifies the run, and where it ran.
pub(super) fn environment(summary: &Summary) -> Section {
    let header = &summary.header;
    let facts = |map: &BTreeMap<String, String>| map.iter().map(|(name, value)| fact(name, value)).collect();
    let identity = vec![
        Paragraph::labelled("workload SHA-256", &header.workload_digest),
        Paragraph::labelled("evidence SHA-256", header.digest_in_words()),
        Paragraph::labelled("seed", header.seed.to_string()),
        Paragraph::labelled("evidence", format!("{} of {} s", header.seconds, header.planned_seconds)),
    ];
    let mut groups = vec![
        ("Identity".to_owned(), identity),
        ("Machine".to_owned(), facts(&header.environment)),
        ("Generator".to_owned(), facts(&header.generator)),
    ];
    groups.extend(header.targets.iter().map(|(name, map)| (format!("Target {name}"), facts(map))));
    groups.retain(|(_, facts)| !facts.is_empty());
    let workload = Paragraph::labelled("Resolved workload", cut(&header.workload, MAX_WORKLOAD))
        .with_kind(ParagraphKind::Code);
    let facts = Block::Facts(Facts { layout: FactLayout::Boxes, groups });
    Section::new("environment", "Environment", vec![facts, Block::Paragraph(workload)]).only(Forms::Page)
}

/// A fact of a manifest. If its name ends in `_bytes`, the value is shown as an amount of memory.
fn fact(name: &str, value: &str) -> Paragraph {
    match name.strip_suffix("_bytes").zip(value.parse::<u64>().ok()) {
        Some((name, bytes)) => Paragraph::labelled(name, number::bytes(bytes as f64)),
        None => Paragraph::labelled(name, value),
    }
}
