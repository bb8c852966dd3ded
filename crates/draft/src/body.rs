//! Bodies of others as bodies of steps, without the values of their secret fields.

use serde_json::Value;
use workload::template::json_template;

use crate::plan::BodyDraft;
use crate::secrets::{Variables, is_secret_name};
use crate::url::{literal, pairs_template};

/// The deepest JSON whose fields are looked at.
const MAX_DEPTH: usize = 64;

/// A recorded body: by its content type, or what it looks like where that is not known.
pub(crate) fn recorded(text: &str, content_type: Option<&str>, variables: &mut Variables) -> BodyDraft {
    if text.is_empty() {
        return BodyDraft::None;
    }
    let kind = content_type.unwrap_or_default().to_ascii_lowercase();
    if let Ok(value @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
        if kind.contains("json") {
            return BodyDraft::Json(templates(value, variables, 0));
        }
        // JSON under another name, which stays byte by byte unless it has a secret.
        if has_secret(&value, 0) {
            return BodyDraft::Text(json_text(&templates(value, variables, 0)));
        }
    }
    if kind.contains("x-www-form-urlencoded") {
        return BodyDraft::Text(pairs_template(text, "form field", variables));
    }
    BodyDraft::Text(literal(text))
}

/// JSON whose texts are templates, as the template of its text.
pub(crate) fn json_text(value: &Value) -> String {
    // Its texts were made as templates, so none of them is wrong.
    json_template(value).map_or_else(|_| literal(&value.to_string()), |template| template.source().to_owned())
}

fn has_secret(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| has_secret(item, depth + 1)),
        Value::Object(fields) => fields.iter().any(|(name, value)| match value {
            Value::String(_) => is_secret_name(name),
            value => depth < MAX_DEPTH && has_secret(value, depth + 1),
        }),
        _ => false,
    }
}

/// JSON whose texts are templates; texts in secret fields are environment variables.
fn templates(value: Value, variables: &mut Variables, depth: usize) -> Value {
    match value {
        Value::String(text) => literal(&text).into(),
        Value::Array(items) if depth < MAX_DEPTH => {
            items.into_iter().map(|item| templates(item, variables, depth + 1)).collect()
        }
        Value::Object(fields) if depth < MAX_DEPTH => {
            let field = |(name, value): (String, Value)| {
                let value = match &value {
                    Value::String(text) if !text.is_empty() && is_secret_name(&name) => {
                        variables.template(&name, text, &format!("the JSON field `{name}`")).into()
                    }
                    _ => templates(value, variables, depth + 1),
                };
                (literal(&name), value)
            };
            Value::Object(fields.into_iter().map(field).collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_in_json_and_forms_become_variables() {
        let mut variables = Variables::default();
        let text = r#"{"user": "a", "password": "geheim", "n": [{"token": "x"}], "t": "${a}"}"#;
        let body = recorded(text, Some("application/json; charset=utf-8"), &mut variables);
        let expected = serde_json::json!({
            "user": "a", "password": "${env.PASSWORD}", "n": [{"token": "${env.TOKEN}"}], "t": "$${a}"
        });
        assert_eq!(body, BodyDraft::Json(expected));
        let form = recorded("a=1&pwd=x", Some("application/x-www-form-urlencoded"), &mut variables);
        assert_eq!(form, BodyDraft::Text("a=1&pwd=${env.PWD}".to_owned()));
        let disguised = recorded("{\"pwd\":\"x\"}", Some("text/plain"), &mut variables);
        assert_eq!(disguised, BodyDraft::Text("{\"pwd\":\"${env.PWD | json}\"}".to_owned()));
        assert_eq!(recorded("plain ${x}", None, &mut variables), BodyDraft::Text("plain $${x}".to_owned()));
    }
}
