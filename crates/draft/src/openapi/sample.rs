//! A value for a parameter or body: the description's example, default or first allowed value, else one that its
//! schema permits. Texts are templates.

use serde_json::{Map, Value, json};

use super::document::Document;
use crate::error::DraftError;
use crate::url::literal;

/// The deepest nesting of a made-up value: a schema may contain itself.
const MAX_DEPTH: usize = 6;
/// The longest text and list that a schema's least length asks for and gets.
const MAX_LENGTH: u64 = 64;

/// A value, and where it is from.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sample {
    pub(super) value: Value,
    /// It is an example.
    pub(super) is_example: bool,
    /// It is an example, a default, or one of the allowed values.
    pub(super) is_known: bool,
}

/// Of a parameter or media type: `example`, `examples`, then its schema.
pub(super) fn of_described(
    document: &Document<'_>,
    described: &Value,
    pointer: &str,
) -> Result<Sample, DraftError> {
    if let Some(value) = example_of(document, described, pointer)? {
        return Ok(example(&value));
    }
    let (schema, at) = match described.get("schema") {
        Some(schema) => (Some(schema), format!("{pointer}/schema")),
        // A parameter may have its schema within a media type.
        None => {
            let content = described.get("content").and_then(Value::as_object).and_then(|c| c.values().next());
            (content.and_then(|content| content.get("schema")), format!("{pointer}/content"))
        }
    };
    match schema {
        Some(schema) => of_schema(document, schema, &at, 0),
        None => Ok(made_up("text".into())),
    }
}

fn example_of(
    document: &Document<'_>,
    described: &Value,
    pointer: &str,
) -> Result<Option<Value>, DraftError> {
    if let Some(value) = described.get("example") {
        return Ok(Some(value.clone()));
    }
    Ok(match described.get("examples") {
        // Of a schema: a list of values. Of a parameter or body: a table of examples.
        Some(Value::Array(items)) => items.first().cloned(),
        Some(Value::Object(named)) => match named.values().next() {
            Some(first) => document.resolved(first, pointer)?.0.get("value").cloned(),
            None => None,
        },
        _ => None,
    })
}

fn example(value: &Value) -> Sample {
    Sample { value: literal_texts(value), is_example: true, is_known: true }
}

fn known(value: &Value) -> Sample {
    Sample { value: literal_texts(value), is_example: false, is_known: true }
}

fn made_up(value: Value) -> Sample {
    Sample { value, is_example: false, is_known: false }
}

fn literal_texts(value: &Value) -> Value {
    match value {
        Value::String(text) => literal(text).into(),
        Value::Array(items) => items.iter().map(literal_texts).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, value)| (literal(name), literal_texts(value))).collect())
        }
        other => other.clone(),
    }
}

fn of_schema(
    document: &Document<'_>,
    schema: &Value,
    pointer: &str,
    depth: usize,
) -> Result<Sample, DraftError> {
    let (schema, _) = document.resolved(schema, pointer)?;
    if let Some(value) = example_of(document, schema, pointer)? {
        return Ok(example(&value));
    }
    let first_allowed = schema.get("enum").and_then(Value::as_array).and_then(|allowed| allowed.first());
    if let Some(value) = schema.get("const").or(schema.get("default")).or(first_allowed) {
        return Ok(known(value));
    }
    let part = |key: &str| schema.get(key).and_then(Value::as_array).filter(|parts| !parts.is_empty());
    if part("allOf").is_some() {
        return all_of(document, schema, pointer, depth);
    }
    if let Some(first) = part("oneOf").or(part("anyOf")).and_then(|parts| parts.first())
        && depth < MAX_DEPTH
    {
        return of_schema(document, first, pointer, depth + 1);
    }
    by_type(document, schema, pointer, depth).map(made_up)
}

/// The fields of all parts together, and the schema's own.
fn all_of(
    document: &Document<'_>,
    schema: &Value,
    pointer: &str,
    depth: usize,
) -> Result<Sample, DraftError> {
    let mut fields = Map::new();
    let parts = schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for part in parts.iter().filter(|_| depth < MAX_DEPTH) {
        match of_schema(document, part, pointer, depth + 1)? {
            Sample { value: Value::Object(more), .. } => fields.extend(more),
            other if parts.len() == 1 => return Ok(other),
            _ => {}
        }
    }
    if let Value::Object(own) = object(document, schema, pointer, depth)? {
        fields.extend(own);
    }
    Ok(made_up(Value::Object(fields)))
}

