//! A document as Markdown for the summary of a CI job.

use std::fmt::Write;

use evidence::Verdict;

use super::terminal::{in_words, is_shown};
use super::{Block, Document, DocumentTable, Findings, Paragraph, ParagraphKind, Section, VerdictBlock};
use crate::markdown::{MAX_BYTES, MAX_NAME, MAX_TEXT, fitted, sign, text};

// Writing to a String cannot fail, so the results of `writeln!` are ignored in this file.

/// The document as Markdown.
pub fn markdown(document: &Document) -> String {
    let mut out = String::new();
    let VerdictBlock { verdict, word, answer, because, .. } = &document.verdict;
    let answer = answer.as_ref().map(|answer| format!(": {}", text(answer, MAX_TEXT))).unwrap_or_default();
    let sign = sign(verdict.unwrap_or(Verdict::Measured));
    let _ = writeln!(out, "## {sign} {word}{answer}\n\n{}\n", text(because, MAX_TEXT));
    for Paragraph { label, text: raw, .. } in facts(document) {
        let label = if label.is_empty() { String::new() } else { format!("**{}** ", text(label, MAX_NAME)) };
        let _ = writeln!(out, "- {label}{}", text(raw, MAX_TEXT));
    }
    document.sections.iter().for_each(|part| section(&mut out, part));
    fitted(out, MAX_BYTES)
}

fn facts(document: &Document) -> impl Iterator<Item = &Paragraph> {
    document.facts.iter().filter(|fact| fact.kind != ParagraphKind::Hint)
}

fn section(out: &mut String, section: &Section) {
    let shown: Vec<&Block> = section.blocks.iter().filter(|block| is_shown(block)).collect();
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
            Block::Table(of) => table(out, of),
            Block::Findings(of) => findings(out, of),
            Block::Chart(_) => {}
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

fn table(out: &mut String, table: &DocumentTable) {
    if !table.caption.is_empty() {
        let _ = writeln!(out, "\n**{}**", text(&table.caption, MAX_TEXT));
    }
    let heads = table.columns.iter().map(|column| text(&column.head, MAX_NAME));
    let heads: Vec<String> = std::iter::once(text(table.label, MAX_NAME)).chain(heads).collect();
    let _ = writeln!(out, "\n| {} |", heads.join(" | "));
    let _ = writeln!(out, "| --- |{}", " ---: |".repeat(table.columns.len()));
    for row in &table.rows {
        let cells = row.cells.iter().map(|cell| text(&cell.text, MAX_NAME));
        let cells: Vec<String> = std::iter::once(text(&row.label, MAX_NAME)).chain(cells).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
}

fn findings(out: &mut String, findings: &Findings) {
    for finding in &findings.findings {
        let (name, what) = (text(&finding.name, MAX_NAME), text(&finding.what, MAX_TEXT));
        let _ = writeln!(out, "\n**{} {name}**: {what} {}", finding.severity, text(&finding.next, MAX_TEXT));
    }
}
