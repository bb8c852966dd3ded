//! Regular expressions that give a value of a recorded text again.

use regex::escape;

use super::html::{Attribute, Tag};

/// The value of an attribute of a tag, which another attribute names: `<input name="token" value="…">`.
pub(super) fn named_attribute(tag: &Tag<'_>, naming: &str, wanted: &str) -> Option<String> {
    let (name, value) = (tag.attribute(naming)?, tag.attribute(wanted)?);
    let named = format!(r"\b{}\s*=\s*{}", escape(name.name), quoted(name));
    let captured = captured_attribute(value);
    let tag_name = escape(tag.name);
    Some(match tag.position(naming)? < tag.position(wanted)? {
        true => format!("<{tag_name}[^>]*?{named}[^>]*?{captured}"),
        false => format!("<{tag_name}[^>]*?{captured}[^>]*?{named}"),
    })
}

/// The value of an attribute wherever it is first.
pub(super) fn attribute(attribute: &Attribute<'_>) -> String {
    captured_attribute(attribute)
}

fn captured_attribute(attribute: &Attribute<'_>) -> String {
    let name = escape(attribute.name);
    match attribute.quote {
        Some(quote) => format!(r"\b{name}\s*=\s*{quote}([^{quote}]*){quote}"),
        None => format!(r"\b{name}\s*=\s*([^\s>]*)"),
    }
}

fn quoted(attribute: &Attribute<'_>) -> String {
    let value = escape(attribute.value);
    attribute.quote.map_or(value.clone(), |quote| format!("{quote}{value}{quote}"))
}

/// What ends a part of a URL, in a header or in HTML.
const END_OF_PART: &str = r#"[^/?#&"'<>\s]+"#;

/// The segment of a path after `before`; of the first segment none is before it.
pub(super) fn segment(before: &str) -> String {
    match before {
        "" => format!("^(?:https?://[^/]+)?/({END_OF_PART})"),
        before => format!("/{}/({END_OF_PART})", escape(before)),
    }
}

/// A parameter of a query.
pub(super) fn parameter(name: &str) -> String {
    format!(r#"[?&;]{}=([^&#"'<>\s]+)"#, escape(name))
}

/// A cookie in `set-cookie`.
pub(super) fn cookie(name: &str) -> String {
    format!("^{}=([^;]*)", escape(name))
}

/// The most characters of a text that come before a value.
const MOST_CONTEXT: usize = 24;

/// A value within any text, by what is before it on its line; none if that says too little, or nothing ends the value.
pub(super) fn in_context(text: &str, start: usize, end: usize) -> Option<String> {
    let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let before = &text[line..start];
    let from = before.char_indices().rev().nth(MOST_CONTEXT - 1).map_or(0, |(at, _)| at);
    // Not from the middle of a word.
    let cut = before[..from].ends_with(char::is_alphanumeric);
    let before = before[from..].trim_start_matches(|c: char| cut && c.is_alphanumeric()).trim_start();
    let has_word = before.chars().filter(|c| c.is_alphabetic()).count() >= 2;
    let next = text[end..].chars().next()?;
    let ends = matches!(next, '"' | '\'' | '<' | '>' | '&' | ';' | ',' | ')' | '}' | ']' | '`' | '\\')
        || next.is_whitespace();
    if !has_word || !ends {
        return None;
    }
    let end = if next.is_whitespace() { r"\s".to_owned() } else { escape(&next.to_string()) };
    // Within brackets these have a meaning of their own.
    let end = if matches!(next, ']' | '\\') { format!("\\{next}") } else { end };
    Some(format!("{}([^{end}]+)", escape(before)))
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;
    use crate::correlate::html::tags;

    #[track_caller]
    fn found(pattern: &str, text: &str) -> String {
        Regex::new(pattern).unwrap().captures(text).unwrap()[1].to_owned()
    }

    #[test]
    fn patterns_find_other_values_at_the_same_place() {
        for (recorded, later) in [
            (
                "<input type=\"hidden\" name=\"t[x]\" value=\"abc\">",
                "<input class=a>\n<input type=\"hidden\" name=\"t[x]\" id=\"9\" value=\"d e\">",
            ),
            ("<input value='abc' name='t[x]'>", "<input value='d e' name='t[x]'>"),
        ] {
            let tag = &tags(recorded)[0];
            let pattern = named_attribute(tag, "name", "value").unwrap();
            assert_eq!(
                (found(&pattern, recorded), found(&pattern, later)),
                ("abc".to_owned(), "d e".to_owned())
            );
        }
        assert_eq!(found(&segment("orders"), "<a href=\"/orders/17/edit\">"), "17");
        assert_eq!(found(&segment(""), "http://h:1/17?x"), "17");
        assert_eq!(found(&parameter("code"), "/cb?a=1&amp;code=x%2Fy&b"), "x%2Fy");
        assert_eq!(found(&cookie("csrf"), "csrf=ab=; Path=/"), "ab=");
        let script = "<script>\n  var csrfToken = \"abc\";";
        let at = script.find("abc").unwrap();
        let pattern = in_context(script, at, at + 3).unwrap();
        assert_eq!(found(&pattern, "x\nvar csrfToken = \"d-e\";"), "d-e");
        assert_eq!(in_context("abc", 0, 3), None);
        let list = "[token:abc]";
        assert_eq!(found(&in_context(list, 7, 10).unwrap(), list), "abc");
    }
}
