//! Messages from protobuf's JSON, and as it: with every field, those without a value too.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use prost::Message as _;
use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, ReflectMessage as _,
    Value,
};
use serde::ser::{Serialize, SerializeMap, SerializeSeq as _, Serializer};

use super::compile;
use super::error::SchemaError;
use super::size::MessageBudget;

/// The message of this type that a JSON text describes, encoded.
pub(super) fn encode(descriptor: MessageDescriptor, json: &str) -> Result<Vec<u8>, SchemaError> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let read = DynamicMessage::deserialize(descriptor.clone(), &mut reader);
    match read.and_then(|message| reader.end().map(|()| message)) {
        Ok(message) => Ok(message.encode_to_vec()),
        Err(error) => {
            // Of a field that does not exist, more is said than where it is.
            let parsed = serde_json::from_str(json).unwrap_or_default();
            compile::check_fields(&descriptor, &parsed)?;
            Err(SchemaError(format!("not a {}: {error}", descriptor.full_name())))
        }
    }
}

/// The JSON of an encoded message. A field without a value has its default, a message without one is `null`, and what is
/// optional and absent is left out; 64-bit integers are strings.
pub(super) fn decode(descriptor: MessageDescriptor, bytes: &[u8]) -> Result<String, SchemaError> {
    let name = descriptor.full_name().to_owned();
    let wrong = |why: String| SchemaError(format!("not a {name}: {why}"));
    MessageBudget::default().take_message(&descriptor, bytes).map_err(wrong)?;
    let message = DynamicMessage::decode(descriptor, bytes).map_err(|error| wrong(error.to_string()))?;
    serde_json::to_string(&FullMessage(&message)).map_err(|error| wrong(error.to_string()))
}

/// `google.rpc.Status`: a status with messages about it.
#[derive(Clone, PartialEq, prost::Message)]
struct RichStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<prost_types::Any>,
}

/// The JSON of an encoded `google.rpc.Status`; the types of its details are in `pool`, or Google's well-known ones.
pub(super) fn decode_status(pool: &DescriptorPool, bytes: &[u8]) -> Result<String, SchemaError> {
    let wrong = |why: String| SchemaError(format!("not a google.rpc.Status: {why}"));
    let status = RichStatus::decode(bytes).map_err(|error| wrong(error.to_string()))?;
    let mut budget = MessageBudget::default();
    let mut details = Vec::with_capacity(status.details.len());
    for detail in status.details {
        let name = detail.type_url.rsplit('/').next().unwrap_or_default();
        let of =
            pool.get_message_by_name(name).or_else(|| DescriptorPool::global().get_message_by_name(name));
        let of = of.ok_or_else(|| wrong(format!("`{name}` is not described")))?;
        budget.take_message(&of, &detail.value).map_err(wrong)?;
        let message =
            DynamicMessage::decode(of, &detail.value[..]).map_err(|error| wrong(error.to_string()))?;
        details.push(TypedMessage { url: detail.type_url, message });
    }
    let shown = RichStatusJson { code: status.code, message: status.message, details };
    serde_json::to_string(&shown).map_err(|error| wrong(error.to_string()))
}

#[derive(serde::Serialize)]
struct RichStatusJson {
    code: i32,
    message: String,
    details: Vec<TypedMessage>,
}

/// What an `Any` contains.
struct TypedMessage {
    url: String,
    message: DynamicMessage,
}

impl Serialize for TypedMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("@type", &self.url)?;
        match self.message.descriptor().package_name() {
            "google.protobuf" => map.serialize_entry("value", &self.message)?,
            _ => serialize_fields(&self.message, &mut map)?,
        }
        map.end()
    }
}

/// A message with all of its fields.
struct FullMessage<'a>(&'a DynamicMessage);

