//! Text that is safe to show: no control characters, no markup, cut or wrapped to a number of columns.

use askama::Template;
use evidence::visible_lines;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// [`evidence::visible`], owned.
pub(crate) fn visible(text: &str) -> String {
    evidence::visible(text).into_owned()
}

/// Text that is safe in markup, inside and outside of quotes, on one line of visible characters.
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

/// The page of a template, whose values are escaped as markup there. What is not visible in them is escaped here, once for
/// all; their line ends are blanks to a browser, or lines in a box.
pub(crate) fn page(template: &impl Template) -> String {
    let page = template.render().expect("writing a page to memory cannot fail");
    visible_lines(&page).into_owned()
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

/// Units that stay on the line of their number.
const UNITS: [&str; 12] = ["%", "ms", "µs", "s", "min", "GHz", "KiB", "MiB", "GiB", "cores", "CPU-s", "pp"];

/// The words of a text; a number and its unit are one.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_ascii_whitespace() {
        let is_unit = UNITS.contains(&word.trim_end_matches([')', ',', ';', ':', '.']));
        match words.last_mut().filter(|last| is_unit && last.ends_with(|c: char| c.is_ascii_digit())) {
            Some(number) => {
                number.push('\u{a0}');
                number.push_str(word);
            }
            None => words.push(word.to_owned()),
        }
    }
    words
}

/// Text wrapped into lines of at most `columns` columns; a longer word is broken. A no-break space does not separate
/// words and becomes a plain space.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in words(text) {
        let mut word = visible(&word).replace('\u{a0}', " ");
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
