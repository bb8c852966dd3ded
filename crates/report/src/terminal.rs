//! The report as text for a terminal: the numbers, the verdict with its claims, the findings. The verdict's word is in the
//! first line too, and its sentence among the last, where a reader of a terminal looks.

mod endpoints;
mod failures;
pub(crate) mod findings;
pub(crate) mod line;
mod metrics;
pub(crate) mod page;
mod phases;
mod streams;
pub(crate) mod table;

use evidence::{TerminalText, Verdict};

use crate::card;
use crate::number;
use crate::profiles::captured;
use crate::source;
use crate::summary::{
    Arrivals, BesideK6, ClaimSummary, CpuUse, Row, RunEndState, Summary, quantile_text, spread_of_workers,
    statuses_in_words,
};
use crate::text::fit;
use line::{TextLine, Tone};
use page::{Label, Page};
use table::{Cell, Column, Table};

/// The column where the text of the last lines begins.
const FOOT: usize = 11;
/// The column where the text of an imported run's source begins.
const SOURCE: usize = 28;
/// The column where the text of a claim begins.
const CLAIM: usize = 6;

/// The kind of the file that the digest is of.
const EVIDENCE: &str = "evidence";

/// Whether escape codes for colours may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// No escape codes.
    Plain,
    /// ANSI colours.
    Colour,
}

/// How much is said of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// A line for each rule.
    Brief,
    /// Every place, why it matters, and what to do.
    Full,
}

/// The report as text, no line wider than `width` columns; `width` below 20 counts as 20.
pub fn terminal(summary: &Summary, style: Style, width: usize, detail: Detail) -> TerminalText {
    let mut page = Page::new(width);
    head(&mut page, summary);
    imported(&mut page, summary);
    for name in summary.phases_with_rows() {
        phase(&mut page, summary, name);
    }
    legend(&mut page, summary);
    failures::add(&mut page, summary);
    beside_k6(&mut page, summary);
    if let Some(table) = phases::table(summary) {
        page.heading("Parts of a request", "  mean time, share of the whole");
        page.table(&table);
    }
    if let Some(table) = streams::table(summary) {
        page.heading("Streams", "  messages, and the time until the first one");
        page.table(&table);
    }
    if let Some(table) = metrics::table(summary) {
        page.heading("Metrics of the script", "  over the whole run");
        page.table(&table);
    }
    page.gap();
    totals(&mut page, summary);
    machine(&mut page, summary);
    verdict(&mut page, summary);
    claims(&mut page, summary);
    let cards = card::of_run(&summary.judgement.findings);
    match detail {
        Detail::Brief => findings::add_lines(&mut page, &cards),
        Detail::Full => findings::add(&mut page, &cards),
    }
    files(&mut page, summary);
    page.render(style)
}

fn verdict_tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Pass => Tone::Good,
        Verdict::Fail => Tone::Bad,
        Verdict::Inconclusive | Verdict::Invalid => Tone::Warn,
        Verdict::Measured => Tone::Accent,
    }
}

/// The verdict in a sentence.
fn verdict(page: &mut Page, summary: &Summary) {
    let verdict = summary.judgement.verdict;
    let name = verdict.to_string();
    let tone = verdict_tone(verdict);
    page.gap();
    page.labelled(Label::new(&name, name.len() + 2), tone, Tone::Strong, &summary.judgement.because);
    if summary.judgement.because.trim().is_empty() {
        page.line(&[(tone, &name)]);
    }
}

/// What was run, how it ended, and the verdict's word.
fn head(page: &mut Page, summary: &Summary) {
    let verdict = summary.judgement.verdict;
    let word = verdict.to_string();
    let header = &summary.header;
    let elapsed = number::length(header.elapsed_s);
    let mut text = format!("{} · {} · {elapsed}", header.name, header.started_at);
    if header.end == RunEndState::Completed {
        text.push_str(" · completed");
    }
    page.labelled(Label::new(&word, word.len() + 2), verdict_tone(verdict), Tone::Dim, &text);
    if header.end != RunEndState::Completed {
        page.paragraph(Label::indent(0), Tone::Warn, &format!("The run was {}.", header.end_in_words()));
    }
}

fn claims(page: &mut Page, summary: &Summary) {
    if summary.claims.is_empty() {
        return;
    }
    page.heading("Claims", "");
    for shown in &summary.claims {
        claim(page, shown);
    }
}

