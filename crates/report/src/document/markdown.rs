//! A document as Markdown for the summary of a CI job: at most [`MAX_BYTES`], with names escaped.

use std::fmt::Write;

use evidence::Verdict;

use super::terminal::{Detail, in_words, is_shown};
use super::{
    Block, Cell, ClaimBlock, Claims, Column, Document, Facts, Findings, Forms, Mark, Paragraph,
    ParagraphKind, Section, Table, VerdictBlock,
};
use crate::number;
use crate::text::visible;

/// The most bytes of a report.
pub const MAX_BYTES: usize = 64_000;

const MAX_CLAIMS: usize = 60;
/// The most places of a rule.
const MAX_PLACES: usize = 10;
const MAX_ROWS: usize = 120;
/// Columns of a higher rank are left out, unless they say otherwise.
const MAX_RANK: u8 = 6;
/// A longer name is cut, in characters.
const MAX_NAME: usize = 60;
/// A longer sentence is cut, in characters.
const MAX_TEXT: usize = 600;

// Writing to a String cannot fail, so the results of `writeln!` are ignored in this file.

pub fn markdown(document: &Document) -> String {
    let mut out = String::new();
    let VerdictBlock { verdict, word, answer, because, .. } = &document.verdict;
    let behind = document.subject.as_ref().or(answer.as_ref());
    let behind = behind.map(|behind| format!(": {}", text(behind, MAX_TEXT))).unwrap_or_default();
    let sign = sign(verdict.unwrap_or(Verdict::Measured));
    let _ = writeln!(out, "## {sign} {word}{behind}\n\n{}\n", text(because, MAX_TEXT));
    let facts = document.facts.iter();
    facts.filter(|fact| is_in_text(document, fact.kind)).for_each(|of| fact(&mut out, of));
    let sections = document.sections.iter().filter(|section| section.forms != Forms::Page);
    sections.for_each(|part| section(&mut out, part));
    fitted(out)
}

/// Where a report is long, the facts at its top are on a page alone, but for what restricts the result.
fn is_in_text(document: &Document, kind: ParagraphKind) -> bool {
    if document.subject.is_some() { kind == ParagraphKind::Notice } else { kind != ParagraphKind::Hint }
}

