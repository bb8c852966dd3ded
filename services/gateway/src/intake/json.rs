//! Samples as JSON, with texts borrowed from the body. A member of the wrong type makes only its own sample invalid.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::members::{Member, SampleMembers, Value};
use super::{BodyError, Limits, ParsedSamples};

/// Error text of the visitor below, which distinguishes its error from the parser's.
const TOO_MANY: &str = "too many samples";

pub(super) fn read(body: &[u8], limits: Limits) -> Result<ParsedSamples<'_>, BodyError> {
    // Ignored members are not decoded by the parser, so this checks that they are UTF-8.
    let text = std::str::from_utf8(body).map_err(|error| BodyError::Malformed(error.to_string()))?;
    if text.trim_ascii().is_empty() {
        return Err(BodyError::Empty);
    }
    let mut parser = serde_json::Deserializer::from_str(text);
    let read = BodyVisitor { limits }.deserialize(&mut parser).and_then(|read| parser.end().map(|()| read));
    read.map_err(|error| match error.to_string() {
        message if message.starts_with(TOO_MANY) => BodyError::TooMany(limits.batch),
        message => BodyError::Malformed(message),
    })
}

/// One sample, or a list of them.
struct BodyVisitor {
    limits: Limits,
}

impl<'de> DeserializeSeed<'de> for BodyVisitor {
    type Value = ParsedSamples<'de>;

    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<Self::Value, D::Error> {
        parser.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for BodyVisitor {
    type Value = ParsedSamples<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sample or a list of samples")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
        Ok(vec![sample(members)?.check(self.limits)])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut read = Vec::new();
        while let Some(members) = list.next_element_seed(ListElement)? {
            if read.len() == self.limits.batch {
                return Err(A::Error::custom(TOO_MANY));
            }
            read.push(members.check(self.limits));
        }
        Ok(read)
    }
}

/// An element of the list, which should be a sample.
struct ListElement;

impl<'de> DeserializeSeed<'de> for ListElement {
    type Value = SampleMembers<'de>;

    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<Self::Value, D::Error> {
        parser.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ListElement {
    type Value = SampleMembers<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sample")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
        sample(members)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(SampleMembers::NOT_AN_OBJECT)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(SampleMembers::NOT_AN_OBJECT)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
        Ok(SampleMembers::NOT_AN_OBJECT)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
        Ok(SampleMembers::NOT_AN_OBJECT)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
        Ok(SampleMembers::NOT_AN_OBJECT)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
        Ok(SampleMembers::NOT_AN_OBJECT)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(SampleMembers::NOT_AN_OBJECT)
    }
}

fn sample<'de, A: MapAccess<'de>>(mut members: A) -> Result<SampleMembers<'de>, A::Error> {
    let mut sample = SampleMembers::default();
    while let Some(member) = members.next_key_seed(MemberName)? {
        match member {
            Some(member) => sample.set(member, members.next_value::<Value<'de>>()?),
            // Unknown members are ignored.
            None => drop(members.next_value::<IgnoredAny>()?),
        }
    }
    Ok(sample)
}

struct MemberName;

impl<'de> DeserializeSeed<'de> for MemberName {
    type Value = Option<Member>;

    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<Self::Value, D::Error> {
        parser.deserialize_str(self)
    }
}

impl Visitor<'_> for MemberName {
    type Value = Option<Member>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member's name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Member::from_name(name))
    }
}

impl<'de> serde::Deserialize<'de> for Value<'de> {
    fn deserialize<D: Deserializer<'de>>(parser: D) -> Result<Self, D::Error> {
        parser.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
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
        let mut map = Vec::new();
        while let Some(name) = members.next_key::<Text<'de>>()? {
            map.push((name.0, members.next_value()?));
        }
        Ok(Value::Map(map))
    }
}

/// A text that is borrowed from the body where possible.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
