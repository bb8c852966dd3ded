//! The parameters of an operation, with a value each.

use serde_json::Value;

use super::operation::Operation;
use super::sample::{self, Sample};
use super::serialise::{Characters, Serialisation, Style, is_blank};
use crate::error::DraftError;
use crate::json::Json;
use crate::text::Text;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterPlace {
    Path,
    Query,
    Header,
    Cookie,
}

/// A parameter that is sent.
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) place: ParameterPlace,
    /// As it is sent, in a query or cookie with its name; or why it cannot be.
    pub(super) written: Result<Text, String>,
    /// Whether the value is the description's own, not one made up of a type.
    pub(super) is_known: bool,
}

impl ParameterPlace {
    fn parse(text: &str) -> Option<ParameterPlace> {
        Some(match text {
            "path" => ParameterPlace::Path,
            "query" => ParameterPlace::Query,
            "header" => ParameterPlace::Header,
            "cookie" => ParameterPlace::Cookie,
            _ => return None,
        })
    }

    fn default_style(self) -> Style {
        match self {
            ParameterPlace::Path | ParameterPlace::Header => Style::Simple,
            ParameterPlace::Query | ParameterPlace::Cookie => Style::Form,
        }
    }

    fn allows(self, style: Style) -> bool {
        match style {
            Style::Matrix | Style::Label => self == ParameterPlace::Path,
            Style::Simple => matches!(self, ParameterPlace::Path | ParameterPlace::Header),
            Style::Form => matches!(self, ParameterPlace::Query | ParameterPlace::Cookie),
            Style::SpaceDelimited | Style::PipeDelimited | Style::DeepObject => self == ParameterPlace::Query,
        }
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
            let (described, at) = operation.document.resolved(entry, &pointer)?;
            let text = |key| described.get(key).and_then(Value::as_str);
            let (Some(name), Some(place)) = (text("name"), text("in").and_then(ParameterPlace::parse)) else {
                return Err(operation
                    .document
                    .wrong(&pointer, "needs `name`, and `in` as `path`, `query`, `header` or `cookie`"));
            };
            let is_ignored = place == ParameterPlace::Header
                && ["accept", "content-type", "authorization"].contains(&name.to_ascii_lowercase().as_str());
            if is_ignored || all.iter().any(|known| known.name == name && known.place == place) {
                continue;
            }
            let is_required = place == ParameterPlace::Path
                || described.get("required").and_then(Value::as_bool) == Some(true);
            let sample = sample::of_described(operation.document, described, &at)?;
            if is_required || sample.is_example {
                let problem =
                    |why: String| format!("`{name}` {why} ({})", operation.document.place(&pointer));
                let written = written(name, place, described, &sample).map_err(problem);
                all.push(Parameter { name: name.to_owned(), place, written, is_known: sample.is_known });
            }
        }
    }
    Ok(all)
}

fn written(name: &str, place: ParameterPlace, described: &Value, sample: &Sample) -> Result<Text, String> {
    let characters = match place {
        ParameterPlace::Header => Characters::Plain,
        ParameterPlace::Query if described.get("allowReserved").and_then(Value::as_bool) == Some(true) => {
            Characters::Reserved
        }
        _ => Characters::Encoded,
    };
    let style = match described.get("style").and_then(Value::as_str) {
        None => place.default_style(),
        Some(style) => {
            let known = Style::parse(style).filter(|style| place.allows(*style));
            known.ok_or_else(|| format!("has the style `{style}`, which does not exist here"))?
        }
    };
    let explode = described.get("explode").and_then(Value::as_bool).unwrap_or(style == Style::Form);
    let serialisation = Serialisation { style, explode, characters };
    if let Some(media_type) = media_type(described) {
        // It is one text, whatever it contains.
        let text = in_media_type(media_type, &sample.value)?;
        return serialisation.write(name, &Json::Text(text));
    }
    // A list without items is a parameter that is not there.
    if is_blank(&sample.value) && matches!(sample.value, Json::List(_)) && explode {
        return Ok(Text::default());
    }
    serialisation.write(name, &sample.value)
}

/// The media type of a parameter that is described by `content`.
fn media_type(described: &Value) -> Option<&str> {
    let content = described.get("content").and_then(Value::as_object)?;
    content.keys().next().map(String::as_str)
}

/// A value in a media type, as a text.
fn in_media_type(media_type: &str, value: &Json) -> Result<Text, String> {
    match value {
        _ if media_type.contains("json") => Ok(value.written()),
        Json::Text(text) => Ok(text.clone()),
        _ => Err(format!("has a value of the type `{media_type}`, which must be written by hand")),
    }
}

/// `/paths/~1a` of `/paths/~1a/get`.
fn path_pointer(pointer: &str) -> &str {
    pointer.rsplit_once('/').map_or(pointer, |(path, _)| path)
}