fn claim(page: &mut Page, shown: &ClaimSummary) {
    let claim = &shown.claim;
    let tone = verdict_tone(claim.verdict);
    let mut head = TextLine::new();
    head.add(tone, &claim.verdict.to_string()).add(Tone::Normal, "  ");
    head.add(Tone::Accent, &claim.name).add(Tone::Normal, "  ");
    let text = shown.text();
    let is_on_head = head.width() + text.chars().count() <= page.width();
    page.push(head.add(Tone::Dim, if is_on_head { text } else { "" }));
    if !is_on_head {
        page.paragraph(Label::indent(CLAIM), Tone::Dim, text);
    }
    let numbers: Vec<String> = shown.figures().iter().map(|figure| unbreakable(figure)).collect();
    page.paragraph(Label::indent(CLAIM), Tone::Normal, &numbers.join(" · "));
    let reason_tone = if claim.verdict == Verdict::Pass { Tone::Dim } else { tone };
    for reason in shown.reasons() {
        page.paragraph(Label::indent(CLAIM), reason_tone, &reason);
    }
}

fn beside_k6(page: &mut Page, summary: &Summary) {
    let Some(beside) = &summary.beside_k6 else { return };
    page.heading(BesideK6::HEADING, "");
    let columns = ["n", "p50", "p90", "p95", "p99", "max"].map(|head| Column { head, rank: 0 });
    let row = |(label, cells): (String, [String; 6])| (label, cells.map(Cell::plain).into());
    let rows: Vec<_> = beside.rows().into_iter().map(row).collect();
    if !rows.is_empty() {
        page.table(&Table { label: "", columns: columns.into(), rows });
    }
    for sentence in beside.sentences() {
        page.paragraph(Label::indent(0), Tone::Normal, &sentence);
    }
}

/// Text that is not wrapped between its words.
fn unbreakable(text: &str) -> String {
    text.replace(' ', "\u{a0}")
}

/// The source of an imported run.
fn imported(page: &mut Page, summary: &Summary) {
    let Some(source) = &summary.header.source else { return };
    page.heading(&source::title(source), "");
    for (label, text) in source::lines(source) {
        page.paragraph(Label::new(&fit(&label, SOURCE - 2), SOURCE), Tone::Normal, &text);
    }
}

fn phase(page: &mut Page, summary: &Summary, phase: &str) {
    let planned = summary.phases.iter().find(|p| p.name == phase);
    let when = planned.map_or_else(String::new, |p| format!("  {}", p.when()));
    let name = if phase.is_empty() { "(no phase)" } else { phase };
    page.heading(&format!("Phase {name}"), &when);
    page.table(&endpoints::table(summary.rows_of(phase)));
    if let Some(requests) = planned.and_then(|p| p.requests) {
        page.paragraph(Label::indent(0), Tone::Dim, &requests.in_words());
    }
}

fn legend(page: &mut Page, summary: &Summary) {
    if summary.rows.is_empty() {
        return;
    }
    let of = if summary.outcomes.unknown.is_some() { "responses, failed or not" } else { "successes" };
    let mut text = match &summary.header.source {
        None => format!("Response times of {of}, from the instant a request was due to its last byte."),
        Some(source) => {
            format!("Response times of {of} as {} measured them, from when a request was sent.", source.tool)
        }
    };
    if summary.has_iterations() {
        text.push_str(" Of whole iterations the times of all, successful or not.");
    }
    let is_rough = |row: &Row| [0.9, 0.95, 0.99].into_iter().any(|q| row.response_time.is_rough(q));
    if summary.rows.iter().any(is_rough) {
        text.push_str(" ~ marks a quantile with fewer than 20 samples above it.");
    }
    page.paragraph(Label::indent(0), Tone::Dim, &text);
}

fn arrivals(page: &mut Page, label: &str, arrivals: &Arrivals) {
    let count = number::count;
    let text = format!(
        "{} due, {} started, {} dropped: {}, {}",
        count(arrivals.scheduled),
        count(arrivals.started),
        count(arrivals.dropped()),
        unbreakable(&format!("VU limit {}", count(arrivals.dropped_cap))),
        unbreakable(&format!("generator late {}", count(arrivals.dropped_late)))
    );
    let tone = if arrivals.dropped() > 0 { Tone::Warn } else { Tone::Normal };
    page.paragraph(Label::new(label, FOOT), tone, &text);
}

