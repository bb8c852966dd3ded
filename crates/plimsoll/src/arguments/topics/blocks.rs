//! The blocks of a page in Markdown, as far as the documentation uses it.

/// A part of a page.
#[derive(Debug, PartialEq)]
pub(crate) enum MarkdownBlock {
    /// Its level, from 1, and its text.
    Heading(usize, String),
    Paragraph(String),
    Item(String),
    /// The lines of a block of code.
    Code(Vec<String>),
    /// The heads of a table, and its rows.
    Table(Vec<String>, Vec<Vec<String>>),
}

/// The blocks of a page, in order.
pub(crate) fn blocks(page: &str) -> Vec<MarkdownBlock> {
    let mut reader = Reader { blocks: Vec::new(), code: None, is_open: false };
    page.lines().for_each(|line| reader.take(line));
    reader.blocks
}

struct Reader {
    blocks: Vec<MarkdownBlock>,
    /// The lines so far of a block of code.
    code: Option<Vec<String>>,
    /// Whether the next line may go on with the last block.
    is_open: bool,
}

impl Reader {
    fn take(&mut self, line: &str) {
        let is_fence = line.trim_start().starts_with("```");
        match &mut self.code {
            Some(_) if is_fence => {
                let code = self.code.take().unwrap_or_default();
                self.add(MarkdownBlock::Code(code), false);
            }
            Some(code) => code.push(line.to_owned()),
            None if is_fence => self.code = Some(Vec::new()),
            None => self.take_text(line),
        }
    }

    fn take_text(&mut self, line: &str) {
        let text = line.trim();
        if text.is_empty() {
            self.is_open = false;
        } else if line.starts_with('|') {
            self.row(line);
        } else if line.starts_with('#') {
            let title = line.trim_start_matches('#');
            self.add(MarkdownBlock::Heading(line.len() - title.len(), title.trim().to_owned()), false);
        } else if let Some(item) = text.strip_prefix("- ").or_else(|| text.strip_prefix("* ")) {
            self.add(MarkdownBlock::Item(item.to_owned()), true);
        } else {
            match self.blocks.last_mut().filter(|_| self.is_open) {
                Some(MarkdownBlock::Paragraph(before) | MarkdownBlock::Item(before)) => {
                    before.push(' ');
                    before.push_str(text);
                }
                _ => self.add(MarkdownBlock::Paragraph(text.to_owned()), true),
            }
        }
    }

    /// A row of a table, whose first is its heads and whose second is a line.
    fn row(&mut self, line: &str) {
        let cells = cells(line);
        match self.blocks.last_mut().filter(|_| self.is_open) {
            Some(MarkdownBlock::Table(_, rows)) => {
                if !cells.iter().all(|cell| cell.trim_matches([':', '-']).is_empty()) {
                    rows.push(cells);
                }
            }
            _ => self.add(MarkdownBlock::Table(cells, Vec::new()), true),
        }
    }

    fn add(&mut self, block: MarkdownBlock, is_open: bool) {
        self.blocks.push(block);
        self.is_open = is_open;
    }
}

fn cells(line: &str) -> Vec<String> {
    let line = line.trim().trim_start_matches('|').replace("\\|", "\u{0}");
    let cells = line.trim_end_matches('|').split('|');
    cells.map(|cell| cell.trim().replace('\u{0}', "|")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_block_is_read() {
        let page = "# Plans\n\nSee [`this`](new.md)\nand that.\n\n| key | what |\n| --- | --: |\n| `a` | one \\| two |\n\n\
                    - first\n  more\n- second\n\n```toml\n# no heading\n\n```\nend";
        let text = |text: &str| text.to_owned();
        let expected = [
            MarkdownBlock::Heading(1, text("Plans")),
            MarkdownBlock::Paragraph(text("See [`this`](new.md) and that.")),
            MarkdownBlock::Table(vec![text("key"), text("what")], vec![vec![text("`a`"), text("one | two")]]),
            MarkdownBlock::Item(text("first more")),
            MarkdownBlock::Item(text("second")),
            MarkdownBlock::Code(vec![text("# no heading"), String::new()]),
            MarkdownBlock::Paragraph(text("end")),
        ];
        assert_eq!(blocks(page), expected);
    }
}
