//! What was run and how it ended, and the numbers that a reader looks for first.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{Finding, RuleId, Severity};

use super::exchanges::cut;
use crate::document::{
    Block, FactLayout, Facts, Forms, Paragraph, ParagraphKind, Section, Tile, VerdictBlock,
};
use crate::number;
use crate::summary::{CpuUse, Header, Headline, RunEndState, Summary, quantile_text};

/// A longer resolved workload is cut, in bytes.
const MAX_WORKLOAD: usize = 100_000;
/// The most targets whose CPU has a tile.
const MAX_CPU: usize = 3;

/// Its name, start and length.
pub(super) fn subject(summary: &Summary) -> String {
    let header = &summary.header;
    let subject = format!("{} · {} · {}", header.name, header.started_at, number::length(header.elapsed_s));
    if header.end == RunEndState::Completed { subject + " · completed" } else { subject }
}

/// The run's start, length, end and files.
pub(super) fn facts(summary: &Summary) -> Vec<Paragraph> {
    let header = &summary.header;
    let mut facts = vec![
        Paragraph::labelled("started", &header.started_at),
        Paragraph::labelled("elapsed", elapsed(header)),
        Paragraph::labelled(
            if header.end == RunEndState::UnderWay { "state" } else { "ended" },
            header.end_in_words(),
        ),
        Paragraph::labelled("rules", format!("version {}", summary.judgement.rules_version)),
    ];
    facts.extend(summary.files.iter().map(|(kind, path)| Paragraph::labelled(kind, path)));
    let notice = match &header.end {
        RunEndState::Completed => return facts,
        RunEndState::UnderWay => {
            facts.extend(invalidity(summary));
            "This report is of the run so far: each verdict below may still change.".to_owned()
        }
        _ => format!("The run was {}. This report covers the time until then.", header.end_in_words()),
    };
    facts.push(Paragraph::new(ParagraphKind::Notice, notice));
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
    VerdictBlock { verdict, word, answer: None, because, assumes, case: "(the whole run)" }
}

/// The numbers at the top of a page.
pub(super) fn tiles(summary: &Summary) -> Vec<Tile> {
    let is_under_way = summary.header.end == RunEndState::UnderWay;
    if is_under_way && summary.outcomes.completed() == 0 {
        return arrivals(summary).into_iter().collect();
    }
    let of_run = of_run(summary);
    let tile =
        |name: &str, value: String, note: String| Tile { name: name.to_owned(), value, note, is_bad: false };
    let mut tiles: Vec<Tile> = summary.headline.iter().flat_map(|of| headline(summary, of)).collect();
    tiles.push(failed(summary));
    tiles.extend(arrivals(summary));
    let outcomes = &summary.outcomes;
    let succeeded = match outcomes.unknown {
        None => format!("{} succeeded, {of_run}", outcomes.share_of_completed(outcomes.ok())),
        Some(_) => format!("outcomes not known, {of_run}"),
    };
    tiles.push(tile("Requests ended", outcomes.completed_text(), succeeded));
    let lag = &summary.generator.start_lag;
    let late = "how late the generator was".to_owned();
    tiles.push(tile("Start lag p99", quantile_text(lag, 0.99, lag.p99_ms), late));
    tiles.extend(summary.cpu.iter().take(MAX_CPU).map(cpu));
    tiles
}

/// Throughput and response times of the phase in which most requests ended, or which is under way: it is named.
fn headline(summary: &Summary, headline: &Headline) -> [Tile; 4] {
    let so_far = if summary.header.end == RunEndState::UnderWay { " so far" } else { "" };
    let tile = |name: &str, value: String, of: &str| Tile {
        name: name.to_owned(),
        value,
        note: format!("{of} in {}{so_far}", headline.phase),
        is_bad: false,
    };
    let (times, of) = (&headline.response_time, "response time of successes");
    let throughput = number::or_not_measured(headline.throughput_per_s, number::rate);
    [
        tile("Throughput", throughput, "requests"),
        tile("p50", number::time_or_none(times.p50_ms), of),
        tile("p95", quantile_text(times, 0.95, times.p95_ms), of),
        tile("p99", quantile_text(times, 0.99, times.p99_ms), of),
    ]
}

/// What numbers are of that stand beside those of one phase.
fn of_run(summary: &Summary) -> &'static str {
    match summary.header.end {
        RunEndState::UnderWay => "whole run so far",
        _ => "whole run",
    }
}

fn arrivals(summary: &Summary) -> Option<Tile> {
    let arrivals = summary.arrivals?;
    Some(Tile {
        name: "Arrivals due".to_owned(),
        value: number::count(arrivals.scheduled),
        note: format!("{} never started, {}", number::count(arrivals.dropped()), of_run(summary)),
        is_bad: arrivals.dropped() > 0,
    })
}

fn failed(summary: &Summary) -> Tile {
    let outcomes = &summary.outcomes;
    let of = of_run(summary);
    Tile {
        name: "Failed".to_owned(),
        value: outcomes.failed_share(),
        note: match outcomes.failed() {
            Some(failed) => {
                format!("{} requests of the {of}{}", number::count(failed), outcomes.retried_text())
            }
            None => String::new(),
        },
        is_bad: outcomes.known_failures() > 0,
    }
}

fn cpu(cpu: &CpuUse) -> Tile {
    Tile {
        name: format!("CPU-s per 1,000 requests: {}", cpu.target),
        value: number::or_not_measured(cpu.per_1000_requests_s, |s| number::significant(s, 3)),
        note: match (cpu.mean_cores, cpu.note.as_str()) {
            (Some(cores), "") => {
                format!("{}, {} cores on average", cpu.part_of_run(), number::significant(cores, 3))
            }
            (_, note) => note.to_owned(),
        },
        is_bad: false,
    }
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
