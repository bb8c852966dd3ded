//! A page in Markdown as text of a terminal's width.

use evidence::TerminalText;
use report::{Style, wrap};

use super::blocks::{MarkdownBlock, blocks};
use super::sections::without_links;

/// Where text below headings, the text of an item, and code begin.
const TEXT: &str = "  ";
const ITEM: &str = "  – ";
const UNDER_ITEM: &str = "    ";
const CODE: &str = "      ";
/// Lines are no wider, however wide the terminal is.
const WIDEST: usize = 100;

const STRONG: &str = "\x1b[1m";

/// The page in lines of at most `width` columns; only code may be wider.
pub(super) fn rendered(page: &str, style: Style, width: usize) -> TerminalText {
    let heading = if style == Style::Colour { STRONG } else { "" };
    let mut lines =
        Lines { text: TerminalText::default(), heading, width: width.min(WIDEST), is_item: false };
    blocks(page).iter().for_each(|block| lines.block(block));
    lines.text
}

struct Lines {
    text: TerminalText,
    /// The escape code of headings.
    heading: &'static str,
    width: usize,
    /// Whether the last block was an item, after which another one follows without an empty line.
    is_item: bool,
}

impl Lines {
    fn block(&mut self, block: &MarkdownBlock) {
        let is_item = matches!(block, MarkdownBlock::Item(_));
        if !(self.text.is_empty() || self.is_item && is_item) {
            self.text.line("");
        }
        self.is_item = is_item;
        match block {
            MarkdownBlock::Heading(level, title) => self.heading(*level, title),
            MarkdownBlock::Paragraph(text) => self.wrapped(TEXT, TEXT, text),
            MarkdownBlock::Item(text) => self.wrapped(ITEM, UNDER_ITEM, text),
            MarkdownBlock::Code(lines) => lines.iter().for_each(|line| {
                self.text.line(format_args!("{CODE}{line}"));
            }),
            MarkdownBlock::Table(heads, rows) => rows.iter().for_each(|row| self.row(heads, row)),
        }
    }

    fn heading(&mut self, level: usize, title: &str) {
        let title = plain(title);
        let title = if level < 3 { title.to_uppercase() } else { title };
        self.text.piece(self.heading, &title);
        self.text.end_line();
    }

    /// The first cell, and the others below it: a table rarely fits a terminal.
    fn row(&mut self, heads: &[String], row: &[String]) {
        let mut cells = row.iter().zip(heads);
        let Some((term, _)) = cells.next() else { return };
        self.wrapped(TEXT, UNDER_ITEM, term);
        for (at, (cell, head)) in cells.enumerate().filter(|(_, (cell, _))| !cell.is_empty()) {
            let text = if at == 0 || head.is_empty() { cell.clone() } else { format!("{head}: {cell}") };
            self.wrapped(CODE, CODE, &text);
        }
    }

    fn wrapped(&mut self, first: &str, rest: &str, text: &str) {
        let columns = self.width.saturating_sub(rest.chars().count());
        for (at, line) in wrap(&plain(text), columns).iter().enumerate() {
            self.text.line(format_args!("{}{line}", if at == 0 { first } else { rest }));
        }
    }
}

/// The text without the marks of links, code and stress.
fn plain(text: &str) -> String {
    without_links(text).replace("**", "").replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_as_wide_as_the_terminal() {
        let page = "# Plans\n\nSee [`this`](new.md) and **that**, which is a sentence that is longer than a line is.\n\n## Keys\n\n\
                    | key | what | default |\n| --- | --- | --: |\n| `rate` | requests a second, whatever the target does | `1/s` |\n\
                    | `url` | where | |\n\n- first\n- second\n\n```toml\nrate = \"300/s\"\n```\n";
        assert!(rendered(page, Style::Colour, 40).contains(STRONG));
        insta::assert_snapshot!(rendered(page, Style::Plain, 40).to_string(), @r#"
    PLANS

      See this and that, which is a sentence
      that is longer than a line is.

    KEYS

      rate
          requests a second, whatever the
          target does
          default: 1/s
      url
          where

      – first
      – second

          rate = "300/s"
    "#);
    }
}
