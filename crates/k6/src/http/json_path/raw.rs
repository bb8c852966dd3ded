//! Parts of JSON texts, which are known to be JSON.

use std::borrow::Cow;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    Array,
    String,
    Number,
    True,
    False,
    Null,
    /// There is no value.
    Nothing,
}

impl Kind {
    pub(super) fn of(json: &str) -> Kind {
        match json.trim_start().as_bytes().first() {
            None => Kind::Nothing,
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't') => Kind::True,
            Some(b'f') => Kind::False,
            Some(b'n') => Kind::Null,
            Some(_) => Kind::Number,
        }
    }
}

/// How many bytes the value at the beginning of a text has; brackets are round, too, in paths.
pub(super) fn value_bytes(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = string_end(bytes, at),
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => {
                let is_end = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n');
                return at + bytes[at..].iter().position(is_end).unwrap_or(bytes.len() - at);
            }
            _ => {}
        }
        at += 1;
        if depth == 0 {
            break;
        }
    }
    at.min(bytes.len())
}

/// Where the string ends that begins here.
fn string_end(bytes: &[u8], begin: usize) -> usize {
    let mut at = begin + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at
}

/// The members of an object, with their names as JSON, or the elements of an array.
pub(super) fn members(json: &str) -> Members<'_> {
    let text = json.trim_start();
    let has_names = text.starts_with('{');
    Members { rest: text.strip_prefix(['{', '[']).unwrap_or(text), has_names }
}

/// The values that follow one another in a text.
pub(super) fn lines(json: &str) -> Members<'_> {
    Members { rest: json, has_names: false }
}

/// Values with their names, where they have names.
pub(super) struct Members<'j> {
    rest: &'j str,
    has_names: bool,
}

impl<'j> Members<'j> {
    fn next_value(&mut self) -> Option<&'j str> {
        let is_gap = |character: char| matches!(character, ' ' | '\t' | '\r' | '\n' | ',' | ':');
        self.rest = self.rest.trim_start_matches(is_gap);
        let (value, after) = self.rest.split_at_checked(value_bytes(self.rest))?;
        self.rest = after;
        (!value.is_empty() && !value.starts_with([']', '}'])).then_some(value)
    }
}

impl<'j> Iterator for Members<'j> {
    type Item = (&'j str, &'j str);

    fn next(&mut self) -> Option<(&'j str, &'j str)> {
        let name = if self.has_names { self.next_value()? } else { "" };
        Some((name, self.next_value()?))
    }
}

/// The text of a JSON string.
pub(super) fn unescaped(json: &str) -> Cow<'_, str> {
    let inner = json.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(json);
    if !inner.contains('\\') {
        return Cow::Borrowed(inner);
    }
    serde_json::from_str(json).map_or(Cow::Borrowed(inner), Cow::Owned)
}

/// What Go reads a text as.
fn as_boolean(text: &str) -> Option<bool> {
    match text.to_lowercase().as_str() {
        "1" | "t" | "true" => Some(true),
        "0" | "f" | "false" => Some(false),
        _ => None,
    }
}

/// Whether a value counts as true.
pub(super) fn is_true(json: &str) -> bool {
    match Kind::of(json) {
        Kind::True => true,
        Kind::String => as_boolean(&unescaped(json)) == Some(true),
        Kind::Number => json.trim().parse() != Ok(0.0),
        _ => false,
    }
}

/// Whether a value counts as false.
pub(super) fn is_false(json: &str) -> bool {
    match Kind::of(json) {
        Kind::Null | Kind::False => true,
        Kind::String => as_boolean(&unescaped(json)) == Some(false),
        Kind::Number => json.trim().parse() == Ok(0.0),
        _ => false,
    }
}

/// Whether a text is as a pattern says: `*` for any text, `?` for any character, `\` before one that is meant.
pub(super) fn is_like(text: &str, pattern: &str) -> bool {
    let (text, pattern): (Vec<char>, Vec<char>) = (text.chars().collect(), pattern.chars().collect());
    let (mut at, mut of) = (0, 0);
    // Where to go on after the last `*`, with one more character for it.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let is_escaped = pattern.get(of) == Some(&'\\');
        let wanted = pattern.get(of + usize::from(is_escaped));
        let is_next = match (wanted, text.get(at)) {
            (Some('*'), _) if !is_escaped => {
                retry = Some((at, of));
                of += 1;
                continue;
            }
            (None, None) => return true,
            (Some('?'), Some(_)) if !is_escaped => true,
            (Some(wanted), Some(found)) => wanted == found,
            _ => false,
        };
        if is_next {
            at += 1;
            of += 1 + usize::from(is_escaped);
            continue;
        }
        let Some((begin, star)) = retry.filter(|(begin, _)| *begin < text.len()) else { return false };
        retry = Some((begin + 1, star));
        (at, of) = (begin + 1, star + 1);
    }
}
