//! A document as text for a terminal. Where a report is long, the verdict's word is in the first line and its sentence among
//! the last, with the results, where a reader of a terminal looks.

mod claims;
mod findings;
pub(crate) mod line;
mod page;
mod table;

use evidence::{TerminalText, Verdict};
use unicode_width::UnicodeWidthStr;

use super::{Block, Document, Facts, Forms, Mark, Paragraph, ParagraphKind, Section, Table, VerdictBlock};
use crate::text::fit;
use line::Tone;
use page::{Label, Page};

/// Where text without a label begins below a verdict.
const INDENT: usize = 3;
/// The column where the text of facts begins at least, and at most.
const FACTS: [usize; 2] = [11, 28];

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

/// The document as text, no line wider than `width` columns; `width` below 20 counts as 20.
pub fn terminal(document: &Document, style: Style, width: usize, detail: Detail) -> TerminalText {
    let mut page = Page::new(width);
    let sections = || {
        document.sections.iter().filter(|section| match section.forms {
            Forms::All | Forms::Text => true,
            Forms::InFull => detail == Detail::Full,
            Forms::Page => false,
        })
    };
    let show = |page: &mut Page, is_shown: &dyn Fn(&Section) -> bool| {
        sections().filter(|part| is_shown(part)).for_each(|part| section(page, part, detail));
    };
    match &document.subject {
        None => {
            head(&mut page, &document.verdict);
            facts_below(&mut page, document);
            show(&mut page, &|_| true);
        }
        Some(subject) => {
            let VerdictBlock { word, .. } = &document.verdict;
            page.labelled(Label::new(word, word.width() + 2), document.verdict.tone(), Tone::Dim, subject);
            document.facts.iter().filter(|fact| fact.kind == ParagraphKind::Notice).for_each(|notice| {
                page.paragraph(Label::indent(0), Tone::Warn, &notice.text);
            });
            show(&mut page, &|part| !part.is_result);
            sentence(&mut page, &document.verdict, detail);
            show(&mut page, &|part| part.is_result);
        }
    }
    left_out(&mut page, document, detail);
    page.render(style)
}

/// The headings of the sections that are not shown.
fn left_out(page: &mut Page, document: &Document, detail: Detail) {
    let left_out = document.sections.iter().filter(|section| section.forms == Forms::InFull);
    let headings: Vec<&str> = left_out.map(|section| &*section.heading).collect();
    if detail == Detail::Brief && !headings.is_empty() {
        page.gap();
        page.paragraph(Label::indent(0), Tone::Dim, &format!("-v shows also: {}", headings.join(", ")));
    }
}

impl VerdictBlock {
    fn tone(&self) -> Tone {
        self.verdict.map_or(Tone::Good, tone)
    }
}

fn head(page: &mut Page, verdict: &VerdictBlock) {
    let VerdictBlock { word, answer, because, .. } = verdict;
    let label = Label::new(word, word.width() + 2);
    page.labelled(label, verdict.tone(), Tone::Strong, answer.as_ref().unwrap_or(because));
    if answer.is_some() {
        page.paragraph(Label::indent(INDENT), Tone::Normal, because);
        page.gap();
    }
}

fn sentence(page: &mut Page, verdict: &VerdictBlock, detail: Detail) {
    let VerdictBlock { word, because, assumes, .. } = verdict;
    page.gap();
    page.labelled(Label::new(word, word.width() + 2), verdict.tone(), Tone::Strong, because);
    if because.trim().is_empty() {
        page.line(&[(verdict.tone(), word)]);
    }
    if let Some(assumes) = assumes.as_ref().filter(|_| detail == Detail::Full) {
        page.paragraph(Label::indent(word.width() + 2), Tone::Dim, assumes);
    }
}

fn facts_below(page: &mut Page, document: &Document) {
    let labels = document.facts.iter().map(|fact| fact.label.width());
    let indent = labels.max().filter(|widest| *widest > 0).map_or(INDENT, |widest| widest + 2);
    for fact in document.facts.iter().filter(|fact| fact.kind != ParagraphKind::Hint) {
        page.paragraph(Label::new(&fact.label, indent), fact.kind.tone(), &fact.text);
    }
}

fn section(page: &mut Page, section: &Section, detail: Detail) {
    let shown: Vec<&Block> = section.blocks.iter().filter(|block| is_shown(block, detail)).collect();
    let Some(first) = shown.first() else { return };
    // Captions that replace a heading bring their own empty line.
    let is_captioned = matches!(first, Block::Table(table) if !table.caption.is_empty());
    let note = match first {
        Block::Findings(_) if detail == Detail::Brief => "-v: in full, with why and what next",
        _ => &section.note,
    };
    match section.is_unheaded {
        true if is_captioned => {}
        true => page.gap(),
        false if note.is_empty() => page.heading(&section.heading, ""),
        false => page.heading(&section.heading, &format!("  {note}")),
    }
    for block in &shown {
        match block {
            Block::Paragraph(text) => paragraph(page, text, if section.is_unheaded { 0 } else { 2 }),
            Block::Facts(of) => facts(page, of, detail),
            Block::Table(of) => captioned(page, of, &alike(of, &shown), section.is_unheaded),
            Block::Claims(of) => claims::add(page, of),
            Block::Findings(of) => findings::add(page, of, detail),
            Block::Chart(_) | Block::Flame(_) | Block::Exchange(_) => {}
        }
    }
}

