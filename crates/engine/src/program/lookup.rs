//! RFC 9535 paths, looked up without building the whole document where that is possible.
//!
//! Most checks name one node (`$.challenges[0].challengeId`). Such a singular query is followed through the
//! text: what it passes by is skipped and what comes after it is not read, so that a check on the head of a
//! long list costs next to nothing. Every other path is evaluated on the parsed document.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json_path::{JsonPath, ParseError};

/// A path, with its singular form if it has one.
#[derive(Debug)]
pub(crate) struct Lookup {
    path: JsonPath,
    singular: Option<Vec<Step>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Name(String),
    Index(usize),
}

/// What a path selects.
#[derive(Debug, PartialEq)]
pub(crate) enum Found {
    Nothing,
    One(Value),
    /// How many.
    Many(usize),
}

impl Lookup {
    pub(crate) fn parse(path: &str) -> Result<Lookup, ParseError> {
        Ok(Lookup { path: JsonPath::parse(path)?, singular: singular(path) })
    }

    /// Whether it is followed through the text; else it needs the parsed document.
    pub(crate) fn is_singular(&self) -> bool {
        self.singular.is_some()
    }

    /// What it selects in `text`; for singular paths only.
    pub(crate) fn follow(&self, text: &[u8]) -> Result<Found, String> {
        let steps = self.singular.as_deref().unwrap_or_default();
        let mut found = None;
        let mut json = serde_json::Deserializer::from_slice(text);
        match (Follow { steps, found: &mut found }).deserialize(&mut json) {
            // The error that ends the reading once the node was found is not one.
            Ok(()) => Ok(found.map_or(Found::Nothing, Found::One)),
            Err(_) if found.is_some() => Ok(found.map_or(Found::Nothing, Found::One)),
            Err(error) => Err(error.to_string()),
        }
    }

    /// What it selects in a parsed document.
    pub(crate) fn select(&self, document: &Value) -> Found {
        match self.path.query(document).all()[..] {
            [] => Found::Nothing,
            [one] => Found::One(one.clone()),
            ref many => Found::Many(many.len()),
        }
    }

    /// The first node it selects in a parsed document.
    pub(crate) fn first<'d>(&self, document: &'d Value) -> Option<&'d Value> {
        self.path.query(document).first()
    }
}

impl fmt::Display for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.fmt(f)
    }
}

/// The steps of a singular query written with `.name`, `['name']` and `[index]`; none for anything else,
/// escapes and blanks among it.
fn singular(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let (step, after) = if let Some(tail) = rest.strip_prefix('.') {
            let end = tail.find(['.', '[']).unwrap_or(tail.len());
            let (name, after) = tail.split_at(end);
            let is_plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
            (Step::Name(is_plain.then(|| name.to_owned())?), after)
        } else {
            let (inside, after) = rest.strip_prefix('[')?.split_once(']')?;
            let quoted = ['\'', '"'].iter().find_map(|q| inside.strip_prefix(*q)?.strip_suffix(*q));
            match quoted {
                Some(name) if !name.contains(['\\', '\'', '"', '[']) => (Step::Name(name.to_owned()), after),
                Some(_) => return None,
                None => (Step::Index(inside.parse().ok()?), after),
            }
        };
        steps.push(step);
        rest = after;
    }
    Some(steps)
}

/// Follows the remaining steps through a value; puts the node into `found` and then ends the reading.
struct Follow<'a> {
    steps: &'a [Step],
    found: &'a mut Option<Value>,
}

impl<'de> DeserializeSeed<'de> for Follow<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.steps.is_empty() {
            *self.found = Some(serde::Deserialize::deserialize(deserializer)?);
            return Err(D::Error::custom("found"));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Follow<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Step::Name(wanted) = &self.steps[0] else { return skip_map(map) };
        while let Some(name) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            if name == wanted.as_str() {
                map.next_value_seed(Follow { steps: &self.steps[1..], found: self.found })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        if let Step::Index(wanted) = self.steps[0] {
            for _ in 0..wanted {
                if seq.next_element::<IgnoredAny>()?.is_none() {
                    return Ok(());
                }
            }
            seq.next_element_seed(Follow { steps: &self.steps[1..], found: self.found })?;
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

    fn followed(path: &str, text: &str) -> Result<Found, String> {
        let lookup = Lookup::parse(path).unwrap();
        assert!(lookup.is_singular(), "{path}");
        lookup.follow(text.as_bytes())
    }

    #[test]
    fn a_node_is_found_where_it_is_and_nowhere_else() {
        let text = r#"{"a": {"b": [1, {"c": "x"}]}, "c": "y", "n": null}"#;
        let one = |value: &str| Ok(Found::One(serde_json::from_str(value).unwrap()));
        assert_eq!(followed("$.a.b[1].c", text), one(r#""x""#));
        assert_eq!(followed("$['a']['b'][0]", text), one("1"));
        assert_eq!(followed("$.n", text), one("null"));
        assert_eq!(followed("$.a.c", text), Ok(Found::Nothing));
        assert_eq!(followed("$.a.b[7]", text), Ok(Found::Nothing));
        assert_eq!(followed("$.c[0]", text), Ok(Found::Nothing));
        assert_eq!(followed("$.a[0]", text), Ok(Found::Nothing));
    }

    #[test]
    fn text_after_the_node_is_not_read_and_text_before_it_must_be_json() {
        assert_eq!(followed("$.a", r#"{"a": 1, "#), Ok(Found::One(1.into())));
        assert!(followed("$.b", r#"{"a": 1, "#).is_err());
        assert!(followed("$.a", "no json").is_err());
    }

    #[test]
    fn other_paths_are_left_to_the_document() {
        for path in ["$..a", "$.a[*]", "$.a[-1]", "$.a[0:2]", "$.a[?@.b]", "$['a','b']", r"$['\u0061']"] {
            assert!(!Lookup::parse(path).unwrap().is_singular(), "{path}");
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
        fn following_the_text_selects_what_the_document_does(
            document in json(), steps in prop::collection::vec(prop_oneof!["\\.[a-c]", "\\[[0-3]\\]"], 0..4),
        ) {
            let lookup = Lookup::parse(&format!("${}", steps.concat())).unwrap();
            let text = document.to_string();
            prop_assert_eq!(lookup.follow(text.as_bytes()).unwrap(), lookup.select(&document));
        }
    }
}
