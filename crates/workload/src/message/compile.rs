//! Compiles a JSON message with templates into wire bytes with gaps.
//!
//! Parts without templates are encoded by prost-reflect from protobuf's JSON mapping; only fields with templates are
//! encoded here.

use std::collections::HashMap;

use prost::Message as _;
use prost::encoding::{WireType, encode_key};
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MessageDescriptor};
use serde_json::{Map, Value};

use super::encode::{MessagePart, MessageTemplate, ScalarGap, ScalarKind};
use super::error::SchemaError;
use crate::nearest::nearest;
use crate::template::Template;

type Parts = Vec<MessagePart<Template>>;

/// Compile `json` into a message of the type `descriptor`.
pub(super) fn compile(
    descriptor: &MessageDescriptor,
    json: &Value,
) -> Result<MessageTemplate<Template>, SchemaError> {
    check_fields(descriptor, json)?;
    let parts = message(descriptor, json).map_err(|error| field_error(descriptor, json).unwrap_or(error))?;
    Ok(MessageTemplate { parts })
}

fn wrong<T>(message: String) -> Result<T, SchemaError> {
    Err(SchemaError(message))
}

/// Check that all field names exist, at every depth.
pub(super) fn check_fields(descriptor: &MessageDescriptor, json: &Value) -> Result<(), SchemaError> {
    if is_well_known(descriptor) || json.is_null() {
        return Ok(());
    }
    let Value::Object(fields) = json else {
        return wrong(format!("{} takes a table of fields, not {json}", descriptor.full_name()));
    };
    for (name, value) in fields {
        let Some(field) = find_field(descriptor, name) else { return wrong(unknown_field(descriptor, name)) };
        let kind = field.kind();
        match value {
            Value::Object(entries) if field.is_map() => {
                let value_kind = kind.as_message().map(|entry| entry.map_entry_value_field().kind());
                if let Some(Kind::Message(inner)) = value_kind {
                    entries.values().try_for_each(|entry| check_fields(&inner, entry))?;
                }
            }
            Value::Array(items) if field.is_list() => {
                if let Kind::Message(inner) = &kind {
                    items.iter().try_for_each(|item| check_fields(inner, item))?;
                }
            }
            // A map that is not an object or a list that is not an array: prost-reflect reports it.
            _ if field.is_map() || field.is_list() => {}
            _ => {
                if let Kind::Message(inner) = &kind {
                    check_fields(inner, value)?;
                }
            }
        }
    }
    Ok(())
}

/// The error of the first field that cannot be read by itself, with the field's name, which errors of prost-reflect
/// do not contain.
fn field_error(descriptor: &MessageDescriptor, json: &Value) -> Option<SchemaError> {
    let fields = json.as_object().filter(|_| !is_well_known(descriptor))?;
    fields.iter().find_map(|(name, value)| {
        let field = find_field(descriptor, name)?;
        let error = field_parts(&field, value).err()?;
        let inner = match field.kind() {
            Kind::Message(inner) if !field.is_list() && !field.is_map() => field_error(&inner, value),
            _ => None,
        };
        Some(inner.unwrap_or_else(|| SchemaError(format!("field `{name}` cannot be {value}: {}", error.0))))
    })
}

fn unknown_field(descriptor: &MessageDescriptor, name: &str) -> String {
    let known: Vec<String> = descriptor.fields().map(|field| field.json_name().to_owned()).collect();
    let hint = match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "it has no fields".to_owned(),
        None => format!("it has `{}`", known.join("`, `")),
    };
    format!("{} has no field `{name}`; {hint}", descriptor.full_name())
}

fn find_field(descriptor: &MessageDescriptor, name: &str) -> Option<FieldDescriptor> {
    descriptor.get_field_by_json_name(name).or_else(|| descriptor.get_field_by_name(name))
}

/// Whether protobuf's JSON mapping has a special form for this message.
fn is_well_known(descriptor: &MessageDescriptor) -> bool {
    descriptor.package_name() == "google.protobuf" && descriptor.name() != "Empty"
}

fn template(text: &str) -> Result<Template, SchemaError> {
    Template::parse(text).map_err(|error| SchemaError(error.message))
}

/// Whether a string in `json` is a template with a value.
fn has_gap(json: &Value) -> Result<bool, SchemaError> {
    Ok(match json {
        Value::String(text) => template(text)?.as_literal().is_none(),
        Value::Array(items) => items.iter().map(has_gap).collect::<Result<Vec<_>, _>>()?.contains(&true),
        Value::Object(fields) => {
            let mut found = false;
            for (key, value) in fields {
                found |= template(key)?.as_literal().is_none() | has_gap(value)?;
            }
            found
        }
        _ => false,
    })
}

