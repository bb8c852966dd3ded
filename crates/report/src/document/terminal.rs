//! A document as text for a terminal.

use evidence::{ExperimentFinding, Severity, TerminalText, Verdict};
use unicode_width::UnicodeWidthStr;

use super::{Block, Document, DocumentCell, DocumentTable, Paragraph, ParagraphKind, Section, VerdictBlock};
use crate::terminal::Style;
use crate::terminal::line::Tone;
use crate::terminal::page::{Label, Page};
use crate::terminal::table::{Cell, Column, Table};

/// Where text without a label begins below a verdict.
const INDENT: usize = 3;

/// The document as text, no line wider than `width` columns; `width` below 20 counts as 20.
pub fn terminal(document: &Document, style: Style, width: usize) -> TerminalText {
    let mut page = Page::new(width);
    head(&mut page, &document.verdict);
    let labels = document.facts.iter().map(|fact| fact.label.width());
    let indent = labels.max().filter(|widest| *widest > 0).map_or(INDENT, |widest| widest + 2);
    for fact in document.facts.iter().filter(|fact| fact.kind != ParagraphKind::Hint) {
        let tone = if fact.kind == ParagraphKind::Basis { Tone::Dim } else { Tone::Normal };
        page.paragraph(Label::new(&fact.label, indent), tone, &fact.text);
    }
    document.sections.iter().for_each(|part| section(&mut page, part));
    page.render(style)
}

fn head(page: &mut Page, verdict: &VerdictBlock) {
    let VerdictBlock { verdict, word, answer, because, .. } = verdict;
    let label = Label::new(word, word.width() + 2);
    let tone = verdict.map_or(Tone::Good, tone);
    page.labelled(label, tone, Tone::Strong, answer.as_ref().unwrap_or(because));
    if answer.is_some() {
        page.paragraph(Label::indent(INDENT), Tone::Normal, because);
        page.gap();
    }
}

fn section(page: &mut Page, section: &Section) {
    let shown: Vec<&Block> = section.blocks.iter().filter(|block| is_shown(block)).collect();
    if shown.is_empty() {
        return;
    }
    if section.is_unheaded {
        page.gap();
    } else {
        let note = if section.note.is_empty() { String::new() } else { format!("  {}", section.note) };
        page.heading(&section.heading, &note);
    }
    for block in shown {
        match block {
            Block::Paragraph(text) => paragraph(page, text),
            Block::Table(of) => {
                if !of.caption.is_empty() {
                    page.line(&[(Tone::Accent, &of.caption)]);
                }
                page.table(&table(of));
            }
            Block::Findings(of) => of.findings.iter().for_each(|found| finding(page, found)),
            Block::Chart(_) => {}
        }
    }
}

/// Whether a block is for a terminal.
pub(super) fn is_shown(block: &Block) -> bool {
    match block {
        Block::Paragraph(text) => text.kind != ParagraphKind::Hint,
        Block::Table(table) => table.folded.is_none() && !table.rows.is_empty(),
        Block::Findings(findings) => !findings.findings.is_empty(),
        Block::Chart(_) => false,
    }
}

fn paragraph(page: &mut Page, paragraph: &Paragraph) {
    let tone = match paragraph.kind {
        ParagraphKind::Item => {
            return page.paragraph(Label::new("–", 2), Tone::Normal, &in_words(paragraph));
        }
        ParagraphKind::Code => {
            return paragraph.text.lines().for_each(|line| page.line(&[(Tone::Normal, line)]));
        }
        ParagraphKind::Plain => Tone::Normal,
        ParagraphKind::Basis | ParagraphKind::Hint => Tone::Dim,
        ParagraphKind::Notice => Tone::Warn,
    };
    page.paragraph(Label::indent(2), tone, &in_words(paragraph));
}

/// A paragraph with its label.
pub(super) fn in_words(Paragraph { label, text, .. }: &Paragraph) -> String {
    if label.is_empty() { text.clone() } else { format!("{label}: {text}") }
}

fn table(table: &DocumentTable) -> Table<'_> {
    let columns = table.columns.iter().map(|column| Column { head: &column.head, rank: column.rank });
    let cell = |DocumentCell { text, verdict }: &DocumentCell| Cell {
        text: text.clone(),
        tone: verdict.map_or(Tone::Normal, tone),
    };
    let rows = table.rows.iter().map(|row| (row.label.clone(), row.cells.iter().map(cell).collect()));
    Table { label: table.label, columns: columns.collect(), rows: rows.collect() }
}

fn finding(page: &mut Page, finding: &ExperimentFinding) {
    let tone = match finding.severity {
        Severity::Invalid | Severity::Fail => Tone::Bad,
        Severity::Inconclusive | Severity::Caution => Tone::Warn,
        Severity::Info => Tone::Dim,
    };
    let head = format!("  {} {}", finding.severity, finding.name);
    page.line(&[(tone, &head)]);
    page.paragraph(Label::indent(4), Tone::Normal, &finding.what);
    if !finding.next.is_empty() {
        page.paragraph(Label::new("    →", 6), Tone::Normal, &finding.next);
    }
}

fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Pass => Tone::Good,
        Verdict::Fail => Tone::Bad,
        Verdict::Inconclusive | Verdict::Invalid => Tone::Warn,
        Verdict::Measured => Tone::Strong,
    }
}
