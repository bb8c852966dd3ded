//! Slots: the places of a recorded request with a value that may be another one next time. Each has the range of
//! the recorded text that it takes, so that all around it stays byte by byte.

use std::ops::Range;

use crate::text::Text;
use crate::url::{decoded, decoded_form};

mod json;
mod multipart;

pub(crate) use json::{JsonLeaf, LeafKind, leaves};

/// A place for a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot {
    /// In the recorded text.
    pub(crate) range: Range<usize>,
    /// The name of its field, parameter or header; of a segment of a path: the segment before it.
    pub(crate) name: String,
    /// Its value, decoded.
    pub(crate) value: String,
    pub(crate) kind: SlotKind,
}

/// What a slot is part of, which decides how a value is written into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlotKind {
    PathSegment,
    QueryParameter,
    FormField,
    /// Within the quotes of a JSON text.
    JsonText,
    JsonNumber,
    FormPart,
    Header,
}

impl SlotKind {
    /// The kind and the name of a slot, for people.
    pub(crate) fn describe(self, name: &str) -> String {
        match self {
            SlotKind::PathSegment => format!("the part of the path after `{name}`"),
            SlotKind::QueryParameter => format!("the query parameter `{name}`"),
            SlotKind::FormField | SlotKind::FormPart => format!("the form field `{name}`"),
            SlotKind::JsonText | SlotKind::JsonNumber => format!("the JSON field `{name}`"),
            SlotKind::Header => format!("the header `{name}`"),
        }
    }

    /// Whether a slot of this kind is percent-encoded.
    pub(crate) fn is_of_url(self) -> bool {
        matches!(self, SlotKind::PathSegment | SlotKind::QueryParameter | SlotKind::FormField)
    }

    /// `text` as it is written in a slot of this kind.
    pub(crate) fn written(self, text: &Text) -> Text {
        match self {
            kind if kind.is_of_url() => text.in_url(),
            SlotKind::JsonText => text.in_json(),
            _ => text.clone(),
        }
    }
}

/// `recorded` with these slots filled in.
pub(crate) fn fill(recorded: &str, filled: &[(Range<usize>, Text)]) -> Text {
    let mut out = Text::default();
    let mut at = 0;
    for (range, text) in filled {
        out.push_literal(&recorded[at..range.start]);
        out.push(text);
        at = range.end;
    }
    out.and(&recorded[at..])
}

/// The segments of a path and the parameters of its query.
pub(crate) fn of_path(path: &str) -> Vec<Slot> {
    let end = path.find('?').unwrap_or(path.len());
    let mut slots = Vec::new();
    let (mut start, mut before) = (0, String::new());
    for segment in path[..end].split('/') {
        let range = start..start + segment.len();
        start = range.end + 1;
        let value = decoded(segment);
        if !segment.is_empty() {
            let name = std::mem::replace(&mut before, value.clone());
            slots.push(Slot { range, name, value, kind: SlotKind::PathSegment });
        }
    }
    if end < path.len() {
        slots.extend(of_pairs(path, end + 1, SlotKind::QueryParameter));
    }
    slots
}

/// The fields of a form.
pub(crate) fn of_form(body: &str) -> Vec<Slot> {
    of_pairs(body, 0, SlotKind::FormField)
}

/// `a=1&b=2`, from `start` on.
fn of_pairs(text: &str, mut start: usize, kind: SlotKind) -> Vec<Slot> {
    let mut slots = Vec::new();
    for pair in text[start..].split('&') {
        if let Some((name, value)) = pair.split_once('=') {
            let range = start + name.len() + 1..start + pair.len();
            slots.push(Slot { range, name: decoded_form(name), value: decoded_form(value), kind });
        }
        start += pair.len() + 1;
    }
    slots
}

/// The texts and numbers of JSON; nothing where it is none.
pub(crate) fn of_json(body: &str) -> Vec<Slot> {
    let slot = |leaf: JsonLeaf| {
        let kind = match leaf.kind {
            LeafKind::Text => SlotKind::JsonText,
            LeafKind::Number => SlotKind::JsonNumber,
        };
        Slot { range: leaf.range, name: leaf.name, value: leaf.value, kind }
    };
    leaves(body).into_iter().map(slot).collect()
}

/// The fields of a form with parts; files are none.
pub(crate) fn of_parts(body: &str, content_type: &str) -> Vec<Slot> {
    multipart::fields(body, content_type)
}

/// The value of a header; of credentials what follows the scheme.
pub(crate) fn of_header(name: &str, value: &str) -> Slot {
    let start = match (name, value.split_once(' ')) {
        ("authorization" | "proxy-authorization", Some((scheme, _)))
            if scheme.bytes().all(|b| b.is_ascii_alphanumeric()) =>
        {
            scheme.len() + 1
        }
        _ => 0,
    };
    Slot {
        range: start..value.len(),
        name: name.to_owned(),
        value: value[start..].to_owned(),
        kind: SlotKind::Header,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, slots: &[Slot]) -> Vec<(String, String, String)> {
        let show = |slot: &Slot| (slot.name.clone(), text[slot.range.clone()].to_owned(), slot.value.clone());
        slots.iter().map(show).collect()
    }

    fn expected(all: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
        all.iter().map(|(a, b, c)| ((*a).to_owned(), (*b).to_owned(), (*c).to_owned())).collect()
    }

    #[test]
    fn slots_have_the_ranges_of_their_values() {
        let path = "/a/b%20c//d?x=1+2&y&z=";
        let slots = expected(&[
            ("", "a", "a"),
            ("a", "b%20c", "b c"),
            ("b c", "d", "d"),
            ("x", "1+2", "1 2"),
            ("z", "", ""),
        ]);
        assert_eq!(shown(path, &of_path(path)), slots);
        let json = r#"{ "a": [1.5, "x\"\u00e4", true, null, {"b": ""}], "c": -2 }"#;
        let slots =
            expected(&[("a", "1.5", "1.5"), ("a", "x\\\"\\u00e4", "x\"ä"), ("b", "", ""), ("c", "-2", "-2")]);
        assert_eq!(shown(json, &of_json(json)), slots);
        assert_eq!(of_json("{\"a\": 1"), []);
        let header = of_header("authorization", "Bearer abc");
        assert_eq!((header.range, header.value.as_str()), (7..10, "abc"));
    }

    #[test]
    fn what_is_around_a_slot_stays_as_it_was() {
        let body = "a=${x}&b=old&c=%7e";
        let slots = of_form(body);
        let filled = fill(body, &[(slots[1].range.clone(), SlotKind::FormField.written(&Text::env("B")))]);
        assert_eq!(filled.source(), "a=$${x}&b=${env.B | url}&c=%7e");
    }
}
