//! A page of text: headings, paragraphs and tables of a given width.

use evidence::TerminalText;
use unicode_width::UnicodeWidthStr;

use super::Style;
use super::line::{MIN_WIDTH, TextLine, Tone, rendered};
use crate::document::Table;
use crate::text::wrap;

/// What precedes a paragraph, and the column where the paragraph's text begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Label<'a> {
    pub(crate) text: &'a str,
    pub(crate) indent: usize,
}

impl<'a> Label<'a> {
    pub(crate) fn new(text: &'a str, indent: usize) -> Label<'a> {
        Label { text, indent }
    }

    /// No label, the text indented.
    pub(crate) fn indent(indent: usize) -> Label<'static> {
        Label { text: "", indent }
    }
}

/// The lines of a page.
#[derive(Debug)]
pub(crate) struct Page {
    width: usize,
    lines: Vec<TextLine>,
}

impl Page {
    /// An empty page; `width` is at least [`MIN_WIDTH`].
    pub(crate) fn new(width: usize) -> Page {
        Page { width: width.max(MIN_WIDTH), lines: Vec::new() }
    }

    /// Text behind a head where it fits there, and otherwise below it.
    pub(crate) fn headed(&mut self, mut head: TextLine, indent: usize, tone: Tone, text: &str) {
        let is_on_head = head.width() + text.width() <= self.width;
        head.add(tone, if is_on_head { text } else { "" });
        self.lines.push(head);
        if !is_on_head {
            self.paragraph(Label::indent(indent), tone, text);
        }
    }

    pub(crate) fn line(&mut self, pieces: &[(Tone, &str)]) {
        let mut line = TextLine::new();
        for (tone, text) in pieces {
            line.add(*tone, text);
        }
        self.lines.push(line);
    }

    pub(crate) fn gap(&mut self) {
        self.lines.push(TextLine::new());
    }

    /// A heading after an empty line, with a note behind it.
    pub(crate) fn heading(&mut self, text: &str, note: &str) {
        self.gap();
        self.line(&[(Tone::Strong, text), (Tone::Dim, note)]);
    }

    /// A paragraph with a secondary label.
    pub(crate) fn paragraph(&mut self, label: Label<'_>, tone: Tone, text: &str) {
        self.labelled(label, Tone::Dim, tone, text);
    }

    /// Text wrapped at the label's indent, the first line preceded by the label.
    pub(crate) fn labelled(&mut self, label: Label<'_>, label_tone: Tone, tone: Tone, text: &str) {
        for (i, part) in wrap(text, self.width.saturating_sub(label.indent)).iter().enumerate() {
            let mut line = TextLine::new();
            line.add(label_tone, if i == 0 { label.text } else { "" }).pad_to(label.indent).add(tone, part);
            self.lines.push(line);
        }
    }

    /// A table, laid out as `alike` are.
    pub(crate) fn table(&mut self, table: &Table, alike: &[&Table]) {
        self.lines.extend(super::table::lines(table, alike, self.width));
    }

    /// As text, one line each.
    pub(crate) fn render(&self, style: Style) -> TerminalText {
        rendered(&self.lines, style, self.width)
    }
}