/// Whether a block is for a terminal, or for another text in this detail.
pub(super) fn is_shown(block: &Block, detail: Detail) -> bool {
    match block {
        Block::Paragraph(text) => match text.kind {
            ParagraphKind::Hint => false,
            ParagraphKind::Detail => detail == Detail::Full,
            _ => true,
        },
        Block::Facts(facts) => facts.groups.iter().any(|(_, facts)| !facts.is_empty()),
        Block::Table(table) => table.folded.is_none() && !table.rows.is_empty(),
        Block::Claims(claims) => !claims.claims.is_empty(),
        Block::Findings(findings) => !findings.cards.is_empty(),
        Block::Chart(_) | Block::Flame(_) | Block::Exchange(_) => false,
    }
}

fn paragraph(page: &mut Page, paragraph: &Paragraph, indent: usize) {
    match paragraph.kind {
        ParagraphKind::Item => page.paragraph(Label::new("–", 2), Tone::Normal, &in_words(paragraph)),
        ParagraphKind::Code => {
            paragraph.text.lines().for_each(|line| page.line(&[(Tone::Normal, line)]));
        }
        kind => page.paragraph(Label::indent(indent), kind.tone(), &in_words(paragraph)),
    }
}

pub(super) fn in_words(Paragraph { label, text, .. }: &Paragraph) -> String {
    if label.is_empty() { text.clone() } else { format!("{label}: {text}") }
}

fn facts(page: &mut Page, facts: &Facts, detail: Detail) {
    for (caption, facts) in &facts.groups {
        let is_shown = |fact: &&Paragraph| fact.kind != ParagraphKind::Detail || detail == Detail::Full;
        let facts: Vec<&Paragraph> = facts.iter().filter(is_shown).collect();
        if !caption.is_empty() {
            page.line(&[(Tone::Accent, caption)]);
        }
        let widest = facts.iter().map(|fact| fact.label.width() + 2).max().unwrap_or_default();
        let [least, most] = FACTS;
        let indent = widest.clamp(least, most);
        for fact in facts {
            let label_tone = if fact.kind == ParagraphKind::Failure { Tone::Bad } else { Tone::Dim };
            let label = fit(&fact.label, indent - 2);
            page.labelled(Label::new(&label, indent), label_tone, fact.kind.tone(), &fact.text);
        }
    }
}

/// The tables among `blocks` that have the columns of this one, itself included.
fn alike<'b>(table: &Table, blocks: &[&'b Block]) -> Vec<&'b Table> {
    let tables = blocks.iter().filter_map(|block| match block {
        Block::Table(other) => Some(other),
        _ => None,
    });
    tables.filter(|other| table::are_alike(table, other)).collect()
}

/// A table below its caption, which is a heading where the section has none.
fn captioned(page: &mut Page, of: &Table, alike: &[&Table], is_heading: bool) {
    let Table { caption, caption_note, .. } = of;
    let note = if caption_note.is_empty() { String::new() } else { format!("  {caption_note}") };
    match is_heading {
        _ if caption.is_empty() => {}
        true => page.heading(caption, &note),
        false => page.line(&[(Tone::Accent, caption), (Tone::Dim, &note)]),
    }
    page.table(of, alike);
}

impl ParagraphKind {
    fn tone(self) -> Tone {
        match self {
            ParagraphKind::Basis | ParagraphKind::Detail | ParagraphKind::Hint => Tone::Dim,
            ParagraphKind::Notice => Tone::Warn,
            ParagraphKind::Path => Tone::Accent,
            ParagraphKind::Plain | ParagraphKind::Failure | ParagraphKind::Item | ParagraphKind::Code => {
                Tone::Normal
            }
        }
    }
}

impl Mark {
    fn tone(self) -> Tone {
        match self {
            Mark::None => Tone::Normal,
            Mark::Verdict(verdict) => tone(verdict),
            Mark::Bad => Tone::Bad,
            Mark::Dim => Tone::Dim,
        }
    }
}

fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Pass => Tone::Good,
        Verdict::Fail => Tone::Bad,
        Verdict::Inconclusive | Verdict::Invalid => Tone::Warn,
        Verdict::Measured => Tone::Accent,
    }
}
