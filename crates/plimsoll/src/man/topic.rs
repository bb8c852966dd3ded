//! Manual pages of the topics of `plimsoll help`, from the Markdown of the documentation.

use roff::{Inline, Roff, bold, roman};

/// The page of a topic. Tables become lists, whose terms are the first cells of the rows.
pub(super) fn topic_page(topic: &str, markdown: &str, source: &str, manual: &str) -> String {
    let mut page = Roff::new();
    let name = format!("plimsoll-{topic}");
    page.control("TH", [name.as_str(), "1", "", source, manual]);
    page.control("SH", ["NAME"]);
    page.text([roman(format!("{name} - {topic}s of Plimsoll"))]);
    let mut blocks = Blocks { page, paragraph: String::new(), is_code: false, is_table: false };
    markdown.lines().for_each(|line| blocks.take(line));
    blocks.end_paragraph();
    blocks.page.to_roff()
}

/// A page that is being made, line by line.
struct Blocks {
    page: Roff,
    /// The lines so far of the paragraph, item or row.
    paragraph: String,
    is_code: bool,
    /// Whether the head of a table has been left behind.
    is_table: bool,
}

impl Blocks {
    fn take(&mut self, line: &str) {
        if line.trim_start().starts_with("```") {
            self.end_paragraph();
            let macros = if self.is_code { ["fi", "RE"] } else { ["RS", "nf"] };
            macros.iter().for_each(|name| _ = self.page.control(*name, []));
            self.is_code = !self.is_code;
        } else if self.is_code {
            self.page.text([roman(line)]);
        } else if line.starts_with('|') {
            self.row(line);
        } else if let Some(heading) = line.strip_prefix('#') {
            self.heading(heading);
        } else if let Some(item) = line.trim_start().strip_prefix("- ") {
            self.end_paragraph();
            self.page.control("IP", ["\\(bu", "2"]);
            self.paragraph = item.to_owned();
        } else if line.trim().is_empty() {
            self.end_paragraph();
            self.is_table = false;
            self.page.control("PP", []);
        } else {
            self.paragraph = format!("{} {}", self.paragraph, line.trim()).trim_start().to_owned();
        }
    }

    /// The title of the whole is the page's own heading.
    fn heading(&mut self, heading: &str) {
        self.end_paragraph();
        let name = heading.trim_start_matches('#').trim().replace('`', "");
        match heading.len() - heading.trim_start_matches('#').len() {
            0 => self.page.control("SH", ["DESCRIPTION"]),
            1 => self.page.control("SH", [name.as_str()]),
            _ => self.page.control("SS", [name.as_str()]),
        };
    }

    /// A row below a table's head and its line.
    fn row(&mut self, line: &str) {
        if line.starts_with("| ---") || line.starts_with("| --:") {
            self.is_table = true;
        } else if self.is_table {
            let cells = line.trim_matches('|').replace("\\|", "\u{0}");
            let mut cells = cells.split('|').map(|cell| cell.trim().replace('\u{0}', "|"));
            let term = cells.next().unwrap_or_default();
            let rest = cells.filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join(" · ");
            self.page.control("TP", []);
            self.page.text(inlines(&term));
            self.page.text(inlines(&rest));
        }
    }

    fn end_paragraph(&mut self) {
        if !self.paragraph.is_empty() {
            self.page.text(inlines(&std::mem::take(&mut self.paragraph)));
        }
    }
}

/// A text with its code in bold, and links as their text.
fn inlines(text: &str) -> Vec<Inline> {
    let parts = text.split('`').enumerate();
    parts.map(|(at, part)| if at % 2 == 1 { bold(part) } else { roman(without_links(part)) }).collect()
}

fn without_links(text: &str) -> String {
    let text = text.replace("**", "");
    let mut parts = text.split("](");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        shown += part.split_once(')').map_or(part, |(_, rest)| rest);
    }
    shown.replace('[', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_tables_lists_and_code_have_their_macros() {
        let page = topic_page(
            "plan",
            "# Plans\n\nSee [`this`](new.md)\nand **that**.\n\n## Keys\n\n| key | what |\n| --- | --- |\n| `a` | one \\| two |\n\n\
             - first\n\n```toml\n.x = 1\n```\n",
            "plimsoll 1",
            "Manual",
        );
        insta::assert_snapshot!(page);
    }
}
