//! JSON that a target sent, as a document in memory: of a few megabytes an empty object each makes gigabytes.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The most memory that one document takes, as estimated from its values.
pub(super) const DOCUMENT_BYTES: usize = 256 << 20;

/// A value in a list that grows by doubling.
const VALUE_BYTES: usize = 64;
/// A node of the tree that an object is.
const OBJECT_BYTES: usize = 700;
/// An entry's name and its value.
const ENTRY_BYTES: usize = 120;

/// Reads `text` as a document that takes at most [`DOCUMENT_BYTES`].
///
/// # Errors
/// In words, when it is not JSON or takes more.
pub(super) fn parse(text: &[u8]) -> Result<Value, String> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let value = BoundedValue { left: &mut { DOCUMENT_BYTES } }.deserialize(&mut json);
    value.and_then(|value| json.end().map(|()| value)).map_err(|error| error.to_string())
}

/// Reads a value, and takes its memory from `left`.
pub(super) struct BoundedValue<'a> {
    pub(super) left: &'a mut usize,
}

impl BoundedValue<'_> {
    fn take<E: Error>(&mut self, bytes: usize) -> Result<(), E> {
        let left = self.left.checked_sub(bytes);
        *self.left = left.ok_or_else(|| {
            E::custom(format_args!("it takes more than {} MiB as a document in memory", DOCUMENT_BYTES >> 20))
        })?;
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for BoundedValue<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for BoundedValue<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(mut self, value: &str) -> Result<Value, E> {
        self.take(value.len())?;
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(BoundedValue { left: self.left })? {
            self.take(VALUE_BYTES)?;
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        self.take(OBJECT_BYTES)?;
        while let Some(name) = entries.next_key::<String>()? {
            self.take(ENTRY_BYTES + name.len())?;
            object.insert(name, entries.next_value_seed(BoundedValue { left: self.left })?);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_read_as_without_a_bound() {
        let texts = [
            "null",
            "[1, -2, 2.5, true, \"a\\n\", {\"b\": {}, \"c\": []}]",
            "1e999",
            "[1] 2",
            "{\"a\":",
            "18446744073709551615",
        ];
        for text in texts {
            let expected = serde_json::from_str::<Value>(text).map_err(|error| error.to_string());
            assert_eq!(parse(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn a_document_that_takes_much_more_than_its_text_is_refused() {
        let of = |item: &str| format!("[{}1]", item.repeat((16 << 20) / item.len()));
        for item in ["{\"\":0},", "0,", "[],"] {
            let error = parse(of(item).as_bytes()).unwrap_err();
            assert!(error.contains("more than 256 MiB as a document"), "{item}: {error}");
        }
        assert!(parse(of("\"twenty bytes of text\",").as_bytes()).is_ok());
    }
}
