//! Lines of text with tones, and how many columns they take.

use evidence::TerminalText;
use unicode_width::UnicodeWidthStr;

use super::Style;
use crate::text::{head, visible};

/// The narrowest width that is supported.
pub(crate) const MIN_WIDTH: usize = 20;

/// The meaning of a piece of text; colour is never its only sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Plain.
    Normal,
    /// A heading or a number that matters.
    Strong,
    /// Secondary.
    Dim,
    /// A name.
    Accent,
    /// Success.
    Good,
    /// Failure.
    Bad,
    /// A caution.
    Warn,
    /// How much there is of something, from 0 for little to 3; its glyph says it as well.
    Heat(u8),
}

impl Tone {
    fn code(self) -> &'static str {
        match self {
            Tone::Normal => "",
            Tone::Strong => "\x1b[1m",
            Tone::Dim => "\x1b[2m",
            Tone::Accent => "\x1b[36m",
            Tone::Good => "\x1b[32m",
            Tone::Bad => "\x1b[31m",
            Tone::Warn => "\x1b[33m",
            Tone::Heat(0) => "\x1b[38;5;25m",
            Tone::Heat(1) => "\x1b[38;5;37m",
            Tone::Heat(2) => "\x1b[38;5;178m",
            Tone::Heat(_) => "\x1b[38;5;202m",
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct TextLine {
    pieces: Vec<(Tone, String)>,
}

impl TextLine {
    /// An empty line.
    pub(crate) fn new() -> TextLine {
        TextLine::default()
    }

    /// Append text. Control characters become visible, so that no name can move the cursor.
    pub(crate) fn add(&mut self, tone: Tone, text: &str) -> &mut TextLine {
        self.pieces.push((tone, visible(text)));
        self
    }

    /// Append spaces up to column `column`.
    pub(crate) fn pad_to(&mut self, column: usize) -> &mut TextLine {
        let missing = column.saturating_sub(self.width());
        self.add(Tone::Normal, &" ".repeat(missing))
    }

    /// Append text at the right end of so many columns.
    pub(crate) fn add_right(&mut self, tone: Tone, text: &str, columns: usize) -> &mut TextLine {
        let blanks = columns.saturating_sub(visible(text).width());
        self.add(Tone::Normal, &" ".repeat(blanks)).add(tone, text)
    }

    /// Append the pieces of another line.
    pub(crate) fn extend(&mut self, other: TextLine) -> &mut TextLine {
        self.pieces.extend(other.pieces);
        self
    }

    /// How many columns it takes.
    pub(crate) fn width(&self) -> usize {
        self.pieces.iter().map(|(_, text)| text.width()).sum()
    }

    /// Add it to `out`, cut to `width` columns (at least [`MIN_WIDTH`]), without trailing spaces.
    pub(crate) fn render(&self, style: Style, width: usize, out: &mut TerminalText) {
        let width = width.max(MIN_WIDTH);
        let mut free = width;
        let is_cut = self.width() > width;
        for (tone, text) in &self.pieces {
            let piece = if is_cut { head(text, free.saturating_sub(1)) } else { text.clone() };
            let is_short = piece.len() < text.len();
            free -= piece.width().min(free);
            let is_plain = style == Style::Plain || piece.trim().is_empty();
            out.piece(if is_plain { "" } else { tone.code() }, &piece);
            if is_short {
                out.piece("", "…");
                break;
            }
        }
        out.end_line();
    }
}

/// The lines, one below the other.
pub(crate) fn rendered<'l>(
    lines: impl IntoIterator<Item = &'l TextLine>,
    style: Style,
    width: usize,
) -> TerminalText {
    let mut text = TerminalText::default();
    lines.into_iter().for_each(|line| line.render(style, width, &mut text));
    text
}