/// `json` with the escapes of its literal templates resolved.
fn resolved(json: &Value) -> Result<Value, SchemaError> {
    let literal = |text: &str| Ok(template(text)?.as_literal().unwrap_or(text).to_owned());
    Ok(match json {
        Value::String(text) => Value::String(literal(text)?),
        Value::Array(items) => Value::Array(items.iter().map(resolved).collect::<Result<_, _>>()?),
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| Ok((literal(key)?, resolved(value)?));
            Value::Object(fields.iter().map(field).collect::<Result<_, SchemaError>>()?)
        }
        other => other.clone(),
    })
}

fn message(descriptor: &MessageDescriptor, json: &Value) -> Result<Parts, SchemaError> {
    if !has_gap(json)? {
        return fixed(descriptor, json);
    }
    if is_well_known(descriptor) {
        return well_known(descriptor, json);
    }
    let Value::Object(fields) = json else {
        return wrong(format!("{} takes a table of fields", descriptor.full_name()));
    };
    let mut parts = Vec::new();
    let mut chosen: HashMap<String, String> = HashMap::new();
    for (name, value) in fields {
        let Some(field) = find_field(descriptor, name) else { return wrong(unknown_field(descriptor, name)) };
        let oneof = field.containing_oneof().filter(|oneof| !oneof.is_synthetic() && !value.is_null());
        if let Some(oneof) = oneof
            && let Some(other) = chosen.insert(oneof.full_name().to_owned(), name.clone())
        {
            return wrong(format!(
                "`{other}` and `{name}` exclude each other: both are `{}`",
                oneof.full_name()
            ));
        }
        parts.extend(field_parts(&field, value)?);
    }
    Ok(parts)
}

/// A message without gaps.
fn fixed(descriptor: &MessageDescriptor, json: &Value) -> Result<Parts, SchemaError> {
    let message = DynamicMessage::deserialize(descriptor.clone(), resolved(json)?)
        .map_err(|error| SchemaError(format!("not a {}: {error}", descriptor.full_name())))?;
    let bytes = message.encode_to_vec();
    Ok(if bytes.is_empty() { Vec::new() } else { vec![MessagePart::Bytes(bytes)] })
}

/// One field without gaps: encoded as a message that contains only it.
fn fixed_field(field: &FieldDescriptor, value: Value) -> Result<Parts, SchemaError> {
    let parent = field.parent_message();
    if ["google.protobuf.Struct", "google.protobuf.ListValue"].contains(&parent.full_name()) {
        // In JSON these consist of their one field's value.
        return fixed(parent, &value);
    }
    let name = field.json_name().to_owned();
    fixed(field.parent_message(), &Value::Object(Map::from_iter([(name, value)])))
}

/// The parts of a field, with all of its occurrences.
fn field_parts(field: &FieldDescriptor, value: &Value) -> Result<Parts, SchemaError> {
    if !has_gap(value)? {
        return fixed_field(field, value.clone());
    }
    let mut parts = Vec::new();
    match value {
        Value::Object(entries) if field.is_map() => {
            for (key, value) in entries {
                parts.push(map_entry(field, key, value)?);
            }
        }
        Value::Array(items) if field.is_list() => {
            for item in items {
                match has_gap(item)? {
                    true => parts.push(single(field, item)?),
                    false => parts.extend(fixed_field(field, Value::Array(vec![item.clone()]))?),
                }
            }
        }
        _ if field.is_map() => return wrong(format!("`{}` takes a table", field.full_name())),
        _ if field.is_list() => return wrong(format!("`{}` takes an array", field.full_name())),
        _ => parts.push(single(field, value)?),
    }
    Ok(parts)
}

fn map_entry(
    field: &FieldDescriptor,
    key: &str,
    value: &Value,
) -> Result<MessagePart<Template>, SchemaError> {
    let Kind::Message(entry) = field.kind() else {
        return wrong(format!("`{}` is not described as a map", field.full_name()));
    };
    let mut parts = vec![scalar(&entry.map_entry_key_field(), template(key)?)?];
    parts.extend(field_parts(&entry.map_entry_value_field(), value)?);
    Ok(MessagePart::Nested { tag: tag(field), parts })
}