/// The counts of the whole run.
fn totals(page: &mut Page, summary: &Summary) {
    if let Some(total) = summary.arrivals {
        arrivals(page, "arrivals", &total);
    }
    for scenario in summary.scenarios.iter().filter(|_| summary.scenarios.len() > 1) {
        if let Some(of_scenario) = scenario.arrivals {
            arrivals(page, &format!("  {}", fit(&scenario.name, FOOT - 3)), &of_scenario);
        }
    }
    for (name, users) in summary.virtual_users() {
        let text = match summary.scenarios.len() {
            1 => users.in_words(),
            _ => format!("{name} {}", users.in_words()),
        };
        page.paragraph(Label::new("users", FOOT), Tone::Normal, &text);
    }
    let outcomes = &summary.outcomes;
    let mut text = match outcomes.failed() {
        Some(failed) => format!("{} ended, {} failed", outcomes.completed_text(), number::count(failed)),
        None if outcomes.are_counted() => {
            format!("{} ended, failures not known", outcomes.completed_text())
        }
        None => "none counted".to_owned(),
    };
    for (outcome, n) in outcomes.failures() {
        text.push_str(&format!(" · {outcome} {}", number::count(n)));
    }
    text.push_str(&outcomes.retried_text());
    let tone = if outcomes.known_failures() > 0 { Tone::Warn } else { Tone::Normal };
    page.paragraph(Label::new("requests", FOOT), tone, &text);
    if !summary.statuses.is_empty() {
        page.paragraph(Label::new("statuses", FOOT), Tone::Normal, &statuses_in_words(&summary.statuses));
    }
}

/// CPU of the generator and the targets, and how the generator fared.
fn machine(page: &mut Page, summary: &Summary) {
    let cpu: Vec<String> = summary.cpu.iter().map(cpu_in_words).collect();
    page.paragraph(Label::new("CPU", FOOT), Tone::Normal, &cpu.join("; "));
    let lag = &summary.generator.start_lag;
    let times = format!(
        "p50 {}, p99 {}, max {}",
        number::time_or_none(lag.p50_ms),
        quantile_text(lag, 0.99, lag.p99_ms),
        number::time_or_none(lag.max_ms)
    );
    page.paragraph(Label::new("start lag", FOOT), Tone::Normal, &times);
    if let Some(spread) = spread_of_workers(&summary.workers) {
        page.paragraph(Label::new("workers", FOOT), Tone::Normal, &spread);
    }
    if let Some(perturbed @ 1..) = summary.generator.perturbed_requests {
        let (perturbed, ended) = (number::count(perturbed), number::count(summary.outcomes.completed()));
        let text = format!("{perturbed} of {ended} requests were under way during a stall of the generator");
        page.paragraph(Label::new("stalls", FOOT), Tone::Normal, &text);
    }
    if let Some(folded @ 1..) = summary.generator.folded_endpoints {
        let text = format!("{} names beyond the limit are counted as one", number::count(folded));
        page.paragraph(Label::new("endpoints", FOOT), Tone::Warn, &text);
    }
}

/// What was recorded, and where it is.
fn files(page: &mut Page, summary: &Summary) {
    page.gap();
    let (failed, slowest) = (summary.failed.len(), summary.slowest.len());
    if failed + slowest > 0 {
        let text = format!("{failed} failed and {slowest} of the slowest, in full in the HTML report");
        page.paragraph(Label::new("exchanges", FOOT), Tone::Normal, &text);
    }
    for profile in &summary.profiles {
        page.paragraph(Label::new("profile", FOOT), Tone::Normal, &captured::one_line(profile));
    }
    for (kind, path) in &summary.files {
        page.paragraph(Label::new(kind, FOOT.max(kind.len() + 1)), Tone::Accent, path);
        if kind == EVIDENCE {
            let digest = summary.header.digest_in_words();
            page.paragraph(Label::new("digest", FOOT), Tone::Normal, &digest);
        }
    }
}

fn cpu_in_words(cpu: &CpuUse) -> String {
    let Some(seconds) = cpu.cpu_seconds else { return format!("{} {}", cpu.target, cpu.note) };
    let mut text = format!("{} {}", cpu.target, number::cpu(seconds));
    if let Some(per_1000) = cpu.per_1000_requests_s {
        text.push_str(&format!(" ({} per 1,000 requests, {})", number::cpu(per_1000), cpu.part_of_run()));
    }
    if !cpu.note.is_empty() {
        text.push_str(&format!(", {}", cpu.note));
    }
    text
}