fn by_type(
    document: &Document<'_>,
    schema: &Value,
    pointer: &str,
    depth: usize,
) -> Result<Value, DraftError> {
    if !document.may_make_up() {
        return Ok(Value::Null);
    }
    let named = match schema.get("type") {
        Some(Value::String(name)) => Some(name.as_str()),
        // Since 3.1 a type may be a list, in which null says that the value may be missing.
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).find(|name| *name != "null"),
        _ => None,
    };
    Ok(match named {
        Some("object") => object(document, schema, pointer, depth)?,
        None if schema.get("properties").is_some() => object(document, schema, pointer, depth)?,
        Some("array") => array(document, schema, pointer, depth)?,
        Some("integer" | "number") => number(schema),
        Some("boolean") => true.into(),
        _ => text(schema).into(),
    })
}

/// Its required fields; all of them where none is required.
fn object(document: &Document<'_>, schema: &Value, pointer: &str, depth: usize) -> Result<Value, DraftError> {
    let mut fields = Map::new();
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        if !document.may_make_up() {
            break;
        }
        let is_wanted = required.is_empty() || required.contains(&name.as_str());
        let at = format!("{pointer}/properties/{}", super::document::escaped(name));
        let (resolved, _) = document.resolved(property, &at)?;
        let is_read_only = resolved.get("readOnly").and_then(Value::as_bool) == Some(true);
        if is_wanted && !is_read_only && depth < MAX_DEPTH {
            fields.insert(literal(name), of_schema(document, property, &at, depth + 1)?.value);
        }
    }
    Ok(Value::Object(fields))
}

fn array(document: &Document<'_>, schema: &Value, pointer: &str, depth: usize) -> Result<Value, DraftError> {
    let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(1).clamp(1, MAX_LENGTH);
    let Some(items) = schema.get("items").filter(|_| depth < MAX_DEPTH) else { return Ok(json!([])) };
    let item = of_schema(document, items, &format!("{pointer}/items"), depth + 1)?.value;
    // Deep lists of lists are not multiplied.
    let count = if depth == 0 { least } else { 1 };
    Ok(Value::Array(vec![item; count as usize]))
}

fn number(schema: &Value) -> Value {
    let bound = |key: &str| schema.get(key).filter(|bound| bound.is_number());
    if let Some(least) = bound("minimum") {
        // In 3.0 `exclusiveMinimum` is a flag beside it.
        return match (schema.get("exclusiveMinimum"), least.as_i64()) {
            (Some(Value::Bool(true)), Some(least)) => least.saturating_add(1).into(),
            _ => least.clone(),
        };
    }
    match (
        bound("exclusiveMinimum").and_then(Value::as_i64),
        bound("multipleOf"),
        bound("maximum").and_then(Value::as_i64),
    ) {
        (Some(below), _, _) => below.saturating_add(1).into(),
        (_, Some(step), _) => step.clone(),
        (_, _, Some(most)) if most < 1 => most.into(),
        _ => 1.into(),
    }
}

/// A text of the schema's format. What a `pattern` allows is not known.
fn text(schema: &Value) -> String {
    let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
    let sample = match format {
        "date-time" => "2026-01-31T12:00:00Z",
        "date" => "2026-01-31",
        "time" => "12:00:00Z",
        "duration" => "PT1H",
        "uuid" => return "${uuid()}".to_owned(),
        "email" | "idn-email" => "user@example.com",
        "hostname" | "idn-hostname" => "example.com",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "uri" | "url" | "iri" => "https://example.com/",
        "uri-reference" => "/",
        "byte" => "dGV4dA==",
        _ => "text",
    };
    let length = |key: &str| schema.get(key).and_then(Value::as_u64);
    let mut sample = sample.to_owned();
    if let Some(most) = length("maxLength").and_then(|most| usize::try_from(most).ok()) {
        sample.truncate(most.min(sample.len()));
    }
    while (sample.len() as u64) < length("minLength").unwrap_or(0).min(MAX_LENGTH) {
        sample.push('x');
    }
    sample
}