impl Serialize for FullMessage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let message = self.0;
        let descriptor = message.descriptor();
        let mut map = match (descriptor.package_name(), contained(message)) {
            (_, Some(contained)) => return contained.serialize(serializer),
            ("google.protobuf", None) => return message.serialize(serializer),
            _ => serializer.serialize_map(None)?,
        };
        serialize_fields(message, &mut map)?;
        map.end()
    }
}

/// What an `Any` contains; none of another message, and where its type is not described.
fn contained(any: &DynamicMessage) -> Option<TypedMessage> {
    let descriptor = any.descriptor();
    if descriptor.full_name() != "google.protobuf.Any" {
        return None;
    }
    let url = any.get_field_by_name("type_url")?.as_str()?.to_owned();
    let of = descriptor.parent_pool().get_message_by_name(url.rsplit('/').next()?)?;
    let message = DynamicMessage::decode(of, &**any.get_field_by_name("value")?.as_bytes()?).ok()?;
    Some(TypedMessage { url, message })
}

fn serialize_fields<M: SerializeMap>(message: &DynamicMessage, map: &mut M) -> Result<(), M::Error> {
    for field in message.descriptor().fields() {
        if message.has_field(&field) || !field.supports_presence() {
            let value = message.get_field(&field);
            map.serialize_entry(field.json_name(), &FieldValue { field: &field, value: &value })?;
        } else if field.containing_oneof().is_none() {
            map.serialize_entry(field.json_name(), &())?;
        }
    }
    Ok(())
}

/// The value of a field, or one of its values.
struct FieldValue<'a> {
    field: &'a FieldDescriptor,
    value: &'a Value,
}

impl Serialize for FieldValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let field = self.field;
        match self.value {
            Value::Message(message) => FullMessage(message).serialize(serializer),
            Value::List(values) => {
                let mut list = serializer.serialize_seq(Some(values.len()))?;
                for value in values {
                    list.serialize_element(&FieldValue { field, value })?;
                }
                list.end()
            }
            Value::Map(values) => {
                let entry = field.kind();
                let of = entry.as_message().map(MessageDescriptor::map_entry_value_field);
                let mut map = serializer.serialize_map(Some(values.len()))?;
                for (key, value) in values {
                    let field = of.as_ref().unwrap_or(field);
                    map.serialize_entry(&key_text(key), &FieldValue { field, value })?;
                }
                map.end()
            }
            Value::EnumNumber(number) => match field.kind() {
                Kind::Enum(of) if of.full_name() == "google.protobuf.NullValue" => {
                    serializer.serialize_unit()
                }
                Kind::Enum(of) => match of.get_value(*number) {
                    Some(value) => serializer.serialize_str(value.name()),
                    None => serializer.serialize_i32(*number),
                },
                _ => serializer.serialize_i32(*number),
            },
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::String(text) => serializer.serialize_str(text),
            Value::Bytes(bytes) => serializer.serialize_str(&BASE64_STANDARD.encode(bytes)),
            Value::I32(number) => serializer.serialize_i32(*number),
            Value::U32(number) => serializer.serialize_u32(*number),
            Value::I64(number) => serializer.collect_str(number),
            Value::U64(number) => serializer.collect_str(number),
            Value::F32(number) if number.is_finite() => serializer.serialize_f32(*number),
            Value::F64(number) if number.is_finite() => serializer.serialize_f64(*number),
            Value::F32(number) => serializer.serialize_str(not_finite(f64::from(*number))),
            Value::F64(number) => serializer.serialize_str(not_finite(*number)),
        }
    }
}

fn not_finite(number: f64) -> &'static str {
    match number {
        number if number.is_nan() => "NaN",
        number if number > 0.0 => "Infinity",
        _ => "-Infinity",
    }
}

fn key_text(key: &MapKey) -> String {
    match key {
        MapKey::Bool(key) => key.to_string(),
        MapKey::I32(key) => key.to_string(),
        MapKey::I64(key) => key.to_string(),
        MapKey::U32(key) => key.to_string(),
        MapKey::U64(key) => key.to_string(),
        MapKey::String(key) => key.clone(),
    }
}
