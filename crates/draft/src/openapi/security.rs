//! Security schemes as headers with environment variables.

use serde_json::Value;

use super::basic;
use super::document::escaped;
use super::operation::Operation;
use crate::error::DraftError;
use crate::plan::StepDraft;
use crate::secrets::Variables;
use crate::url::encoded;

/// Add what the first of the operation's alternatives asks for; nothing where none is needed.
pub(super) fn add(
    operation: &Operation<'_>,
    step: &mut StepDraft,
    variables: &mut Variables,
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
        add_scheme(name, scheme, step, variables);
    }
    Ok(())
}

fn add_scheme(name: &str, scheme: &Value, step: &mut StepDraft, variables: &mut Variables) {
    let text = |key: &str| scheme.get(key).and_then(Value::as_str).unwrap_or_default();
    let meaning = format!("the security scheme `{name}` of the API");
    match (text("type"), text("scheme").to_ascii_lowercase().as_str(), text("in")) {
        ("apiKey", _, "header") => {
            let value = variables.template(text("name"), name, &meaning);
            step.add_header(text("name"), value);
        }
        ("apiKey", _, "query") => {
            let separator = if step.path.contains('?') { '&' } else { '?' };
            let value = variables.template(text("name"), name, &format!("{meaning}, percent-encoded"));
            step.path.push_str(&format!("{separator}{}={value}", encoded(text("name"))));
        }
        ("apiKey", _, _) => {
            let value = variables.template(text("name"), name, &meaning);
            step.add_header("cookie", format!("{}={value}", text("name")));
        }
        ("http", "basic", _) => step.auth = Some(basic(variables)),
        ("mutualTLS", ..) => {
            step.comments.push(
                "The API asks for a client certificate: `tls = { cert = \"…\", key = \"…\" }` of the target."
                    .into(),
            );
        }
        // Bearer, OAuth 2, OpenID Connect.
        _ => {
            let value = variables.template("TOKEN", name, &format!("{meaning}: a bearer token"));
            step.add_header("authorization", format!("Bearer {value}"));
        }
    }
}
