//! Security schemes as headers with environment variables.

use serde_json::Value;

use super::basic;
use super::document::escaped;
use super::login::Credentials;
use super::operation::Operation;
use crate::error::DraftError;
use crate::plan::StepDraft;
use crate::secrets::Variables;
use crate::text::Text;

/// Add what the first of the operation's alternatives asks for; nothing where none is needed.
pub(super) fn add(
    operation: &Operation<'_>,
    step: &mut StepDraft,
    variables: &mut Variables,
    credentials: &Credentials,
) -> Result<(), DraftError> {
    let required = operation.operation.get("security").or(operation.document.root.get("security"));
    let alternatives = required.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    // An empty one says that a caller needs nothing.
    let is_optional =
        alternatives.iter().any(|one| one.as_object().is_some_and(|schemes| schemes.is_empty()));
    let Some(schemes) = alternatives.first().and_then(Value::as_object).filter(|_| !is_optional) else {
        return Ok(());
    };
    for name in schemes.keys() {
        let pointer = format!("/components/securitySchemes/{}", escaped(name));
        let scheme = operation.document.root.pointer(&pointer);
        let scheme = scheme
            .ok_or_else(|| operation.document.wrong(&pointer, "is missing, and an operation needs it"))?;
        let (scheme, _) = operation.document.resolved(scheme, &pointer)?;
        add_scheme(name, scheme, step, variables, credentials.get(name))
            .map_err(|why| operation.document.wrong(&pointer, &why))?;
    }
    Ok(())
}

fn add_scheme(
    name: &str,
    scheme: &Value,
    step: &mut StepDraft,
    variables: &mut Variables,
    given: Option<&Text>,
) -> Result<(), String> {
    let text = |key: &str| scheme.get(key).and_then(Value::as_str).unwrap_or_default();
    let meaning = format!("the security scheme `{name}` of the API");
    let key_name = text("name");
    match (text("type"), text("scheme").to_ascii_lowercase().as_str(), text("in")) {
        ("apiKey", _, "header") => {
            if !is_token(key_name) {
                return Err(format!("`{key_name}` is not a valid header name"));
            }
            step.add_header(
                key_name,
                &given.cloned().unwrap_or_else(|| variables.text(key_name, name, &meaning)),
            );
        }
        ("apiKey", _, "query") => {
            let value = given.cloned().unwrap_or_else(|| variables.text(key_name, name, &meaning));
            step.add_query(&Text::literal(key_name).in_url().and("=").then(&value.in_url()));
        }
        ("apiKey", _, "cookie") => {
            if !is_token(key_name) {
                return Err(format!("`{key_name}` is not a valid cookie name"));
            }
            let value = variables.text(key_name, name, &meaning);
            step.add_header("cookie", &Text::literal(key_name).and("=").then(&value));
        }
        ("apiKey", _, place) => return Err(format!("`{place}` is not a place for an API key")),
        ("http", "basic", _) => step.auth = Some(basic(variables)),
        ("mutualTLS", ..) => {
            step.comments.push(
                "The API asks for a client certificate: `tls = { cert = \"…\", key = \"…\" }` of the target."
                    .into(),
            );
        }
        // Bearer, OAuth 2, OpenID Connect.
        _ => {
            let value = given
                .cloned()
                .unwrap_or_else(|| variables.text("TOKEN", name, &format!("{meaning}: a bearer token")));
            step.add_header("authorization", &Text::literal("Bearer ").then(&value));
        }
    }
    Ok(())
}

/// Whether a text can name a header or a cookie (RFC 9110, section 5.6.2).
fn is_token(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}
