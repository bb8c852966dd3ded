//! Selectors of `response.json("a.b.0.c")`: the paths that scripts use, not the whole of the language that k6 takes. What they
//! select is copied from the text while that is read: as a document it could take many times as much memory.

use std::fmt;
use std::io::{self, Write};

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Asked before so many more bytes of memory are taken.
type MayGrow<'a> = &'a mut dyn FnMut(usize) -> bool;

/// What a path selects of a JSON text, as JSON: names, numbers of elements, `#` for the length of an array, or `#.name` for one
/// field of all elements. A `\` makes the next character part of a name; of fields with the same name the first is meant, as in
/// k6. None where there is no such value.
///
/// # Errors
/// That the text is not JSON, or that the memory may not grow.
pub(crate) fn select(
    json: &str,
    path: &str,
    may_grow: MayGrow<'_>,
) -> Result<Option<String>, serde_json::Error> {
    let parts = parts(path);
    let mut copied = CopiedJson { text: Vec::new(), may_grow };
    let mut reader = serde_json::Deserializer::from_str(json);
    let is_found = Selecting { parts: &parts, copied: &mut copied }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(is_found.then(|| String::from_utf8(copied.text).expect("JSON that is written is UTF-8")))
}

/// Whether a path has what only k6's language knows: wildcards, queries, modifiers, several paths in one.
pub(crate) fn is_unknown(path: &str) -> bool {
    let mut before = '.';
    path.chars().any(|character| {
        let found = match character {
            '*' | '?' | '|' => before != '\\',
            '@' | '{' | '[' => before == '.',
            '(' => before == '#',
            _ => false,
        };
        before = if before == '\\' { ' ' } else { character };
        found
    })
}

/// A text that is written while another one is read.
struct CopiedJson<'a> {
    text: Vec<u8>,
    may_grow: MayGrow<'a>,
}

impl Write for CopiedJson<'_> {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        if self.text.capacity() - self.text.len() < part.len() {
            let further = part.len().max(self.text.capacity());
            if !(self.may_grow)(further) {
                return Err(io::Error::other("no memory is left for it"));
            }
            self.text.reserve_exact(further);
        }
        self.text.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl CopiedJson<'_> {
    fn add<E: Error>(&mut self, text: &str) -> Result<(), E> {
        self.write_all(text.as_bytes()).map_err(E::custom)
    }

    fn add_value<E: Error>(&mut self, value: &impl serde::Serialize) -> Result<(), E> {
        serde_json::to_writer(self, value).map_err(E::custom)
    }
}

/// Follows the parts of a path through a value; whether there is one at its end, which is copied then.
struct Selecting<'p, 'c, 'g> {
    parts: &'p [String],
    copied: &'c mut CopiedJson<'g>,
}

/// What a visitor does with values that are neither arrays nor objects.
macro_rules! scalars {
    ($value:ty, |$this:ident, $scalar:ident| $then:expr) => {
        scalars!(@each $value, |$this, $scalar| $then,
            visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);

        fn visit_unit<E: Error>(self) -> Result<$value, E> {
            let ($this, $scalar) = (self, ());
            $then
        }
    };
    (@each $value:ty, |$this:ident, $scalar:ident| $then:expr, $($visit:ident: $type:ty),+) => {
        $(fn $visit<E: Error>(self, $scalar: $type) -> Result<$value, E> {
            let $this = self;
            $then
        })+
    };
}

impl<'de> DeserializeSeed<'de> for Selecting<'_, '_, '_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        match self.parts {
            [] => Copying(self.copied).deserialize(deserializer).map(|()| true),
            _ => deserializer.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Selecting<'_, '_, '_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    scalars!(bool, |_this, _scalar| Ok(false));

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let mut found = None;
        while let Some(is_it) = map.next_key_seed(IsName(&self.parts[0]))? {
            if is_it && found.is_none() {
                let rest = Selecting { parts: &self.parts[1..], copied: self.copied };
                found = Some(map.next_value_seed(rest)?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found.unwrap_or(false))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<bool, A::Error> {
        let (first, rest) = (&self.parts[0], &self.parts[1..]);
        if first == "#" && !rest.is_empty() {
            return self.visit_each(seq);
        }
        let wanted: Option<usize> = first.parse().ok();
        let (mut count, mut is_found) = (0, false);
        loop {
            let next = match wanted == Some(count) {
                true => seq.next_element_seed(Selecting { parts: rest, copied: self.copied })?,
                false => seq.next_element::<IgnoredAny>()?.map(|_| false),
            };
            let Some(is_next_found) = next else { break };
            is_found |= is_next_found;
            count += 1;
        }
        if first == "#" {
            self.copied.add_value(&count)?;
            return Ok(true);
        }
        Ok(is_found)
    }
}

impl Selecting<'_, '_, '_> {
    /// Copy what the rest of the path selects of each element.
    fn visit_each<'de, A: SeqAccess<'de>>(self, mut seq: A) -> Result<bool, A::Error> {
        let Selecting { parts, copied } = self;
        copied.add("[")?;
        let begin = copied.text.len();
        loop {
            let before = copied.text.len();
            copied.add(if before > begin { "," } else { "" })?;
            let element = Selecting { parts: &parts[1..], copied };
            match seq.next_element_seed(element)? {
                Some(true) => {}
                Some(false) => copied.text.truncate(before),
                None => {
                    copied.text.truncate(before);
                    break;
                }
            }
        }
        copied.add("]")?;
        Ok(true)
    }
}

/// Whether a name is this one.
struct IsName<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for IsName<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for IsName<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}

/// Copies a value.
struct Copying<'c, 'g>(&'c mut CopiedJson<'g>);

