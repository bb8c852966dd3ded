//! Texts and values as TOML.

use std::fmt::Write as _;

use serde_json::Value;

/// The longest line of JSON that is written as an inline table, in characters.
const MAX_INLINE: usize = 100;

/// A text as a TOML string: a literal one where that saves escapes.
pub(crate) fn quoted(text: &str) -> String {
    let is_plain = |c: char| !c.is_control() && c != '\'';
    if text.contains(['"', '\\']) && text.chars().all(is_plain) {
        return format!("'{text}'");
    }
    basic(text)
}

/// A text as a TOML string, over several lines where it has some.
pub(crate) fn block(text: &str) -> String {
    let is_plain = |c: char| !c.is_control() || c == '\n' || c == '\t';
    if text.contains('\n') && text.chars().all(is_plain) && !text.contains("'''") && !text.ends_with('\'') {
        // A line break directly after the opening quotes is not part of the text.
        return format!("'''\n{text}'''");
    }
    quoted(text)
}

fn basic(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A key: bare where it can be.
pub(crate) fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(is_bare) { name.to_owned() } else { basic(name) }
}

/// A table of texts on one line.
pub(crate) fn inline_texts(entries: &[(String, String)]) -> String {
    let entries: Vec<String> =
        entries.iter().map(|(name, text)| format!("{} = {}", key(name), quoted(text))).collect();
    format!("{{ {} }}", entries.join(", "))
}

/// Whether a value is short enough for the line of its key.
pub(crate) fn is_short(value: &str) -> bool {
    value.chars().count() <= MAX_INLINE
}

/// JSON as a TOML value on one line; none where TOML has no such value: null, and numbers of more than 63 bits.
pub(crate) fn toml_value(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) if number.is_i64() => number.to_string(),
        // TOML's whole numbers have 64 bits with a sign.
        Value::Number(number) if number.is_u64() => return None,
        Value::Number(number) => format!("{:?}", number.as_f64()?),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(toml_value).collect::<Option<_>>()?;
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) if fields.is_empty() => "{}".to_owned(),
        Value::Object(fields) => {
            let field =
                |(name, value): (&String, &Value)| Some(format!("{} = {}", key(name), toml_value(value)?));
            let fields: Vec<String> = fields.iter().map(field).collect::<Option<_>>()?;
            format!("{{ {} }}", fields.join(", "))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted_so_that_they_are_read_back() {
        assert_eq!(quoted("plain"), "\"plain\"");
        assert_eq!(quoted("{\"a\": 1}"), "'{\"a\": 1}'");
        assert_eq!(quoted("it's \"x\"\u{1b}"), "\"it's \\\"x\\\"\\u001B\"");
        assert_eq!(block("a\nb"), "'''\na\nb'''");
        assert_eq!(block("a\r\n"), "\"a\\r\\n\"");
        assert_eq!(key("x-id"), "x-id");
        assert_eq!(key("a b"), "\"a b\"");
    }

    #[test]
    fn json_without_a_toml_form_is_no_inline_table() {
        let value = serde_json::json!({"a": [1, "x", {}, 1.5, 1e300]});
        assert_eq!(toml_value(&value), Some("{ a = [1, \"x\", {}, 1.5, 1e300] }".to_owned()));
        for other in [serde_json::json!({"a": null}), serde_json::json!(u64::MAX)] {
            assert_eq!(toml_value(&other), None);
        }
    }
}
