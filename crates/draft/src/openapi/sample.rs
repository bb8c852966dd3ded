//! A value for a parameter or body: the description's example, default or first allowed value, else one that its
//! schema permits.

use serde_json::Value;
use workload::template::Value as TemplateValue;

use super::document::{Document, content_pointer, escaped};
use super::schema::Flat;
use crate::error::DraftError;
use crate::json::Json;
use crate::text::Text;

/// The deepest nesting of a made-up value: a schema may contain itself.
const MAX_DEPTH: usize = 6;
/// The longest text and list that a schema's least length asks for and gets.
const MAX_LENGTH: u64 = 64;

/// A value, and where it is from.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sample {
    pub(super) value: Json,
    pub(super) is_example: bool,
    /// It is an example, a default, or one of the allowed values.
    pub(super) is_known: bool,
}

fn example(value: Json) -> Sample {
    Sample { value, is_example: true, is_known: true }
}

fn known(value: Json) -> Sample {
    Sample { value, is_example: false, is_known: true }
}

fn made_up(value: Json) -> Sample {
    Sample { value, is_example: false, is_known: false }
}

/// Of a parameter or media type: `example`, `examples`, then its schema; of a parameter that has a media type, of that.
pub(super) fn of_described(
    document: &Document<'_>,
    described: &Value,
    pointer: &str,
) -> Result<Sample, DraftError> {
    let schema = described.get("schema");
    let schema_at = format!("{pointer}/schema");
    if let Some((value, at)) = example_of(document, described, pointer)? {
        let flat = schema.map(|schema| Flat::read(document, schema, &schema_at)).transpose()?;
        return Ok(example(typed(document, value, flat.as_ref(), &at, 0)?));
    }
    if let Some(schema) = schema {
        return of_schema(document, schema, &schema_at, 0);
    }
    let content =
        described.get("content").and_then(Value::as_object).and_then(|content| content.iter().next());
    match content {
        Some((media_type, inner)) => of_described(document, inner, &content_pointer(pointer, media_type)),
        None => Ok(made_up(Json::text("text"))),
    }
}

/// The example of a parameter, a media type or a schema, and where it is.
fn example_of<'v>(
    document: &Document<'v>,
    described: &'v Value,
    pointer: &str,
) -> Result<Option<(&'v Value, String)>, DraftError> {
    if let Some(value) = described.get("example") {
        return Ok(Some((value, format!("{pointer}/example"))));
    }
    Ok(match described.get("examples") {
        // Of a schema: a list of values. Of a parameter or body: a table of examples.
        Some(Value::Array(items)) => items.first().map(|value| (value, format!("{pointer}/examples/0"))),
        Some(Value::Object(named)) => match named.iter().next() {
            Some((name, first)) => {
                let (first, at) =
                    document.resolved(first, &format!("{pointer}/examples/{}", escaped(name)))?;
                first.get("value").map(|value| (value, format!("{at}/value")))
            }
            None => None,
        },
        _ => None,
    })
}

/// A value of the description as its schema types it: where a text is asked for, a number of YAML is the text that
/// is written there, such as `007`.
fn typed(
    document: &Document<'_>,
    value: &Value,
    schema: Option<&Flat<'_>>,
    pointer: &str,
    depth: usize,
) -> Result<Json, DraftError> {
    let inner = |child: &Value, schema: Option<(&Value, String)>, at: String| {
        let flat = schema.map(|(schema, place)| Flat::read(document, schema, &place)).transpose()?;
        typed(document, child, flat.as_ref(), &at, depth + 1)
    };
    let schema = schema.filter(|_| depth < MAX_DEPTH);
    Ok(match value {
        Value::Number(_) | Value::Bool(_) if schema.is_some_and(Flat::is_only_text) => {
            Json::Text(Text::literal(&document.source_text(pointer, value)))
        }
        Value::Array(items) => {
            let item = |(index, item): (usize, &Value)| {
                inner(item, schema.and_then(Flat::items), format!("{pointer}/{index}"))
            };
            Json::List(items.iter().enumerate().map(item).collect::<Result<_, DraftError>>()?)
        }
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                let schema = schema.and_then(|schema| schema.property(name));
                Ok((name.clone(), inner(value, schema, format!("{pointer}/{}", escaped(name)))?))
            };
            Json::Object(fields.iter().map(field).collect::<Result<_, DraftError>>()?)
        }
        plain => Json::literal(plain),
    })
}