impl<'de> DeserializeSeed<'de> for Copying<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Copying<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    scalars!((), |this, scalar| this.0.add_value(&scalar));

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.0.add("{")?;
        let mut separator = "";
        loop {
            let before = self.0.text.len();
            self.0.add(separator)?;
            if map.next_key_seed(Copying(self.0))?.is_none() {
                self.0.text.truncate(before);
                return self.0.add("}");
            }
            self.0.add(":")?;
            map.next_value_seed(Copying(self.0))?;
            separator = ",";
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        self.0.add("[")?;
        let mut separator = "";
        loop {
            let before = self.0.text.len();
            self.0.add(separator)?;
            if seq.next_element_seed(Copying(self.0))?.is_none() {
                self.0.text.truncate(before);
                return self.0.add("]");
            }
            separator = ",";
        }
    }
}

fn parts(path: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut is_escaped = false;
    for character in path.chars() {
        match character {
            '\\' if !is_escaped => {
                is_escaped = true;
                continue;
            }
            '.' if !is_escaped => parts.push(String::new()),
            character => {
                if let Some(last) = parts.last_mut() {
                    last.push(character);
                }
            }
        }
        is_escaped = false;
    }
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_only_k6_can_select_is_known() {
        for path in ["a.*", "a?", "a.#(b==2).c", "a|0", "@this", "a.@reverse", "{a,b}", "a.[b,c]"] {
            assert!(is_unknown(path), "{path}");
        }
        for path in ["", "a.b.0", "a.#.b", r"a\*", r"a\?.b", "a@b", "a[0]", "a(b)"] {
            assert!(!is_unknown(path), "{path}");
        }
    }

    fn selected(json: &str, path: &str) -> Option<serde_json::Value> {
        let text = select(json, path, &mut |_| true).unwrap();
        text.map(|text| serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn paths_select_values() {
        let json = json!({
            "a": { "b": [1, { "c": "x\"\n\u{1}" }, { "c": { "d": [], "e": {}, "f": [1.5, -2, true] } }, 7] },
            "d.e": true,
            "n": null,
            "empty": [],
        });
        let json = json.to_string();
        for (path, expected) in [
            ("a.b.0", Some(json!(1))),
            ("a.b.1.c", Some(json!("x\"\n\u{1}"))),
            ("a.b.#", Some(json!(4))),
            ("a.b.#.c", Some(json!(["x\"\n\u{1}", { "d": [], "e": {}, "f": [1.5, -2, true] }]))),
            ("a.b.#.x", Some(json!([]))),
            ("empty.#", Some(json!(0))),
            ("empty.#.c", Some(json!([]))),
            ("a.b.2.c.f.1", Some(json!(-2))),
            ("d\\.e", Some(json!(true))),
            ("n", Some(json!(null))),
            ("n.x", None),
            ("a.b.7", None),
            ("a.b.0.c", None),
            ("a.x", None),
            ("d.e", None),
        ] {
            assert_eq!(selected(&json, path), expected, "{path}");
        }
        assert_eq!(selected(r#"{"a": {"x": 1}, "a": {"b": 2}}"#, "a.b"), None, "the first is meant");
        for json in ["", "{\"a\": 1", "{\"a\": 1} 2", "{\"a\": 1, }"] {
            assert!(select(json, "a", &mut |_| true).is_err(), "{json}");
        }
    }

    #[test]
    fn a_value_takes_as_much_memory_as_its_text() {
        let json = format!("{{\"a\": [{}0]}}", "0,".repeat(1 << 20));
        let mut taken = 0;
        let selected = select(&json, "a", &mut |by| {
            taken += by;
            true
        });
        assert_eq!(selected.unwrap().unwrap().len(), (2 << 20) + 3);
        assert!(taken < 5 << 20, "{taken}");
        assert!(select(&json, "a", &mut |_| false).unwrap_err().to_string().contains("no memory is left"));
        let mut none = |by| panic!("{by} bytes are taken where nothing is copied");
        assert_eq!(select(&json, "b", &mut none).unwrap(), None);
    }

    proptest! {
        #[test]
        fn what_is_copied_is_what_a_document_has(json in document(), path in "[ab#012]{1,2}(\\.[ab#012]{1,2}){0,2}") {
            let text = json.to_string();
            prop_assert_eq!(selected(&text, &path), of_document(&json, &parts(&path)), "{} {}", text, path);
        }
    }

    fn document() -> impl Strategy<Value = serde_json::Value> {
        let scalar = prop_oneof![
            Just(json!(null)),
            any::<bool>().prop_map(|value| json!(value)),
            any::<i64>().prop_map(|value| json!(value)),
            // `serde_json` reads others to the last digit but one.
            any::<i32>().prop_map(|value| json!(f64::from(value) / 2.0)),
            "\\PC{0,4}".prop_map(|value| json!(value)),
        ];
        scalar.prop_recursive(4, 40, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::Array),
                prop::collection::btree_map("[ab#012]{1,2}", inner, 0..4).prop_map(|fields| json!(fields)),
            ]
        })
    }

    fn of_document(json: &serde_json::Value, parts: &[String]) -> Option<serde_json::Value> {
        use serde_json::Value;
        let Some((first, rest)) = parts.split_first() else { return Some(json.clone()) };
        match json {
            Value::Object(fields) => of_document(fields.get(first)?, rest),
            Value::Array(elements) if first == "#" && rest.is_empty() => Some(elements.len().into()),
            Value::Array(elements) if first == "#" => {
                Some(elements.iter().filter_map(|element| of_document(element, rest)).collect())
            }
            Value::Array(elements) => of_document(elements.get(first.parse::<usize>().ok()?)?, rest),
            _ => None,
        }
    }
}
