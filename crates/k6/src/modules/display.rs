//! Values as k6 writes them into bodies and messages: `<nil>`, `[1 2]`, `map[a:1]`.

use crate::js::{Thrown, Value};

/// A value as text.
///
/// # Errors
/// What reading it throws.
pub(in crate::modules) fn go_text(value: &Value<'_>) -> Result<String, Thrown> {
    go_text_within(value, 0)
}

/// How deep lists and objects are shown: one may contain itself.
const DEEPEST: u32 = 32;

fn go_text_within(value: &Value<'_>, depth: u32) -> Result<String, Thrown> {
    if value.is_nullish() {
        return Ok("<nil>".to_owned());
    }
    if !value.is_object() || value.is_function() || depth == DEEPEST {
        return Ok(value.text()?.to_string());
    }
    let mut parts = Vec::new();
    if value.is_array() {
        for index in 0..value.length()? {
            parts.push(go_text_within(&value.at(index)?, depth + 1)?);
        }
        return Ok(format!("[{}]", parts.join(" ")));
    }
    let mut names = value.keys()?;
    names.sort();
    for name in names {
        parts.push(format!("{name}:{}", go_text_within(&value.get(&name)?, depth + 1)?));
    }
    Ok(format!("map[{}]", parts.join(" ")))
}

/// What k6 calls the type of a value.
pub(in crate::modules) fn go_type(value: &Value<'_>) -> &'static str {
    if value.is_string() {
        "string"
    } else if value.is_number() {
        if value.as_number().is_ok_and(|number| number.fract() == 0.0) { "int64" } else { "float64" }
    } else if value.is_boolean() {
        "bool"
    } else if value.is_array() {
        "[]interface {}"
    } else if value.is_object() {
        "map[string]interface {}"
    } else {
        "<nil>"
    }
}
