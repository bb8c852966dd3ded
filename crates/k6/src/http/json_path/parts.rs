//! The parts of paths.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::modifiers::is_modifier;
use super::raw::{is_like, unescaped};

/// What a path says of an object.
pub(super) struct ObjectPart<'p> {
    name: Cow<'p, str>,
    is_pattern: bool,
    /// What is looked for in the value.
    pub(super) rest: Option<&'p str>,
    /// What is followed from what is found.
    pub(super) pipe: Option<&'p str>,
}

impl<'p> ObjectPart<'p> {
    pub(super) fn parse(path: &'p str) -> ObjectPart<'p> {
        let end = unescaped_position(path, |byte| matches!(byte, b'.' | b'|')).unwrap_or(path.len());
        let text = &path[..end];
        let name = if text.contains('\\') { Cow::Owned(without_escapes(text)) } else { Cow::Borrowed(text) };
        let is_pattern = unescaped_position(text, |byte| matches!(byte, b'*' | b'?')).is_some();
        let (rest, pipe) = rest_and_pipe(&path[end..]);
        ObjectPart { name, is_pattern, rest, pipe }
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        if self.is_pattern { is_like(name, &self.name) } else { name == self.name }
    }
}

/// What a path says of an array.
pub(super) enum ArrayPart<'p> {
    /// `1`; none where it is not a number.
    Index { index: Option<usize>, rest: Option<&'p str>, pipe: Option<&'p str> },
    /// `#`
    Count { pipe: Option<&'p str> },
    /// `#.path`
    Each { path: &'p str },
    /// `#(path op value)`, and with a `#` after it
    Query { query: Query<'p>, rest: Option<&'p str>, pipe: Option<&'p str> },
}

impl<'p> ArrayPart<'p> {
    pub(super) fn parse(path: &'p str) -> ArrayPart<'p> {
        if let Some(path) = path.strip_prefix("#.") {
            return ArrayPart::Each { path };
        }
        if path.starts_with("#(") || path.starts_with("#[") {
            // What does not end asks for any element that is neither an object nor an array, as in k6.
            let (query, after) = Query::parse(path).unwrap_or((Query::of_path(""), ""));
            let end = after.find(['.', '|']).unwrap_or(after.len());
            let query = Query { is_for_all: after.starts_with('#'), ..query };
            let after = &after[end..];
            let pipe = after.strip_prefix('|');
            return ArrayPart::Query { query, rest: after.strip_prefix('.'), pipe };
        }
        let end = path.find(['.', '|']).unwrap_or(path.len());
        let (part, after) = path.split_at(end);
        if part == "#" {
            return ArrayPart::Count { pipe: after.strip_prefix('|') };
        }
        let (rest, pipe) = rest_and_pipe(after);
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        ArrayPart::Index { index: part.parse().ok().filter(|_| is_number), rest, pipe }
    }

    /// What is looked for in elements, and what is followed from what is found.
    pub(super) fn after(&self) -> (Option<&'p str>, Option<&'p str>) {
        match self {
            ArrayPart::Index { rest, pipe, .. } | ArrayPart::Query { rest, pipe, .. } => (*rest, *pipe),
            ArrayPart::Count { pipe } => (None, *pipe),
            ArrayPart::Each { .. } => (None, None),
        }
    }
}

/// Which elements are looked for.
pub(super) struct Query<'p> {
    pub(super) path: &'p str,
    pub(super) comparison: Option<Comparison>,
    pub(super) value: Cow<'p, str>,
    pub(super) is_for_all: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Like,
    Unlike,
}

impl Comparison {
    /// Two signs come before one.
    const SIGNS: [(&'static str, Comparison); 9] = [
        ("!=", Comparison::Unequal),
        ("!%", Comparison::Unlike),
        ("<=", Comparison::LessOrEqual),
        (">=", Comparison::GreaterOrEqual),
        ("==", Comparison::Equal),
        ("<", Comparison::Less),
        (">", Comparison::Greater),
        ("=", Comparison::Equal),
        ("%", Comparison::Like),
    ];

    pub(super) fn holds(self, ordered: Ordering) -> bool {
        match self {
            Comparison::Equal => ordered.is_eq(),
            Comparison::Unequal => ordered.is_ne(),
            Comparison::Less => ordered.is_lt(),
            Comparison::LessOrEqual => ordered.is_le(),
            Comparison::Greater => ordered.is_gt(),
            Comparison::GreaterOrEqual => ordered.is_ge(),
            Comparison::Like | Comparison::Unlike => false,
        }
    }
}

impl<'p> Query<'p> {
    /// Elements that have this.
    fn of_path(path: &'p str) -> Query<'p> {
        Query { path, comparison: None, value: Cow::Borrowed(""), is_for_all: false }
    }

    /// The query at the beginning of a path, and the rest; none where it does not end.
    fn parse(path: &'p str) -> Option<(Query<'p>, &'p str)> {
        let inner = &path[2..];
        let end = closing(inner)?;
        let (inner, after) = (&inner[..end], &inner[end + 1..]);
        let is_operator = |byte| matches!(byte, b'!' | b'=' | b'<' | b'>' | b'%');
        let operator = with_depths(inner).find(|(_, byte, depth)| *depth == 0 && is_operator(*byte));
        let Some((at, ..)) = operator else {
            let query =
                Query { path: inner.trim(), comparison: None, value: Cow::Borrowed(""), is_for_all: false };
            return Some((query, after));
        };
        let (path, text) = inner.split_at(at);
        let found = Comparison::SIGNS
            .iter()
            .find_map(|(sign, comparison)| Some((text.strip_prefix(sign)?, *comparison)));
        let (value, comparison) = found?;
        let value = value.trim();
        let is_quoted = value.len() >= 2 && value.starts_with('"') && value.ends_with('"');
        let value = if is_quoted { unescaped(value) } else { Cow::Borrowed(value) };
        Some((Query { path: path.trim(), comparison: Some(comparison), value, is_for_all: false }, after))
    }
}

/// A path of several, and the name of what it selects.
pub(super) struct SubPath<'p> {
    name: Option<&'p str>,
    pub(super) path: &'p str,
}

impl SubPath<'_> {
    /// The name, as JSON: the last part of the path where none is given.
    pub(super) fn json_name(&self) -> String {
        let name = match self.name {
            Some(name) if name.starts_with('"') => return name.to_owned(),
            Some(name) => name,
            None => {
                let last = self.path.rfind(['.', '|']).map_or(self.path, |at| &self.path[at + 1..]);
                let is_simple = !last.contains(['[', ']', '{', '}', '(', ')', '#', '|', '!']);
                if is_simple { last } else { "_" }
            }
        };
        serde_json::Value::from(name).to_string()
    }
}

/// The paths of `[path,path]` or `{name:path}`, and what follows; none where they do not end.
pub(super) fn sub_paths(path: &str) -> Option<(Vec<SubPath<'_>>, &str)> {
    let (mut paths, mut depth, mut begin) = (Vec::new(), 0_usize, 1);
    let (mut colon, mut has_modifier) = (None, false);
    for (at, byte) in outside_strings(&path[1..]).map(|(at, byte)| (at + 1, byte)) {
        match byte {
            b'@' if matches!(path.as_bytes()[at - 1], b'.' | b'|') => has_modifier = true,
            b':' if depth == 0 && !has_modifier && colon.is_none() => colon = Some(at),
            b'[' | b'(' | b'{' => depth += 1,
            b']' | b')' | b'}' if depth > 0 => depth -= 1,
            b',' | b']' | b')' | b'}' if depth == 0 => {
                let colon: Option<usize> = colon.take();
                let name = colon.map(|colon| &path[begin..colon]).filter(|name| !name.is_empty());
                paths.push(SubPath { name, path: &path[colon.map_or(begin, |colon| colon + 1)..at] });
                (begin, has_modifier) = (at + 1, false);
                if byte != b',' {
                    return Some((paths, &path[at + 1..]));
                }
            }
            _ => {}
        }
    }
    None
}

/// The parts of a path before and behind its first `|`, which is not within a query.
pub(super) fn split_pipe(path: &str) -> Option<(&str, &str)> {
    let mut depth = 0_i32;
    let found = outside_strings(path).find(|(_, byte)| {
        depth += match byte {
            b'(' | b'[' | b'{' => 1,
            b')' | b']' | b'}' => -1,
            _ => 0,
        };
        depth <= 0 && *byte == b'|'
    });
    found.map(|(at, _)| (&path[..at], &path[at + 1..]))
}

/// What follows a part: a path, or what is followed from what is found: behind `|`, and what is not a name behind `.`.
fn rest_and_pipe(after: &str) -> (Option<&str>, Option<&str>) {
    if let Some(pipe) = after.strip_prefix('|') {
        return (None, Some(pipe));
    }
    match after.strip_prefix('.') {
        Some(rest) if rest.starts_with(['[', '{']) || is_modifier(rest) => (None, Some(rest)),
        rest => (rest, None),
    }
}

fn unescaped_position(text: &str, is_it: impl Fn(u8) -> bool) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let found = !is_escaped && is_it(byte);
        is_escaped = !is_escaped && byte == b'\\';
        found
    })
}

