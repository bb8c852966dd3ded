//! What a text is that a plan is to be drafted of.

use serde_json::Value;

use crate::error::DraftError;
use crate::openapi::Description;
use crate::yaml::{self, YamlDocument};

/// What a text is.
#[derive(Debug, Clone, PartialEq)]
pub enum SourceKind {
    OpenApi(Description),
    /// A recording of a browser.
    Har(Value),
    /// Commands.
    Curl,
}

/// Whether a text is curl commands, perhaps after comments.
pub fn is_curl(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines =
        text.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let first = lines.next().unwrap_or_default();
    ["curl ", "curl\t", "curl.exe "].iter().any(|word| first.starts_with(word))
}

/// Read the text of the file `name` as far as it takes to know what it is.
///
/// # Errors
/// [`DraftError`] if it is nothing of that, with the place where it stops being JSON or YAML.
pub fn recognise(name: &str, text: &str) -> Result<SourceKind, DraftError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let begins = text.trim_start();
    if is_curl(text) {
        return Ok(SourceKind::Curl);
    }
    let description = match begins.starts_with(['{', '[']) {
        true => Description::from(serde_json::from_str::<Value>(text).map_err(|error| {
            DraftError::at(
                format!("{name}:{}:{}", error.line(), error.column()),
                format!("not JSON: {error}"),
            )
        })?),
        false => {
            let YamlDocument { value, texts } = yaml::read(text)
                .map_err(|error| DraftError::at(format!("{name}:{}", error.place()), error.problem()))?;
            Description { value, texts }
        }
    };
    let value = &description.value;
    let unknown = || {
        let found =
            "is not an OpenAPI description (`openapi: 3…`), a HAR file (`log.entries`) or curl commands";
        DraftError::at(name, found)
    };
    let Value::Object(fields) = value else { return Err(unknown()) };
    if fields.contains_key("swagger") {
        let problem = "describes Swagger 2; convert it to OpenAPI 3, for example with `swagger2openapi`";
        return Err(DraftError::at(format!("{name}: swagger"), problem));
    }
    if fields.contains_key("openapi") {
        return Ok(SourceKind::OpenApi(description));
    }
    if value.pointer("/log/entries").is_some() {
        return Ok(SourceKind::Har(description.value));
    }
    if fields.contains_key("info") && fields.contains_key("item") {
        let problem = "is a Postman collection; export it as OpenAPI, or record a HAR file";
        return Err(DraftError::at(name, problem));
    }
    Err(unknown())
}
