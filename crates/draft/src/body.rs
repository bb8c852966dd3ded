//! Bodies of others as bodies of steps, byte by byte but for the values of their secret fields.

use crate::plan::BodyDraft;
use crate::secrets::Variables;
use crate::slots::{self, Slot};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyKind {
    Json,
    Form,
    Parts,
    /// JSON under another name.
    OtherJson,
    Other,
}

/// What a body is by its content type, or what it looks like where that is not known.
pub(crate) fn kind(text: &str, content_type: &str) -> BodyKind {
    let kind = content_type.to_ascii_lowercase();
    let is_json = || text.trim_start().starts_with(['{', '[']) && !slots::of_json(text).is_empty();
    if kind.contains("json") {
        BodyKind::Json
    } else if kind.contains("x-www-form-urlencoded") {
        if is_json() { BodyKind::OtherJson } else { BodyKind::Form }
    } else if kind.starts_with("multipart/form-data") {
        BodyKind::Parts
    } else if is_json() {
        BodyKind::OtherJson
    } else {
        BodyKind::Other
    }
}

pub(crate) fn slots(text: &str, content_type: &str) -> Vec<Slot> {
    match kind(text, content_type) {
        BodyKind::Json | BodyKind::OtherJson => slots::of_json(text),
        BodyKind::Form => slots::of_form(text),
        BodyKind::Parts => slots::of_parts(text, content_type),
        BodyKind::Other => Vec::new(),
    }
}

/// A recorded body with this text of it.
pub(crate) fn draft(text: crate::text::Text, kind: BodyKind) -> BodyDraft {
    match kind {
        _ if text.is_empty() => BodyDraft::None,
        BodyKind::Json => BodyDraft::Json(text),
        _ => BodyDraft::Text(text),
    }
}

/// A recorded body without its secrets.
pub(crate) fn recorded(text: &str, content_type: Option<&str>, variables: &mut Variables) -> BodyDraft {
    let content_type = content_type.unwrap_or_default();
    let filled = variables.in_slots(text, &slots(text, content_type));
    draft(filled, kind(text, content_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_in_json_and_forms_become_variables_and_all_else_stays() {
        let mut variables = Variables::default();
        let mut source = |text: &str, content_type| match recorded(text, content_type, &mut variables) {
            BodyDraft::None => String::new(),
            BodyDraft::Json(text) => format!("json {}", text.source()),
            BodyDraft::Text(text) => format!("text {}", text.source()),
        };
        let text = r#"{"user": "a", "password": "geheim", "n": [{"token": "x"}], "t": "${a}", "n": 1.50}"#;
        let expected = r#"json {"user": "a", "password": "${env.PASSWORD | json}", "n": [{"token": "${env.TOKEN | json}"}], "t": "$${a}", "n": 1.50}"#;
        assert_eq!(source(text, Some("application/json; charset=utf-8")), expected);
        assert_eq!(
            source("a=1&pwd=x", Some("application/x-www-form-urlencoded")),
            "text a=1&pwd=${env.PWD | url}"
        );
        assert_eq!(source("{\"pwd\":\"x\"}", Some("text/plain")), "text {\"pwd\":\"${env.PWD | json}\"}");
        assert_eq!(source("plain ${x}", None), "text plain $${x}");
        assert_eq!(source("", None), "");
    }
}
