//! The texts and numbers of JSON, each with its place in the text and its path.

use std::ops::Range;

/// A text or a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JsonLeaf {
    /// Of a text without its quotes.
    pub(crate) range: Range<usize>,
    /// The nearest key above it; empty if there is none.
    pub(crate) name: String,
    /// RFC 9535.
    pub(crate) path: String,
    pub(crate) value: String,
    pub(crate) kind: LeafKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeafKind {
    Text,
    Number,
}

/// The deepest nesting that is looked into.
const MAX_DEPTH: usize = 64;

/// All leaves of `text` in order; nothing where it is not JSON.
pub(crate) fn leaves(text: &str) -> Vec<JsonLeaf> {
    // What serde has accepted needs no checks here.
    if serde_json::from_str::<serde::de::IgnoredAny>(text).is_err() {
        return Vec::new();
    }
    let mut scanner = Scanner { text, at: 0, levels: Vec::new(), leaves: Vec::new() };
    scanner.scan();
    scanner.leaves
}

/// An object or a list that is open.
struct Level {
    /// The key of the entry that comes; of a list none.
    key: Option<String>,
    is_object: bool,
    index: usize,
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    levels: Vec<Level>,
    leaves: Vec<JsonLeaf>,
}

impl Scanner<'_> {
    fn scan(&mut self) {
        while let Some(byte) = self.text.as_bytes().get(self.at).copied() {
            match byte {
                b'{' | b'[' => {
                    self.levels.push(Level { key: None, is_object: byte == b'{', index: 0 });
                    self.at += 1;
                }
                b'}' | b']' => {
                    self.levels.pop();
                    self.at += 1;
                }
                b',' => {
                    if let Some(level) = self.levels.last_mut() {
                        level.index += 1;
                        level.key = None;
                    }
                    self.at += 1;
                }
                b'"' => self.text_or_key(),
                b'-' | b'0'..=b'9' => self.number(),
                _ => self.at += 1,
            }
        }
    }

    fn text_or_key(&mut self) {
        let start = self.at + 1;
        let mut end = start;
        let bytes = self.text.as_bytes();
        while bytes.get(end).is_some_and(|byte| *byte != b'"') {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        let end = end.min(bytes.len());
        self.at = end + 1;
        let quoted = self.text.get(start - 1..end + 1).unwrap_or("\"\"");
        let value: String = serde_json::from_str(quoted).unwrap_or_default();
        match self.levels.last_mut() {
            Some(level) if level.is_object && level.key.is_none() => level.key = Some(value),
            _ => self.add(start..end, value, LeafKind::Text),
        }
    }

    fn number(&mut self) {
        let rest = &self.text[self.at..];
        let is_part = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let range = self.at..self.at + length;
        self.at = range.end;
        self.add(range.clone(), self.text[range].to_owned(), LeafKind::Number);
    }

    fn add(&mut self, range: Range<usize>, value: String, kind: LeafKind) {
        if self.levels.len() > MAX_DEPTH {
            return;
        }
        let name = self.levels.iter().rev().find_map(|level| level.key.clone()).unwrap_or_default();
        let path = self.path();
        self.leaves.push(JsonLeaf { range, name, path, value, kind });
    }

    fn path(&self) -> String {
        let mut path = "$".to_owned();
        for level in &self.levels {
            match &level.key {
                Some(key) if is_short_name(key) => path.push_str(&format!(".{key}")),
                Some(key) => path.push_str(&format!("[\"{}\"]", crate::text::json_escaped(key))),
                None => path.push_str(&format!("[{}]", level.index)),
            }
        }
        path
    }
}

/// Whether a key can follow a dot.
fn is_short_name(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_their_leaves() {
        let text = r#"[{"a": {"b c": [7, "x"], "d": "y'"}}, "z"]"#;
        let found: Vec<(String, String)> =
            leaves(text).into_iter().map(|leaf| (leaf.path, leaf.value)).collect();
        let expected =
            [("$[0].a[\"b c\"][0]", "7"), ("$[0].a[\"b c\"][1]", "x"), ("$[0].a.d", "y'"), ("$[1]", "z")];
        assert_eq!(found, expected.map(|(path, value)| (path.to_owned(), value.to_owned())));
        assert_eq!(leaves("\"alone\"")[0].path, "$");
    }
}