/// Cut after a whole line where it is too long.
fn fitted(mut out: String) -> String {
    if out.len() > MAX_BYTES {
        const CUT: &str = "\n\n_The rest did not fit; the HTML report has all of it._\n";
        out.truncate(out.floor_char_boundary(MAX_BYTES - CUT.len()));
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

fn section(out: &mut String, section: &Section) {
    let shown: Vec<&Block> = section.blocks.iter().filter(|block| is_shown(block, Detail::Full)).collect();
    if !shown.is_empty() && !section.is_unheaded {
        let note = if section.note.is_empty() {
            String::new()
        } else {
            format!(" ({})", text(&section.note, MAX_TEXT))
        };
        let _ = writeln!(out, "\n### {}{note}", text(&section.heading, MAX_TEXT));
    }
    for block in shown {
        match block {
            Block::Paragraph(of) => paragraph(out, of),
            Block::Facts(of) => facts(out, of),
            Block::Table(of) => table(out, of),
            Block::Claims(of) => claims(out, of),
            Block::Findings(of) => findings(out, of),
            Block::Chart(_) | Block::Flame(_) | Block::Exchange(_) => {}
        }
    }
}

fn paragraph(out: &mut String, paragraph: &Paragraph) {
    let _ = match paragraph.kind {
        // Indented and not fenced: a function's name could close a fence.
        ParagraphKind::Code => {
            let indented: String = paragraph.text.lines().map(|line| format!("    {line}\n")).collect();
            writeln!(out, "\n{indented}")
        }
        ParagraphKind::Item => writeln!(out, "\n- {}", text(&paragraph.text, MAX_TEXT)),
        _ => writeln!(out, "\n{}", text(&in_words(paragraph), MAX_TEXT)),
    };
}

fn fact(out: &mut String, Paragraph { label, text: raw, .. }: &Paragraph) {
    // A label that is indented is of a part of the fact above it.
    let nesting = if label.starts_with(char::is_whitespace) { "  " } else { "" };
    let label = label.split_whitespace().collect::<Vec<_>>().join(" ");
    let label = if label.is_empty() { String::new() } else { format!("**{}** ", text(&label, MAX_NAME)) };
    let _ = writeln!(out, "{nesting}- {label}{}", text(raw, MAX_TEXT));
}

fn facts(out: &mut String, facts: &Facts) {
    for (caption, facts) in &facts.groups {
        if !caption.is_empty() {
            let _ = writeln!(out, "\n**{}**", text(caption, MAX_TEXT));
        }
        out.push('\n');
        facts.iter().take(MAX_ROWS).for_each(|of| fact(out, of));
        more(out, facts.len(), MAX_ROWS, "lines");
    }
}

fn table(out: &mut String, table: &Table) {
    if !table.caption.is_empty() {
        let note = if table.caption_note.is_empty() {
            String::new()
        } else {
            format!(" {}", text(&table.caption_note, MAX_TEXT))
        };
        let _ = writeln!(out, "\n**{}**{note}", text(&table.caption, MAX_TEXT));
    }
    let is_shown = |column: &Column| column.rank <= MAX_RANK || column.is_in_markdown;
    let columns = || table.columns.iter().enumerate().filter(|(_, column)| is_shown(column));
    let heads = columns().map(|(_, column)| text(&column.head, MAX_NAME));
    let heads: Vec<String> = std::iter::once(text(table.label, MAX_NAME)).chain(heads).collect();
    let _ = writeln!(out, "\n| {} |", heads.join(" | "));
    let rules: String =
        columns().map(|(_, column)| if column.is_words { " --- |" } else { " ---: |" }).collect();
    let _ = writeln!(out, "| --- |{rules}");
    for row in table.rows.iter().take(MAX_ROWS) {
        let cells = columns().filter_map(|(at, _)| row.cells.get(at)).map(cell);
        let cells: Vec<String> = std::iter::once(text(&row.label, MAX_NAME)).chain(cells).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    more(out, table.rows.len(), MAX_ROWS, "rows");
}

fn cell(cell: &Cell) -> String {
    let shown = text(&cell.text, MAX_NAME);
    if cell.mark == Mark::Bad { format!("**{shown}**") } else { shown }
}

fn claims(out: &mut String, claims: &Claims) {
    out.push_str("\n| | claim | observed | limit | interval | n |\n");
    out.push_str("| --- | --- | ---: | ---: | ---: | ---: |\n");
    for claim in claims.claims.iter().take(MAX_CLAIMS) {
        let ClaimBlock {
            verdict, word, name, described, observed, bound, interval, samples, reasons, ..
        } = claim;
        let reasons: String =
            reasons.iter().map(|reason| format!("<br>{}", text(reason, MAX_TEXT))).collect();
        let interval = interval.as_deref().unwrap_or(number::NOT_MEASURED);
        let [observed, bound, interval] = [observed, bound, interval].map(|figure| text(figure, MAX_NAME));
        let (name, described) = (text(name, MAX_NAME), text(described, MAX_TEXT));
        let _ = writeln!(
            out,
            "| {} {word} | **{name}** {described}{reasons} | {observed} | {bound} | {interval} | {samples} |",
            sign(*verdict),
        );
    }
    more(out, claims.claims.len(), MAX_CLAIMS, "claims");
}

/// Each rule with a table of the places where it found something.
fn findings(out: &mut String, findings: &Findings) {
    for card in &findings.cards {
        let _ = writeln!(out, "\n**{} {}**", card.severity, text(&card.name(), MAX_NAME));
        match card.places.as_slice() {
            [place] if place.name.is_empty() => {
                let _ = writeln!(out, "\n{}", text(&place.what, MAX_TEXT));
            }
            places => {
                out.push_str("\n| where | what |\n| --- | --- |\n");
                for place in places.iter().take(MAX_PLACES) {
                    let (name, what) = (text(&place.name, MAX_TEXT), text(&place.what, MAX_TEXT));
                    let _ = writeln!(out, "| {name} | {what} |");
                }
                more(out, places.len(), MAX_PLACES, "places");
            }
        }
        let (why, next) = (text(&card.why, MAX_TEXT), text(&card.next, MAX_TEXT));
        let next = if next.is_empty() { String::new() } else { format!("_Next:_ {next}") };
        let _ = writeln!(out, "\n{}", [why, next].join(" ").trim());
    }
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