/// One occurrence of a field that contains a gap.
fn single(field: &FieldDescriptor, value: &Value) -> Result<MessagePart<Template>, SchemaError> {
    if field.is_group() {
        return wrong(format!("`{}` is a group; groups cannot contain `${{…}}`", field.full_name()));
    }
    match (field.kind(), value) {
        (Kind::Message(inner), Value::String(text)) if is_text_form(&inner) => {
            let kind = ScalarKind::Message(inner);
            Ok(MessagePart::Scalar(gap(field, kind, template(text)?)))
        }
        (Kind::Message(inner), _) => {
            Ok(MessagePart::Nested { tag: tag(field), parts: message(&inner, value)? })
        }
        (_, Value::String(text)) => scalar(field, template(text)?),
        _ => wrong(format!("`{}` takes one value, not {value}", field.full_name())),
    }
}

/// Whether protobuf's JSON mapping writes this message as a string.
fn is_text_form(descriptor: &MessageDescriptor) -> bool {
    ["google.protobuf.Timestamp", "google.protobuf.Duration", "google.protobuf.FieldMask"]
        .contains(&descriptor.full_name())
}

fn gap(field: &FieldDescriptor, kind: ScalarKind, value: Template) -> ScalarGap<Template> {
    let keep_default = field.supports_presence() || field.is_list();
    ScalarGap { tag: tag(field), kind, field: field.full_name().to_owned(), keep_default, value }
}

fn tag(field: &FieldDescriptor) -> Vec<u8> {
    let mut tag = Vec::new();
    let wire_type = match field.kind() {
        Kind::Message(_) => WireType::LengthDelimited,
        kind => kind.wire_type(),
    };
    encode_key(field.number(), wire_type, &mut tag);
    tag
}

/// A field that is not a message: a gap, or bytes if its template is literal.
fn scalar(field: &FieldDescriptor, value: Template) -> Result<MessagePart<Template>, SchemaError> {
    let Some(kind) = scalar_kind(&field.kind()) else {
        return wrong(format!("`{}` takes a message, not a text", field.full_name()));
    };
    let literal = value.as_literal().map(str::to_owned);
    let part = MessagePart::Scalar(gap(field, kind, value));
    let Some(text) = literal else { return Ok(part) };
    let mut bytes = Vec::new();
    MessageTemplate { parts: vec![part] }
        .encode(&mut |_, out| out.extend_from_slice(text.as_bytes()), &mut bytes)
        .map_err(|error| SchemaError(error.to_string()))?;
    Ok(MessagePart::Bytes(bytes))
}

fn scalar_kind(kind: &Kind) -> Option<ScalarKind> {
    Some(match kind {
        Kind::Double => ScalarKind::Double,
        Kind::Float => ScalarKind::Float,
        Kind::Int32 => ScalarKind::Int32,
        Kind::Int64 => ScalarKind::Int64,
        Kind::Uint32 => ScalarKind::Uint32,
        Kind::Uint64 => ScalarKind::Uint64,
        Kind::Sint32 => ScalarKind::Sint32,
        Kind::Sint64 => ScalarKind::Sint64,
        Kind::Fixed32 => ScalarKind::Fixed32,
        Kind::Fixed64 => ScalarKind::Fixed64,
        Kind::Sfixed32 => ScalarKind::Sfixed32,
        Kind::Sfixed64 => ScalarKind::Sfixed64,
        Kind::Bool => ScalarKind::Bool,
        Kind::String => ScalarKind::String,
        Kind::Bytes => ScalarKind::Bytes,
        Kind::Enum(descriptor) => ScalarKind::Enum(descriptor.clone()),
        Kind::Message(_) => return None,
    })
}

/// A message with a special form in JSON that contains a gap.
fn well_known(descriptor: &MessageDescriptor, json: &Value) -> Result<Parts, SchemaError> {
    let inner = |name: &str| {
        let missing = || SchemaError(format!("{} is described without `{name}`", descriptor.full_name()));
        descriptor.get_field_by_name(name).ok_or_else(missing)
    };
    match (descriptor.name(), json) {
        ("Struct", Value::Object(_)) => field_parts(&inner("fields")?, json),
        ("ListValue", Value::Array(_)) => field_parts(&inner("values")?, json),
        ("Value", Value::String(_)) => Ok(vec![single(&inner("string_value")?, json)?]),
        ("Value", Value::Object(_)) => Ok(vec![single(&inner("struct_value")?, json)?]),
        ("Value", Value::Array(_)) => Ok(vec![single(&inner("list_value")?, json)?]),
        (name, Value::String(_)) if name.ends_with("Value") => Ok(vec![single(&inner("value")?, json)?]),
        _ => wrong(format!("this form of {} cannot contain `${{…}}`", descriptor.full_name())),
    }
}
