//! The body of an operation.

use serde_json::Value;

use super::operation::Operation;
use super::parameters::content_pointer;
use super::sample;
use crate::error::DraftError;
use crate::plan::{BodyDraft, StepDraft};
use crate::url::encoded;

/// Add the body that the operation describes. Returns why it cannot be sent, if so.
pub(super) fn add(operation: &Operation<'_>, step: &mut StepDraft) -> Result<Option<String>, DraftError> {
    let Some(body) = operation.operation.get("requestBody") else { return Ok(None) };
    let pointer = format!("{}/requestBody", operation.pointer);
    let (body, _) = operation.document.resolved(body, &pointer)?;
    let Some(content) = body.get("content").and_then(Value::as_object) else { return Ok(None) };
    let is_json = |media_type: &str| media_type.contains("json") && !media_type.contains("json-patch");
    let is_form = |media_type: &str| media_type.starts_with("application/x-www-form-urlencoded");
    let find = |wanted: &dyn Fn(&str) -> bool| content.iter().find(|(media_type, _)| wanted(media_type));
    let found = find(&is_json)
        .or_else(|| find(&is_form))
        .or_else(|| find(&|media_type| media_type.starts_with("text/")))
        .or_else(|| content.iter().next());
    let Some((media_type, described)) = found else { return Ok(None) };
    let sample =
        sample::of_described(operation.document, described, &content_pointer(&pointer, media_type))?.value;
    let has_other_type = is_json(media_type) && media_type != "application/json";
    if !is_json(media_type) || has_other_type {
        step.add_header("content-type", media_type.clone());
    }
    step.body = match (sample, media_type.as_str()) {
        (value, media_type) if is_json(media_type) => BodyDraft::Json(value),
        (Value::Object(fields), media_type) if is_form(media_type) => BodyDraft::Text(form(&fields)),
        (Value::String(text), media_type) if media_type.starts_with("text/") => BodyDraft::Text(text),
        (_, media_type) => {
            return Ok(Some(format!("a body of type `{media_type}` is to be written by hand")));
        }
    };
    Ok(None)
}

fn form(fields: &serde_json::Map<String, Value>) -> String {
    let pair = |(name, value): (&String, &Value)| {
        let text = match value {
            Value::String(text) if text.starts_with("${") => text.clone(),
            Value::String(text) => encoded(&text.replace("$${", "${")),
            other => encoded(&other.to_string()),
        };
        format!("{}={text}", encoded(name))
    };
    fields.iter().map(pair).collect::<Vec<_>>().join("&")
}
