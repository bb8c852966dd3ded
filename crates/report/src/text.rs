//! Text that is safe to show: no control characters, no markup, cut or wrapped to a number of columns.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Text without control characters and marks of writing direction, with which a hostile name could control a terminal.
pub(crate) fn visible(text: &str) -> String {
    let is_control = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    text.chars().map(|c| if is_control(c) { '\u{fffd}' } else { c }).collect()
}

/// Text that is safe in markup, inside and outside of quotes, without control characters.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// The longest beginning of a text that takes at most `columns` columns.
pub(crate) fn head(text: &str, columns: usize) -> String {
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= columns
    };
    text.chars().take_while(fits).collect()
}

/// Text cut to `columns` columns, with an ellipsis where it is cut.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    let text = visible(text);
    if text.width() <= columns { text } else { head(&text, columns.saturating_sub(1)) + "…" }
}

/// Text wrapped into lines of at most `columns` columns; a longer word is broken. A no-break space does not separate
/// words and becomes a plain space.
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
