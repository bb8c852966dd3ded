//! Operations whose response contains what a security scheme needs: each virtual user calls them once, in its setup.

use std::collections::BTreeMap;

use serde_json::Value;

use super::document::{Document, content_pointer};
use super::operation::Operation;
use super::schema::Flat;
use crate::error::DraftError;
use crate::extract::{Extraction, ExtractionSource};
use crate::json::Json;
use crate::secrets::{Variables, is_secret_name};
use crate::text::Text;

/// An operation that logs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Login {
    /// The security schemes whose credential it gives.
    pub(super) schemes: Vec<String>,
    pub(super) extraction: Extraction,
}

/// The credentials that operations give, by security scheme.
pub(super) type Credentials = BTreeMap<String, Text>;

/// Names of fields that have a token, without case and separators, best first.
const TOKENS: [&str; 6] = ["accesstoken", "token", "authtoken", "bearertoken", "jwt", "idtoken"];
/// The deepest object of a response that is looked into.
const MAX_DEPTH: usize = 2;

/// What the operation gives to others, if it logs in: it needs no credential itself, is sent a secret, and its response has
/// a token.
pub(super) fn of(operation: &Operation<'_>) -> Result<Option<Login>, DraftError> {
    let document = operation.document;
    let is_login = operation.method == "post" && is_open(operation) && takes_secret(operation)?;
    let schemes = document.root.pointer("/components/securitySchemes").and_then(Value::as_object);
    let (Some(schemes), true) = (schemes, is_login) else { return Ok(None) };
    let Some((schema, at)) = success(operation)? else { return Ok(None) };
    for (name, scheme) in schemes {
        let text = |key: &str| scheme.get(key).and_then(Value::as_str).unwrap_or_default();
        let wanted: Vec<String> = match text("type") {
            "oauth2" | "openIdConnect" => TOKENS.map(str::to_owned).to_vec(),
            "http" if text("scheme").eq_ignore_ascii_case("bearer") => TOKENS.map(str::to_owned).to_vec(),
            "apiKey" if text("in") != "cookie" => vec![plain(text("name"))],
            _ => continue,
        };
        if let Some(path) = token_path(document, schema, &at, &wanted, 0)? {
            let source = ExtractionSource::Json(format!("${path}"));
            let same = |(other, described): &(&String, &Value)| {
                *other == name || (text("type") != "apiKey" && is_bearer(described))
            };
            let schemes = schemes.iter().filter(same).map(|(name, _)| name.clone()).collect();
            let extraction = Extraction { name: "login_token".to_owned(), source };
            return Ok(Some(Login { schemes, extraction }));
        }
    }
    Ok(None)
}

fn is_bearer(scheme: &Value) -> bool {
    let text = |key: &str| scheme.get(key).and_then(Value::as_str).unwrap_or_default();
    matches!(text("type"), "oauth2" | "openIdConnect")
        || (text("type") == "http" && text("scheme").eq_ignore_ascii_case("bearer"))
}

/// `Access-Token` as `accesstoken`.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whether it needs no credential.
fn is_open(operation: &Operation<'_>) -> bool {
    let required = operation.operation.get("security").or(operation.document.root.get("security"));
    let alternatives = required.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    alternatives.is_empty()
        || alternatives.iter().any(|one| one.as_object().is_some_and(|schemes| schemes.is_empty()))
}

fn takes_secret(operation: &Operation<'_>) -> Result<bool, DraftError> {
    let Some(body) = operation.operation.get("requestBody") else { return Ok(false) };
    let (body, at) = operation.document.resolved(body, &format!("{}/requestBody", operation.pointer))?;
    let content = body.get("content").and_then(Value::as_object).into_iter().flatten();
    for (media_type, described) in content {
        let Some(schema) = described.get("schema") else { continue };
        let at = format!("{}/schema", content_pointer(&at, media_type));
        let flat = Flat::read(operation.document, schema, &at)?;
        if flat.properties().any(|(name, ..)| is_secret_name(name)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The schema of its first successful response in JSON.
fn success<'v>(operation: &Operation<'v>) -> Result<Option<(&'v Value, String)>, DraftError> {
    let responses = operation.operation.get("responses").and_then(Value::as_object).into_iter().flatten();
    for (status, response) in responses.filter(|(status, _)| status.starts_with('2')) {
        let (response, at) =
            operation.document.resolved(response, &format!("{}/responses/{status}", operation.pointer))?;
        let content = response.get("content").and_then(Value::as_object).into_iter().flatten();
        for (media_type, described) in content.filter(|(media_type, _)| media_type.contains("json")) {
            let at = format!("{}/schema", content_pointer(&at, media_type));
            if let Some(schema) = described.get("schema") {
                return Ok(Some((schema, at)));
            }
        }
    }
    Ok(None)
}

/// The path of the first field with one of these names.
fn token_path(
    document: &Document<'_>,
    schema: &Value,
    at: &str,
    wanted: &[String],
    depth: usize,
) -> Result<Option<String>, DraftError> {
    let flat = Flat::read(document, schema, at)?;
    let step = |name: &str| format!("[\"{}\"]", crate::text::json_escaped(name));
    for wanted in wanted {
        if let Some((name, ..)) = flat.properties().find(|(name, ..)| plain(name) == *wanted) {
            return Ok(Some(step(name)));
        }
    }
    if depth < MAX_DEPTH {
        for (name, inner, at) in flat.properties() {
            if let Some(path) = token_path(document, inner, &at, wanted, depth + 1)? {
                return Ok(Some(step(name) + &path));
            }
        }
    }
    Ok(None)
}

/// The body of a login with the account of the environment.
pub(super) fn with_account(body: Json, variables: &mut Variables) -> Json {
    let Json::Object(fields) = body else { return body };
    let field = |(name, value): (String, Json)| {
        let is_user =
            matches!(plain(&name).as_str(), "user" | "username" | "email" | "login" | "userid" | "clientid");
        let value = match value {
            Json::Text(_) if is_secret_name(&name) => {
                Json::Text(variables.text(&name, &name, &format!("the field `{name}` of the login")))
            }
            Json::Text(_) if is_user => {
                Json::Text(variables.text("USER_NAME", &name, &format!("the field `{name}` of the login")))
            }
            other => other,
        };
        (name, value)
    };
    Json::Object(fields.into_iter().map(field).collect())
}
