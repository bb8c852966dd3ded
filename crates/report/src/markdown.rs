//! The report as Markdown for the summary of a CI job: at most [`MAX_BYTES`], with names escaped.

use std::fmt::Write;

use evidence::Verdict;

use crate::card::{self, FindingCard};
use crate::number;
use crate::profiles::captured;
use crate::source;
use crate::summary::{
    BesideK6, ClaimSummary, Row, Streams, Summary, quantile_text, spread_of_workers, statuses_in_words,
};
use crate::text::visible;

/// The most bytes of a report.
pub const MAX_BYTES: usize = 64_000;

const MAX_CLAIMS: usize = 60;
/// The most places of a rule.
const MAX_PLACES: usize = 10;
const MAX_ROWS: usize = 120;
/// A longer name is cut, in characters.
pub(crate) const MAX_NAME: usize = 60;
/// A longer sentence is cut, in characters.
pub(crate) const MAX_TEXT: usize = 600;

/// The report as Markdown.
pub fn markdown(summary: &Summary) -> String {
    let mut out = String::new();
    head(&mut out, summary);
    claims(&mut out, &summary.claims);
    imported(&mut out, summary);
    endpoints(&mut out, summary);
    failures(&mut out, summary);
    findings(&mut out, &card::of_run(&summary.judgement.findings));
    streams(&mut out, summary);
    beside_k6(&mut out, summary);
    metrics(&mut out, summary);
    foot(&mut out, summary);
    fitted(out, MAX_BYTES)
}

/// Markdown of at most `most` bytes, cut after a whole line.
pub(crate) fn fitted(mut out: String, most: usize) -> String {
    if out.len() > most {
        const CUT: &str = "\n\n_The rest did not fit; the HTML report has all of it._\n";
        out.truncate(out.floor_char_boundary(most - CUT.len()));
        // A row without its end would break its table.
        out.truncate(out.rfind('\n').unwrap_or(0));
        out.push_str(CUT);
    }
    out
}

/// The emoji of a verdict.
pub(crate) fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "✅",
        Verdict::Fail => "❌",
        Verdict::Inconclusive => "❔",
        Verdict::Invalid => "🚫",
        Verdict::Measured => "📏",
    }
}

// Writing to a String cannot fail, so the results of `writeln!` are ignored in this file.

fn head(out: &mut String, summary: &Summary) {
    let (header, judgement) = (&summary.header, &summary.judgement);
    let name = text(&header.name, MAX_NAME);
    let _ = writeln!(out, "## {} {}: {name}\n", sign(judgement.verdict), judgement.verdict);
    let _ = writeln!(out, "{}\n", text(&judgement.because, MAX_TEXT));
    let elapsed = number::length(header.elapsed_s);
    let end = text(&header.end_in_words(), MAX_TEXT);
    let _ = writeln!(out, "{} · {elapsed} · {end}\n", text(&header.started_at, MAX_NAME));
}

/// The source of an imported run.
fn imported(out: &mut String, summary: &Summary) {
    let Some(source) = &summary.header.source else { return };
    let _ = writeln!(out, "\n{}\n", text(&source::title(source), MAX_TEXT));
    for (label, line) in source::lines(source).iter().take(MAX_ROWS) {
        let _ = writeln!(out, "- **{}** {}", text(label, MAX_NAME), text(line, MAX_TEXT));
    }
    out.push('\n');
}

fn claims(out: &mut String, claims: &[ClaimSummary]) {
    if claims.is_empty() {
        return;
    }
    out.push_str(
        "| | claim | observed | limit | interval | n |\n| --- | --- | ---: | ---: | ---: | ---: |\n",
    );
    for shown in claims.iter().take(MAX_CLAIMS) {
        let claim = &shown.claim;
        let reasons: String =
            shown.reasons().iter().map(|reason| format!("<br>{}", text(reason, MAX_TEXT))).collect();
        let _ = writeln!(
            out,
            "| {} {} | **{}** {}{reasons} | {} | {} | {} | {} |",
            sign(claim.verdict),
            claim.verdict,
            text(&claim.name, MAX_NAME),
            text(&shown.described(), MAX_TEXT),
            text(&shown.observed(), MAX_NAME),
            text(&shown.bound(), MAX_NAME),
            text(&number::or_not_measured(shown.interval(), |interval| interval), MAX_NAME),
            number::count(claim.samples),
        );
    }
    more(out, claims.len(), MAX_CLAIMS, "claims");
    out.push('\n');
}