fn without_escapes(text: &str) -> String {
    let mut is_escaped = false;
    let kept = text.chars().filter(|character| {
        is_escaped = !is_escaped && *character == '\\';
        !is_escaped
    });
    kept.collect()
}

/// The bytes that are neither escaped nor within strings, with their places.
fn outside_strings(text: &str) -> impl Iterator<Item = (usize, u8)> {
    let (mut is_escaped, mut is_in_string) = (false, false);
    text.bytes().enumerate().filter(move |(_, byte)| {
        if is_escaped {
            is_escaped = false;
            return false;
        }
        is_escaped = *byte == b'\\';
        let is_quote = *byte == b'"';
        is_in_string ^= is_quote;
        !is_escaped && !is_in_string && !is_quote
    })
}

/// The bytes outside of strings, with their places and how many brackets are open after each.
fn with_depths(text: &str) -> impl Iterator<Item = (usize, u8, i32)> {
    outside_strings(text).scan(0, |depth, (at, byte)| {
        *depth += match byte {
            b'(' | b'[' => 1,
            b')' | b']' => -1,
            _ => 0,
        };
        Some((at, byte, *depth))
    })
}

/// Where the bracket is closed that was opened before a text.
fn closing(text: &str) -> Option<usize> {
    with_depths(text).find(|(.., depth)| *depth < 0).map(|(at, ..)| at)
}
