//! Manual pages of the topics of `plimsoll help`, from the Markdown of the documentation.

use roff::{Inline, Roff, bold, roman};

use crate::arguments::{MarkdownBlock, about, blocks};

/// The page of a topic. Tables become lists, whose terms are the first cells of the rows.
pub(super) fn topic_page(topic: &str, markdown: &str, source: &str, manual: &str) -> String {
    let mut page = Roff::new();
    let name = format!("plimsoll-{topic}");
    page.control("TH", [name.as_str(), "1", "", source, manual]);
    page.control("SH", ["NAME"]);
    page.text([roman(format!("{name} - {}", about(topic).unwrap_or("a page of the documentation")))]);
    blocks(markdown).iter().for_each(|block| add(&mut page, block));
    page.to_roff()
}

fn add(page: &mut Roff, block: &MarkdownBlock) {
    match block {
        // The title of the whole is the page's own heading.
        MarkdownBlock::Heading(1, _) => _ = page.control("SH", ["DESCRIPTION"]),
        MarkdownBlock::Heading(level, title) => {
            let name = title.replace('`', "");
            page.control(if *level == 2 { "SH" } else { "SS" }, [name.as_str()]);
        }
        MarkdownBlock::Paragraph(text) => {
            page.control("PP", []);
            page.text(inlines(text));
        }
        MarkdownBlock::Item(text) => {
            page.control("IP", ["\\(bu", "2"]);
            page.text(inlines(text));
        }
        MarkdownBlock::Code(lines) => {
            ["RS", "nf"].iter().for_each(|name| _ = page.control(*name, []));
            lines.iter().for_each(|line| _ = page.text([roman(line.as_str())]));
            ["fi", "RE"].iter().for_each(|name| _ = page.control(*name, []));
        }
        MarkdownBlock::Table(_, rows) => rows.iter().for_each(|row| add_row(page, row)),
    }
}

fn add_row(page: &mut Roff, row: &[String]) {
    let Some((term, rest)) = row.split_first() else { return };
    let rest: Vec<&str> = rest.iter().map(String::as_str).filter(|cell| !cell.is_empty()).collect();
    page.control("TP", []);
    page.text(inlines(term));
    page.text(inlines(&rest.join(" · ")));
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
