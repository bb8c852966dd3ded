//! Lines of toned text that know how many columns they take.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::Style;

/// No line is asked to be narrower than this.
pub(crate) const MIN_WIDTH: usize = 20;

/// What a piece of text means; colour is never the only sign of it.
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
    /// All is well.
    Good,
    /// Something is wrong.
    Bad,
    /// A doubt.
    Warn,
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
        }
    }
}

/// One line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Line {
    pieces: Vec<(Tone, String)>,
}

impl Line {
    /// An empty line.
    pub(crate) fn new() -> Line {
        Line::default()
    }

    /// Append text. Control characters become visible, so that no name can move the cursor.
    pub(crate) fn add(&mut self, tone: Tone, text: &str) -> &mut Line {
        self.pieces.push((tone, visible(text)));
        self
    }

    /// Append spaces up to column `column`.
    pub(crate) fn pad_to(&mut self, column: usize) -> &mut Line {
        let missing = column.saturating_sub(self.width());
        self.add(Tone::Normal, &" ".repeat(missing))
    }

    /// Columns taken.
    pub(crate) fn width(&self) -> usize {
        self.pieces.iter().map(|(_, text)| text.width()).sum()
    }

    /// As text, cut to `width` columns (at least [`MIN_WIDTH`]), without trailing spaces.
    pub(crate) fn render(&self, style: Style, width: usize) -> String {
        let width = width.max(MIN_WIDTH);
        let mut out = String::new();
        let mut left = width;
        let is_cut = self.width() > width;
        for (tone, text) in &self.pieces {
            let piece = if is_cut { head(text, left.saturating_sub(1)) } else { text.clone() };
            let is_short = piece.len() < text.len();
            left -= piece.width().min(left);
            put(&mut out, (style, *tone), &piece);
            if is_short {
                out.push('…');
                break;
            }
        }
        out.truncate(out.trim_end_matches(' ').len());
        out
    }
}

fn put(out: &mut String, (style, tone): (Style, Tone), text: &str) {
    if style == Style::Plain || tone == Tone::Normal || text.trim().is_empty() {
        out.push_str(text);
    } else {
        out.push_str(tone.code());
        out.push_str(text);
        out.push_str("\x1b[0m");
    }
}

/// Text without control characters, which a hostile name could steer a terminal with; what reverses the
/// direction of writing is one of them.
pub(crate) fn visible(text: &str) -> String {
    let is_steering = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    text.chars().map(|c| if is_steering(c) { '\u{fffd}' } else { c }).collect()
}

/// The longest beginning that takes at most `columns` columns.
fn head(text: &str, columns: usize) -> String {
    let mut taken = 0;
    let fits = |c: &char| {
        taken += c.width().unwrap_or(0);
        taken <= columns
    };
    text.chars().take_while(fits).collect()
}

/// Text cut to `columns` columns, an ellipsis in place of what is missing.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    let text = visible(text);
    if text.width() <= columns { text } else { head(&text, columns.saturating_sub(1)) + "…" }
}

/// Words put into lines of at most `columns` columns; a longer word is broken. A no-break space is one
/// inside a word, and comes out as a plain one.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_ascii_whitespace() {
        let mut word = visible(word).replace('\u{a0}', " ");
        if !line.is_empty() && line.width() + 1 + word.width() > columns {
            lines.push(std::mem::take(&mut line));
        }
        while word.width() > columns {
            let mut piece = head(&word, columns);
            if piece.is_empty() {
                piece = word.chars().take(1).collect();
            }
            word.drain(..piece.len());
            lines.push(piece);
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}
