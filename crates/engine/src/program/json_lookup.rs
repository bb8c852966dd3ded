//! JSON paths (RFC 9535), evaluated without parsing the whole document where that is possible.
//!
//! Most checks name one node (`$.challenges[0].challengeId`). Such a singular query is followed through the text:
//! other nodes are skipped and the text after the node is not read, so that a check on the head of a long list
//! costs next to nothing. Every other path is evaluated on the parsed document.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json_path::{JsonPath, ParseError};

use super::bounded_json::{BoundedValue, DOCUMENT_BYTES};

/// A path, with its singular form if it has one.
#[derive(Debug)]
pub(crate) struct JsonLookup {
    path: JsonPath,
    singular: Option<Vec<PathStep>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PathStep {
    Name(String),
    Index(usize),
}

/// The nodes that a path selects.
#[derive(Debug, PartialEq)]
pub(crate) enum SelectedNodes {
    None,
    One(Value),
    Many(usize),
}

impl JsonLookup {
    pub(crate) fn parse(path: &str) -> Result<JsonLookup, ParseError> {
        Ok(JsonLookup { path: JsonPath::parse(path)?, singular: singular(path) })
    }

    /// Whether it is followed through the text; otherwise it needs the parsed document.
    pub(crate) fn is_singular(&self) -> bool {
        self.singular.is_some()
    }

    /// The nodes that it selects in `text`; for singular paths only.
    pub(crate) fn follow(&self, text: &[u8]) -> Result<SelectedNodes, String> {
        let steps = self.singular.as_deref().unwrap_or_default();
        let mut found = None;
        let mut json = serde_json::Deserializer::from_slice(text);
        match (PathFollower { steps, found: &mut found }).deserialize(&mut json) {
            // Finding the node ends the reading with an error, which is none.
            Ok(()) => Ok(found.map_or(SelectedNodes::None, SelectedNodes::One)),
            Err(_) if found.is_some() => Ok(found.map_or(SelectedNodes::None, SelectedNodes::One)),
            Err(error) => Err(error.to_string()),
        }
    }

    /// The nodes that it selects in a parsed document.
    pub(crate) fn select(&self, document: &Value) -> SelectedNodes {
        match self.path.query(document).all()[..] {
            [] => SelectedNodes::None,
            [one] => SelectedNodes::One(one.clone()),
            ref many => SelectedNodes::Many(many.len()),
        }
    }

    /// The first node that it selects in a parsed document.
    pub(crate) fn first<'d>(&self, document: &'d Value) -> Option<&'d Value> {
        self.path.query(document).first()
    }
}

impl fmt::Display for JsonLookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.fmt(f)
    }
}

/// The steps of a singular query written with `.name`, `['name']` and `[index]`; none for any other query, such as
/// one with escapes or blanks.
fn singular(path: &str) -> Option<Vec<PathStep>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let (step, after) = if let Some(tail) = rest.strip_prefix('.') {
            let end = tail.find(['.', '[']).unwrap_or(tail.len());
            let (name, after) = tail.split_at(end);
            let is_plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
            (PathStep::Name(is_plain.then(|| name.to_owned())?), after)
        } else {
            let (inside, after) = rest.strip_prefix('[')?.split_once(']')?;
            let quoted = ['\'', '"'].iter().find_map(|q| inside.strip_prefix(*q)?.strip_suffix(*q));
            match quoted {
                Some(name) if !name.contains(['\\', '\'', '"', '[']) => {
                    (PathStep::Name(name.to_owned()), after)
                }
                Some(_) => return None,
                None => (PathStep::Index(inside.parse().ok()?), after),
            }
        };
        steps.push(step);
        rest = after;
    }
    Some(steps)
}

/// Follows the remaining steps through a value; puts the node into `found` and then ends the reading.
struct PathFollower<'a> {
    steps: &'a [PathStep],
    found: &'a mut Option<Value>,
}

impl<'de> DeserializeSeed<'de> for PathFollower<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.steps.is_empty() {
            let node = BoundedValue { left: &mut { DOCUMENT_BYTES } };
            *self.found = Some(node.deserialize(deserializer)?);
            return Err(D::Error::custom("found"));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for PathFollower<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let PathStep::Name(expected) = &self.steps[0] else { return skip_map(map) };
        while let Some(name) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            if name == expected.as_str() {
                map.next_value_seed(PathFollower { steps: &self.steps[1..], found: self.found })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        if let PathStep::Index(index) = self.steps[0] {
            for _ in 0..index {
                if seq.next_element::<IgnoredAny>()?.is_none() {
                    return Ok(());
                }
            }
            seq.next_element_seed(PathFollower { steps: &self.steps[1..], found: self.found })?;
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

fn skip_map<'de, A: MapAccess<'de>>(mut map: A) -> Result<(), A::Error> {
    while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn followed(path: &str, text: &str) -> Result<SelectedNodes, String> {
        let lookup = JsonLookup::parse(path).unwrap();
        assert!(lookup.is_singular(), "{path}");
        lookup.follow(text.as_bytes())
    }

    #[test]
    fn a_singular_path_selects_its_node_only() {
        let text = r#"{"a": {"b": [1, {"c": "x"}]}, "c": "y", "n": null}"#;
        let one = |value: &str| Ok(SelectedNodes::One(serde_json::from_str(value).unwrap()));
        assert_eq!(followed("$.a.b[1].c", text), one(r#""x""#));
        assert_eq!(followed("$['a']['b'][0]", text), one("1"));
        assert_eq!(followed("$.n", text), one("null"));
        assert_eq!(followed("$.a.c", text), Ok(SelectedNodes::None));
        assert_eq!(followed("$.a.b[7]", text), Ok(SelectedNodes::None));
        assert_eq!(followed("$.c[0]", text), Ok(SelectedNodes::None));
        assert_eq!(followed("$.a[0]", text), Ok(SelectedNodes::None));
    }

    #[test]
    fn text_before_the_node_must_be_json_and_text_after_it_is_not_read() {
        assert_eq!(followed("$.a", r#"{"a": 1, "#), Ok(SelectedNodes::One(1.into())));
        assert!(followed("$.b", r#"{"a": 1, "#).is_err());
        assert!(followed("$.a", "no json").is_err());
    }

    #[test]
    fn paths_with_several_nodes_are_not_singular() {
        for path in ["$..a", "$.a[*]", "$.a[-1]", "$.a[0:2]", "$.a[?@.b]", "$['a','b']", r"$['\u0061']"] {
            assert!(!JsonLookup::parse(path).unwrap().is_singular(), "{path}");
        }
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i32>().prop_map(Value::from),
            "[a-c\"é]{0,3}".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-c]", inner, 0..4).prop_map(|m| m.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn following_the_text_selects_the_same_as_the_parsed_document(
            document in json(), steps in prop::collection::vec(prop_oneof!["\\.[a-c]", "\\[[0-3]\\]"], 0..4),
        ) {
            let lookup = JsonLookup::parse(&format!("${}", steps.concat())).unwrap();
            let text = document.to_string();
            prop_assert_eq!(lookup.follow(text.as_bytes()).unwrap(), lookup.select(&document));
        }
    }
}
