//! Sections of a page in Markdown.

use workload::nearest::nearest;

/// A heading: its level, its title, and the byte at which its line begins.
struct Heading<'a> {
    level: usize,
    title: &'a str,
    at: usize,
}

/// The headings of a page, without lines of code that look like one.
fn headings(page: &str) -> Vec<Heading<'_>> {
    let (mut at, mut is_code, mut found) = (0, false, Vec::new());
    for line in page.split_inclusive('\n') {
        is_code ^= line.trim_start().starts_with("```");
        let level = line.len() - line.trim_start_matches('#').len();
        if level > 0 && !is_code {
            found.push(Heading { level, title: line[level..].trim(), at });
        }
        at += line.len();
    }
    found
}

/// The titles of the sections, but for that of the page.
pub(super) fn titles(page: &str) -> Vec<&str> {
    headings(page).into_iter().filter(|heading| heading.level == 2).map(|heading| heading.title).collect()
}

/// The section with this title, or the one whose title begins so or is similar.
pub(super) fn find<'a>(page: &'a str, title: &str) -> Option<&'a str> {
    let headings = headings(page);
    let wanted = title.to_lowercase();
    let is = |heading: &&Heading<'_>| heading.title.to_lowercase() == wanted;
    let begins = |heading: &&Heading<'_>| heading.title.to_lowercase().starts_with(&wanted);
    let similar = nearest(title, headings.iter().map(|heading| heading.title));
    let found = headings.iter().find(is).or_else(|| headings.iter().find(begins));
    let found = found.or_else(|| headings.iter().find(|heading| Some(heading.title) == similar))?;
    let end = headings.iter().find(|heading| heading.at > found.at && heading.level <= found.level);
    Some(&page[found.at..end.map_or(page.len(), |end| end.at)])
}

/// The section with a table in which a row is about this key.
pub(super) fn of_key<'a>(page: &'a str, key: &str) -> Option<&'a str> {
    let row = page.find(&format!("\n| `{key}`"))?;
    let headings = headings(page);
    let found = headings.iter().rev().find(|heading| heading.at <= row)?;
    let end = headings.iter().find(|heading| heading.at > found.at && heading.level <= found.level);
    Some(&page[found.at..end.map_or(page.len(), |end| end.at)])
}

/// A line with its links as their texts.
pub(super) fn without_links(line: &str) -> String {
    let (mut rest, mut shown) = (line, String::new());
    while let Some((before, text, after)) = first_link(rest) {
        shown += before;
        shown += text;
        rest = after;
    }
    shown + rest
}

/// What is before a link, its text, and what follows it.
fn first_link(line: &str) -> Option<(&str, &str, &str)> {
    let middle = line.find("](")?;
    let open = line[..middle].rfind('[')?;
    let close = middle + line[middle..].find(')')?;
    Some((&line[..open], &line[open + 1..middle], &line[close + 1..]))
}