/// Each rule with a table of the places where it found something.
pub(crate) fn findings(out: &mut String, cards: &[FindingCard<'_>]) {
    if cards.is_empty() {
        return;
    }
    out.push_str("### Findings\n\n");
    for card in cards {
        let title = text(card.title, MAX_NAME);
        let _ =
            writeln!(out, "**{} {} {title}**\n\n| where | what |\n| --- | --- |", card.severity, card.rule);
        for place in card.places.iter().take(MAX_PLACES) {
            let (name, what) = (text(&place.name, MAX_TEXT), text(&place.finding.what, MAX_TEXT));
            let _ = writeln!(out, "| {name} | {what} |");
        }
        more(out, card.places.len(), MAX_PLACES, "places");
        let (why, next) = (text(card.why, MAX_TEXT), text(card.next, MAX_TEXT));
        let _ = writeln!(out, "\n{why} _Next:_ {next}\n");
    }
}

fn endpoints(out: &mut String, summary: &Summary) {
    if summary.rows.is_empty() {
        return;
    }
    out.push_str("### Response time of successes, by phase\n\n");
    out.push_str("| phase | endpoint | dropped | requests | throughput | failed | p50 | p95 | p99 | max |\n");
    out.push_str("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for row in summary.rows.iter().take(MAX_ROWS) {
        endpoint(out, row);
    }
    more(out, summary.rows.len(), MAX_ROWS, "rows");
    for phase in summary.phases.iter().take(MAX_ROWS) {
        if let Some(requests) = phase.requests {
            let _ = writeln!(out, "\n{}: {}", text(&phase.name, MAX_NAME), requests.in_words());
        }
    }
    if summary.has_iterations() {
        out.push_str("\nOf whole iterations the times of all, successful or not.\n");
    }
    out.push_str("\n~ marks a quantile with fewer than 20 samples above it.\n\n");
}

fn endpoint(out: &mut String, row: &Row) {
    let outcomes = &row.outcomes;
    let times = row.times();
    let failed = match outcomes.failed() {
        Some(n @ 1..) => format!("**{}** ({})", number::count(n), outcomes.failed_share()),
        _ => outcomes.failed_share(),
    } + &outcomes.retried_text();
    let _ = writeln!(
        out,
        "| {} | {} | {} | {} | {} | {failed} | {} | {} | {} | {} |",
        text(&row.phase, MAX_NAME),
        text(&row.label, MAX_NAME),
        number::count_or_none(row.arrivals.map(|a| a.dropped())),
        number::count_or_none(outcomes.requests),
        number::or_not_measured(row.throughput_per_s, number::rate),
        number::time_or_none(times.p50_ms),
        quantile_text(times, 0.95, times.p95_ms),
        quantile_text(times, 0.99, times.p99_ms),
        number::time_or_none(times.max_ms),
    );
}

/// Why requests failed.
fn failures(out: &mut String, summary: &Summary) {
    if !summary.statuses.is_empty() {
        let _ = writeln!(out, "Statuses: {}\n", text(&statuses_in_words(&summary.statuses), MAX_TEXT));
    }
    if summary.failures.is_empty() {
        return;
    }
    out.push_str("### Failures\n\n| outcome | requests | share | example |\n| --- | ---: | ---: | --- |\n");
    for kind in summary.failures.iter().take(MAX_ROWS) {
        let n = kind.ended.count;
        let (count, share) = (number::count(n), summary.outcomes.share_of_completed(Some(n)));
        let reasons: String = kind
            .several_reasons()
            .map(|(n, reason)| format!("<br>{} × {}", number::count(n), text(reason, MAX_TEXT)))
            .collect();
        let _ = writeln!(
            out,
            "| {} | {count} | {share} | {}{reasons} |",
            text(&kind.ended.name(), MAX_NAME),
            text(&kind.in_words(), MAX_TEXT)
        );
    }
    more(out, summary.failures.len(), MAX_ROWS, "kinds of failures");
    out.push('\n');
}

fn streams(out: &mut String, summary: &Summary) {
    let rows: Vec<_> =
        summary.rows.iter().filter_map(|row| Some((row, row.streams.as_ref()?))).take(MAX_ROWS).collect();
    if rows.is_empty() {
        return;
    }
    out.push_str("### Messages of streams, and the time until the first one\n\n");
    let _ = writeln!(out, "| phase | endpoint | {} |", Streams::COLUMNS.join(" | "));
    let _ = writeln!(out, "| --- | --- |{}", " ---: |".repeat(Streams::COLUMNS.len()));
    for (row, streams) in rows {
        let (phase, label) = (text(&row.phase, MAX_NAME), text(&row.label, MAX_NAME));
        let _ = writeln!(out, "| {phase} | {label} | {} |", streams.in_words().join(" | "));
    }
    out.push('\n');
}

fn beside_k6(out: &mut String, summary: &Summary) {
    let Some(beside) = &summary.beside_k6 else { return };
    let _ = writeln!(out, "### {}\n", BesideK6::HEADING);
    let rows = beside.rows();
    if !rows.is_empty() {
        out.push_str(
            "| | n | p50 | p90 | p95 | p99 | max |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
        );
    }
    for (label, cells) in &rows {
        let _ = writeln!(out, "| {label} | {} |", cells.join(" | "));
    }
    for sentence in beside.sentences() {
        let _ = writeln!(out, "\n{}", text(&sentence, MAX_TEXT));
    }
    out.push('\n');
}

fn metrics(out: &mut String, summary: &Summary) {
    if summary.metrics.is_empty() {
        return;
    }
    out.push_str("### Metrics of the script\n\n| metric | kind | values | numbers |\n");
    out.push_str("| --- | --- | ---: | --- |\n");
    let rows =
        summary.metrics.iter().flat_map(|metric| metric.rows().into_iter().map(move |row| (metric, row)));
    let rows: Vec<_> = rows.collect();
    for (metric, (label, numbers)) in rows.iter().take(MAX_ROWS) {
        let label = text(label, MAX_NAME);
        let count = number::count(numbers.count);
        let _ = writeln!(out, "| {label} | {} | {count} | {} |", metric.kind, numbers.in_words());
    }
    more(out, rows.len(), MAX_ROWS, "metrics");
    out.push('\n');
}

fn foot(out: &mut String, summary: &Summary) {
    let cpu = summary.cpu.iter().map(|cpu| match cpu.per_1000_requests_s {
        Some(s) => {
            format!(
                "{} {} per 1,000 requests ({})",
                text(&cpu.target, MAX_NAME),
                number::cpu(s),
                cpu.part_of_run()
            )
        }
        None => format!("{} {}", text(&cpu.target, MAX_NAME), text(&cpu.note, MAX_TEXT)),
    });
    let _ = writeln!(out, "CPU: {}\n", cpu.take(MAX_ROWS).collect::<Vec<_>>().join("; "));
    for (name, users) in summary.virtual_users().take(MAX_ROWS) {
        let _ = writeln!(out, "{}: {}\n", text(name, MAX_NAME), users.in_words());
    }
    for profile in summary.profiles.iter().take(MAX_ROWS) {
        let _ = writeln!(out, "Profile: {}\n", text(&captured::one_line(profile), MAX_TEXT));
    }
    if let Some(spread) = spread_of_workers(&summary.workers) {
        let _ = writeln!(out, "Workers: {spread}\n");
    }
    let lag = &summary.generator.start_lag;
    let p99 = quantile_text(lag, 0.99, lag.p99_ms);
    let _ = writeln!(
        out,
        "Start lag p99 {p99}; workload `{}`; evidence `{}`",
        text(&summary.header.workload_digest, 2 * MAX_NAME),
        text(&summary.header.digest_in_words(), 2 * MAX_NAME)
    );
}

fn more(out: &mut String, all: usize, shown: usize, items: &str) {
    if all > shown {
        let _ = writeln!(out, "\n_{} more {items} are in the HTML report._", all - shown);
    }
}

/// Text of at most `max` characters without markup.
pub(crate) fn text(raw: &str, max: usize) -> String {
    let shown = visible(&raw.replace(['\n', '\r', '\t'], " "));
    let is_cut = shown.chars().count() > max;
    let mut out = String::new();
    for c in shown.chars().take(max) {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '~' | '#' | '!' => {
                out.push('\\');
                out.push(c);
            }
            // A mention would notify a user.
            '@' => out.push_str("&#64;"),
            c => out.push(c),
        }
    }
    if is_cut {
        out.push('…');
    }
    out
}
