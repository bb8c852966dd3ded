//! The parameters of an operation, with a value each.

use serde_json::Value;

use super::document::escaped;
use super::operation::Operation;
use super::sample;
use crate::error::DraftError;
use crate::url::encoded;

/// A parameter that is sent.
pub(super) struct Parameter {
    pub(super) name: String,
    /// `path`, `query`, `header` or `cookie`.
    pub(super) place: String,
    value: Value,
    /// Whether the value is the description's own, not one made up of a type.
    pub(super) is_known: bool,
}

impl Parameter {
    /// Its value as a template.
    pub(super) fn text(&self) -> String {
        text_of(&self.value)
    }

    /// The same within a path or query.
    pub(super) fn encoded_text(&self) -> String {
        encoded_value(&self.value)
    }

    /// `name=value`, one for each item of a list and each field of an object: the form style, exploded.
    pub(super) fn pairs(&self) -> Vec<String> {
        let pair = |name: &str, value: &Value| format!("{}={}", encoded(name), encoded_value(value));
        match &self.value {
            Value::Array(items) => items.iter().map(|item| pair(&self.name, item)).collect(),
            Value::Object(fields) => fields.iter().map(|(name, value)| pair(name, value)).collect(),
            value => vec![pair(&self.name, value)],
        }
    }
}

/// Generated values such as `${uuid()}` stay as they are.
fn encoded_value(value: &Value) -> String {
    let text = text_of(value);
    if text.starts_with("${") { text } else { encoded(&text.replace("$${", "${")) }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text_of).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// The parameters that are sent: those that are required, and those with an example.
pub(super) fn parameters(operation: &Operation<'_>) -> Result<Vec<Parameter>, DraftError> {
    let mut all: Vec<Parameter> = Vec::new();
    // Those of the operation replace those of the path.
    for (owner, place) in
        [(operation.operation, operation.pointer), (operation.item, path_pointer(operation.pointer))]
    {
        let listed = owner.get("parameters").and_then(Value::as_array).into_iter().flatten();
        for (index, entry) in listed.enumerate() {
            let pointer = format!("{place}/parameters/{index}");
            let (described, _) = operation.document.resolved(entry, &pointer)?;
            let text = |key| described.get(key).and_then(Value::as_str);
            let (Some(name), Some(place)) = (text("name"), text("in")) else {
                return Err(operation.document.wrong(&pointer, "needs `name` and `in`"));
            };
            let is_ignored = place == "header"
                && ["accept", "content-type", "authorization"].contains(&name.to_ascii_lowercase().as_str());
            if is_ignored || all.iter().any(|known| known.name == name && known.place == place) {
                continue;
            }
            let is_required =
                place == "path" || described.get("required").and_then(Value::as_bool) == Some(true);
            let sample = sample::of_described(operation.document, described, &pointer)?;
            if is_required || sample.is_example {
                let (name, place) = (name.to_owned(), place.to_owned());
                all.push(Parameter { name, place, value: sample.value, is_known: sample.is_known });
            }
        }
    }
    Ok(all)
}

/// `/paths/~1a` of `/paths/~1a/get`.
fn path_pointer(pointer: &str) -> &str {
    pointer.rsplit_once('/').map_or(pointer, |(path, _)| path)
}

/// The pointer of a media type within `content`.
pub(super) fn content_pointer(pointer: &str, media_type: &str) -> String {
    format!("{pointer}/content/{}", escaped(media_type))
}
