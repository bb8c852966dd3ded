//! Sections of a page in Markdown.

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

/// The section with this title, or the one whose title begins so.
pub(super) fn titled<'a>(page: &'a str, title: &str) -> Option<&'a str> {
    let headings = headings(page);
    let wanted = title.to_lowercase();
    let is = |heading: &&Heading<'_>| heading.title.to_lowercase() == wanted;
    let begins = |heading: &&Heading<'_>| heading.title.to_lowercase().starts_with(&wanted);
    let found = headings.iter().find(is).or_else(|| headings.iter().find(begins))?;
    Some(of(page, &headings, found))
}

/// The sections with a table in which a row is about this key, without the sections below them.
pub(super) fn of_key(page: &str, key: &str) -> Option<String> {
    let headings = headings(page);
    let rows = page.match_indices(&format!("\n| `{key}`")).map(|(row, _)| row).collect::<Vec<_>>();
    let mut found: Vec<_> =
        rows.iter().filter_map(|row| headings.iter().rposition(|heading| heading.at <= *row)).collect();
    found.dedup();
    let end = |index: usize| headings.get(index + 1).map_or(page.len(), |next| next.at);
    let sections: Vec<_> = found.iter().map(|index| &page[headings[*index].at..end(*index)]).collect();
    (!sections.is_empty()).then(|| sections.concat())
}

/// The titles of the sections whose text has this word.
pub(super) fn with_word<'a>(page: &'a str, word: &str) -> Vec<&'a str> {
    let headings = headings(page);
    let of_word = |c: char| c.is_alphanumeric() || c == '_' || (c == '-' && word.contains('-'));
    let has_word = |heading: &&Heading<'a>| {
        let text = of(page, &headings, heading).to_lowercase();
        text.split(|c| !of_word(c)).any(|part| part == word.to_lowercase())
    };
    headings
        .iter()
        .filter(|heading| heading.level == 2)
        .filter(has_word)
        .map(|heading| heading.title)
        .collect()
}

/// The text of a section, with its heading and the sections below it.
fn of<'a>(page: &'a str, headings: &[Heading<'_>], found: &Heading<'_>) -> &'a str {
    let end = headings.iter().find(|heading| heading.at > found.at && heading.level <= found.level);
    &page[found.at..end.map_or(page.len(), |end| end.at)]
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
