//! The body of an operation.

use serde_json::Value;

use super::document::content_pointer;
use super::operation::Operation;
use super::serialise::{Characters, Serialisation, Style};
use super::{parts, sample};
use crate::error::DraftError;
use crate::json::Json;
use crate::multipart::{self, BOUNDARY};
use crate::plan::{BodyDraft, StepDraft};
use crate::text::Text;

/// Add the body that the operation describes, after a change. Returns why it cannot be sent, if so.
pub(super) fn add(
    operation: &Operation<'_>,
    step: &mut StepDraft,
    change: &mut dyn FnMut(Json) -> Json,
) -> Result<Option<String>, DraftError> {
    let Some(body) = operation.operation.get("requestBody") else { return Ok(None) };
    let (body, pointer) = operation.document.resolved(body, &format!("{}/requestBody", operation.pointer))?;
    let Some(content) = body.get("content").and_then(Value::as_object) else { return Ok(None) };
    let is_json = |media_type: &str| media_type.contains("json") && !media_type.contains("json-patch");
    let is_form = |media_type: &str| media_type.starts_with("application/x-www-form-urlencoded");
    let is_parts = |media_type: &str| media_type.starts_with("multipart/form-data");
    let is_text = |media_type: &str| media_type.starts_with("text/");
    let is_octets = |media_type: &str| media_type.starts_with("application/octet-stream");
    let find = |wanted: &dyn Fn(&str) -> bool| content.iter().find(|(media_type, _)| wanted(media_type));
    let found = find(&is_json)
        .or_else(|| find(&is_form))
        .or_else(|| find(&is_parts))
        .or_else(|| find(&is_text))
        .or_else(|| find(&is_octets))
        .or_else(|| content.iter().next());
    let Some((media_type, described)) = found else { return Ok(None) };
    let at = content_pointer(&pointer, media_type);
    let sample = sample::of_described(operation.document, described, &at)?;
    let is_known = sample.is_known;
    if is_parts(media_type) {
        step.add_header("content-type", &Text::literal(&multipart::content_type(BOUNDARY)));
    } else if media_type != "application/json" {
        step.add_header("content-type", &Text::literal(media_type));
    }
    let wrong = |why: String| format!("{why} ({})", operation.document.place(&at));
    step.body = match (change(sample.value), media_type.as_str()) {
        (value, media_type) if is_json(media_type) => BodyDraft::Json(value.written()),
        (Json::Object(fields), media_type) if is_form(media_type) => match form(&fields, described) {
            Ok(form) => BodyDraft::Text(form),
            Err(why) => return Ok(Some(wrong(why))),
        },
        (Json::Object(fields), media_type) if is_parts(media_type) => {
            match parts::form(operation.document, described, &at, &fields)? {
                Ok(form) => BodyDraft::Text(form),
                Err(why) => return Ok(Some(wrong(why))),
            }
        }
        (Json::Text(text), media_type) if is_known || is_text(media_type) || is_octets(media_type) => {
            BodyDraft::Text(text)
        }
        (value @ Json::Plain(_), media_type) if is_text(media_type) => BodyDraft::Text(value.plain()),
        (_, media_type) => {
            return Ok(Some(wrong(format!("a body of type `{media_type}` must be written by hand"))));
        }
    };
    Ok(None)
}

/// A form: each field in the style of its `encoding`; without one lists are repeated, and objects are JSON.
fn form(fields: &[(String, Json)], described: &Value) -> Result<Text, String> {
    let encodings = described.get("encoding").and_then(Value::as_object);
    let mut pairs = Vec::new();
    for (name, value) in fields {
        let encoding = encodings.and_then(|encodings| encodings.get(name));
        let of = |key: &str| encoding.and_then(|encoding| encoding.get(key));
        let has_style = ["style", "explode", "allowReserved"].iter().any(|key| of(key).is_some());
        let style = of("style").and_then(Value::as_str).unwrap_or("form");
        let style =
            Style::parse(style).ok_or_else(|| format!("the form field `{name}` has the style `{style}`"))?;
        let explode = of("explode").and_then(Value::as_bool).unwrap_or(style == Style::Form);
        let characters = match of("allowReserved").and_then(Value::as_bool) {
            Some(true) => Characters::Reserved,
            _ => Characters::Encoded,
        };
        let value = match value {
            Json::Object(_) if !has_style => Json::Text(value.written()),
            Json::List(items) if !has_style => {
                Json::List(items.iter().map(|item| Json::Text(item.plain())).collect())
            }
            value => value.clone(),
        };
        let written = Serialisation { style, explode, characters }.write(name, &value);
        pairs.push(written.map_err(|why| format!("the form field `{name}` {why}"))?);
    }
    pairs.retain(|pair| !pair.is_empty());
    Ok(Text::joined(&pairs, "&"))
}
