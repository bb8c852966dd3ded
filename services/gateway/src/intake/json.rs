//! Samples as JSON, with texts borrowed from the body. A member of the wrong type spoils its own sample and no other.

use super::members::{Known, Told, Value};
use super::{Limits, Read, Unreadable};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// Spoken by the reader below, so that its error can be told from the parser's.
const TOO_MANY: &str = "too many samples";

pub(super) fn read(body: &[u8], limits: Limits) -> Result<Read<'_>, Unreadable> {
    // Members that are dropped are not looked into: here is seen that they are text at all.
    let text = std::str::from_utf8(body).map_err(|error| Unreadable::Malformed(error.to_string()))?;
    if text.trim_ascii().is_empty() {
        return Err(Unreadable::Empty);
    }
    let mut parser = serde_json::Deserializer::from_str(text);
    let read = Body { limits }.deserialize(&mut parser).and_then(|read| parser.end().map(|()| read));
    read.map_err(|error| match error.to_string() {
        said if said.starts_with(TOO_MANY) => Unreadable::TooMany(limits.batch),
        said => Unreadable::Malformed(said),
    })
}

/// One sample, or a list of them.
struct Body {
    limits: Limits,
}

impl<'de> DeserializeSeed<'de> for Body {
    type Value = Read<'de>;

    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<Self::Value, D::Error> {
        parser.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Body {
    type Value = Read<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sample or a list of samples")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
        Ok(vec![sample(members)?.check(self.limits)])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut read = Vec::new();
        while let Some(told) = list.next_element_seed(Element)? {
            if read.len() == self.limits.batch {
                return Err(A::Error::custom(TOO_MANY));
            }
            read.push(told.check(self.limits));
        }
        Ok(read)
    }
}

/// A sample in a list, or what stands in the place of one.
struct Element;

impl<'de> DeserializeSeed<'de> for Element {
    type Value = Told<'de>;

    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<Self::Value, D::Error> {
        parser.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Element {
    type Value = Told<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sample")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
        sample(members)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Told::NOT_AN_OBJECT)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Told::NOT_AN_OBJECT)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Told::NOT_AN_OBJECT)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Told::NOT_AN_OBJECT)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Told::NOT_AN_OBJECT)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
        Ok(Told::NOT_AN_OBJECT)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Told::NOT_AN_OBJECT)
    }
}

fn sample<'de, A: MapAccess<'de>>(mut members: A) -> Result<Told<'de>, A::Error> {
    let mut told = Told::default();
    while let Some(known) = members.next_key_seed(Member)? {
        match known {
            Some(known) => told.tell(known, members.next_value::<Value<'de>>()?),
            // Devices may tell more than is understood here.
            None => drop(members.next_value::<IgnoredAny>()?),
        }
    }
    Ok(told)
}

/// Which member a name is.
struct Member;

impl<'de> DeserializeSeed<'de> for Member {
    type Value = Option<Known>;

    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<Self::Value, D::Error> {
        parser.deserialize_str(self)
    }
}

impl Visitor<'_> for Member {
    type Value = Option<Known>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member's name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Known::of(name))
    }
}

impl<'de> serde::Deserialize<'de> for Value<'de> {
    fn deserialize<D: Deserializer<'de>>(parser: D) -> Result<Self, D::Error> {
        parser.deserialize_any(Any)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Value::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Value::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Value::Number(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Value::Number(number as f64))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Value::Number(number as f64))
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Self::Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::List)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut told = Vec::new();
        while let Some(name) = members.next_key::<Text<'de>>()? {
            told.push((name.0, members.next_value()?));
        }
        Ok(Value::Map(told))
    }
}

/// A text that is borrowed where it can be.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