pub(super) fn of_schema(
    document: &Document<'_>,
    schema: &Value,
    pointer: &str,
    depth: usize,
) -> Result<Sample, DraftError> {
    let flat = Flat::read(document, schema, pointer)?;
    // An example of one part of several need not be one of the whole.
    if let Some((value, at)) = example_of(document, flat.own(), flat.own_pointer())? {
        return Ok(example(typed(document, value, Some(&flat), &at, depth)?));
    }
    for key in ["const", "default"] {
        if let Some((value, at)) = flat.get_with_place(key) {
            return Ok(known(typed(document, value, Some(&flat), &at, depth)?));
        }
    }
    if let Some((allowed, at)) = flat.get_with_place("enum")
        && let Some(first) = allowed.as_array().and_then(|allowed| allowed.first())
    {
        return Ok(known(typed(document, first, Some(&flat), &format!("{at}/0"), depth)?));
    }
    if !document.may_make_up() {
        return Ok(made_up(Json::Plain(Value::Null)));
    }
    Ok(made_up(match flat.type_name() {
        Some("object") => object(document, &flat, depth)?,
        None if flat.has_properties() => object(document, &flat, depth)?,
        Some("array") => array(document, &flat, depth)?,
        Some("integer" | "number") => Json::Plain(number(&flat)),
        Some("boolean") => Json::Plain(true.into()),
        Some("null") => Json::Plain(Value::Null),
        _ => Json::Text(text(&flat)),
    }))
}

/// Its required fields; all of them where none is required. Fields of examples of its parts are taken from there.
fn object(document: &Document<'_>, flat: &Flat<'_>, depth: usize) -> Result<Json, DraftError> {
    let mut fields: Vec<(String, Json)> = Vec::new();
    for (name, property, at) in flat.wanted() {
        if !document.may_make_up() {
            break;
        }
        let (resolved, _) = document.resolved(property, &at)?;
        let is_read_only = resolved.get("readOnly").and_then(Value::as_bool) == Some(true);
        if is_read_only || depth >= MAX_DEPTH {
            continue;
        }
        let of_part = flat
            .part_examples()
            .find_map(|(example, place)| Some((example.get(name)?, format!("{place}/{}", escaped(name)))));
        let value = match (of_part, flat.discriminator(name)) {
            (_, Some(chosen)) => Json::text(chosen),
            (Some((value, place)), _) => {
                let schema = Flat::read(document, property, &at)?;
                typed(document, value, Some(&schema), &place, depth + 1)?
            }
            (None, None) => of_schema(document, property, &at, depth + 1)?.value,
        };
        fields.push((name.to_owned(), value));
    }
    // The order says nothing, and a plan's `json` has this one.
    fields.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(Json::Object(fields))
}

fn array(document: &Document<'_>, flat: &Flat<'_>, depth: usize) -> Result<Json, DraftError> {
    let least = flat.get("minItems").and_then(Value::as_u64).unwrap_or(1).clamp(1, MAX_LENGTH);
    let Some((items, at)) = flat.items().filter(|_| depth < MAX_DEPTH) else {
        return Ok(Json::List(Vec::new()));
    };
    let item = of_schema(document, items, &at, depth + 1)?.value;
    // Deep lists of lists are not multiplied.
    let count = if depth == 0 { least } else { 1 };
    Ok(Json::List(vec![item; count as usize]))
}

fn number(flat: &Flat<'_>) -> Value {
    let bound = |key: &str| flat.get(key).filter(|bound| bound.is_number());
    if let Some(least) = bound("minimum") {
        // In 3.0 `exclusiveMinimum` is a flag beside it.
        return match (flat.get("exclusiveMinimum"), least.as_i64()) {
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
fn text(flat: &Flat<'_>) -> Text {
    let named = |key: &str| flat.get(key).and_then(Value::as_str);
    let encoding =
        named("contentEncoding").filter(|encoding| encoding.eq_ignore_ascii_case("base64")).map(|_| "byte");
    let format = named("format").or(encoding).unwrap_or_default();
    let sample = match format {
        "date-time" => "2026-01-31T12:00:00Z",
        "date" => "2026-01-31",
        "time" => "12:00:00Z",
        "duration" => "PT1H",
        "uuid" => return Text::value(TemplateValue::Uuid),
        "email" | "idn-email" => "user@example.com",
        "hostname" | "idn-hostname" => "example.com",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "uri" | "url" | "iri" => "https://example.com/",
        "uri-reference" => "/",
        "byte" => "dGV4dA==",
        _ => "text",
    };
    let length = |key: &str| flat.get(key).and_then(Value::as_u64);
    let mut sample = sample.to_owned();
    if let Some(most) = length("maxLength").and_then(|most| usize::try_from(most).ok()) {
        sample.truncate(most.min(sample.len()));
    }
    while (sample.len() as u64) < length("minLength").unwrap_or(0).min(MAX_LENGTH) {
        sample.push('x');
    }
    Text::literal(&sample)
}
