//! What a text is that a plan is to be drafted of.

use serde_json::Value;

use crate::error::DraftError;
use crate::yaml;

/// What a text is.
#[derive(Debug, Clone, PartialEq)]
pub enum SourceKind {
    /// A description of an API.
    OpenApi(Value),
    /// A recording of a browser.
    Har(Value),
    /// Commands.
    Curl,
}

/// Read the text of the file `name` as far as it takes to know what it is.
///
/// # Errors
/// [`DraftError`] if it is nothing of that, with the place where it stops being JSON or YAML.
pub fn recognise(name: &str, text: &str) -> Result<SourceKind, DraftError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let begins = text.trim_start();
    if begins.starts_with("curl ") || begins.starts_with("curl\t") || begins.starts_with("curl.exe ") {
        return Ok(SourceKind::Curl);
    }
    let value = match begins.starts_with(['{', '[']) {
        true => serde_json::from_str(text).map_err(|error| {
            DraftError::at(format!("{name}:{}:{}", error.line(), error.column()), format!("no JSON: {error}"))
        })?,
        false => yaml::read(text)
            .map_err(|error| DraftError::at(format!("{name}:{}", error.place()), error.problem()))?,
    };
    let unknown = || {
        let found =
            "is no OpenAPI description (`openapi: 3…`), no HAR file (`log.entries`), and no curl commands";
        DraftError::at(name, found)
    };
    let Value::Object(fields) = &value else { return Err(unknown()) };
    if fields.contains_key("swagger") {
        let problem = "describes Swagger 2; convert it to OpenAPI 3, for example with `swagger2openapi`";
        return Err(DraftError::at(format!("{name}: swagger"), problem));
    }
    if fields.contains_key("openapi") {
        return Ok(SourceKind::OpenApi(value));
    }
    if value.pointer("/log/entries").is_some() {
        return Ok(SourceKind::Har(value));
    }
    if fields.contains_key("info") && fields.contains_key("item") {
        let problem = "is a Postman collection; export it as OpenAPI, or record a HAR file";
        return Err(DraftError::at(name, problem));
    }
    Err(unknown())
}
