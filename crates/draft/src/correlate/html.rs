//! The tags of HTML with their attributes, as far as it takes to find values in them.

use std::ops::Range;

/// A start tag.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    pub(super) name: &'a str,
    pub(super) attributes: Vec<Attribute<'a>>,
}

/// An attribute with a value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Attribute<'a> {
    pub(super) name: &'a str,
    /// As written, with character references.
    pub(super) value: &'a str,
    /// The quote around the value; none without one.
    pub(super) quote: Option<char>,
}

impl<'a> Tag<'a> {
    pub(super) fn attribute(&self, name: &str) -> Option<&Attribute<'a>> {
        self.attributes.iter().find(|attribute| attribute.name.eq_ignore_ascii_case(name))
    }

    /// Where an attribute is among the others.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.attributes.iter().position(|attribute| attribute.name.eq_ignore_ascii_case(name))
    }
}

/// All start tags of `text` in order.
pub(super) fn tags(text: &str) -> Vec<Tag<'_>> {
    let mut tags = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find('<') {
        at += found + 1;
        let rest = &text[at..];
        if !rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            continue;
        }
        let name = &rest[..rest.find(is_end_of_name).unwrap_or(rest.len())];
        let mut reader = Reader { text, at: at + name.len() };
        let attributes = reader.attributes();
        tags.push(Tag { name, attributes });
        at = reader.at.max(at);
    }
    tags
}

fn is_end_of_name(c: char) -> bool {
    c.is_whitespace() || matches!(c, '>' | '/' | '=')
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn attributes(&mut self) -> Vec<Attribute<'a>> {
        let mut attributes = Vec::new();
        loop {
            self.skip(|c| c.is_whitespace() || c == '/');
            let Some(next) = self.text[self.at..].chars().next() else { return attributes };
            if next == '>' || next == '<' {
                return attributes;
            }
            let name = self.take(is_end_of_name);
            if name.is_empty() {
                // A `=` without a name.
                self.at += next.len_utf8();
                continue;
            }
            self.skip(char::is_whitespace);
            if self.text[self.at..].starts_with('=') {
                self.at += 1;
                self.skip(char::is_whitespace);
                let (range, quote) = self.value();
                attributes.push(Attribute { name: &self.text[name], value: &self.text[range], quote });
            }
        }
    }

    fn value(&mut self) -> (Range<usize>, Option<char>) {
        let quote = self.text[self.at..].chars().next().filter(|c| matches!(c, '"' | '\''));
        match quote {
            Some(quote) => {
                self.at += 1;
                let range = self.take(|c| c == quote);
                self.at = (self.at + 1).min(self.text.len());
                (range, Some(quote))
            }
            None => (self.take(|c| c.is_whitespace() || c == '>'), None),
        }
    }

    fn take(&mut self, is_end: impl Fn(char) -> bool) -> Range<usize> {
        let start = self.at;
        let rest = &self.text[start..];
        self.at += rest.find(is_end).unwrap_or(rest.len());
        start..self.at
    }

    fn skip(&mut self, is_skipped: impl Fn(char) -> bool) {
        let rest = &self.text[self.at..];
        self.at += rest.find(|c| !is_skipped(c)).unwrap_or(rest.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_read_with_all_kinds_of_attributes() {
        let text = "<p>a < b<INPUT type=hidden name='t' value=\"x>y\" checked/><a href = /b?c=1&amp;d>\u{e4}</a><br =x><i a=";
        let shown = |attribute: &Attribute<'_>| {
            format!("{}={:?}{}", attribute.name, attribute.quote, attribute.value)
        };
        let found: Vec<(&str, Vec<String>)> =
            tags(text).iter().map(|tag| (tag.name, tag.attributes.iter().map(shown).collect())).collect();
        let all = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let expected = [
            ("p", all(&[])),
            ("INPUT", all(&["type=Nonehidden", "name=Some('\\'')t", "value=Some('\"')x>y"])),
            ("a", all(&["href=None/b?c=1&amp;d"])),
            ("br", all(&[])),
            ("i", all(&["a=None"])),
        ];
        assert_eq!(found, expected);
    }
}
