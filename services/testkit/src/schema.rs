//! Checks JSON against the part of JSON Schema that the API's document uses. Any other keyword fails the check, so that
//! nothing in the document goes unchecked.

use kit::clock::UtcMs;
use serde_json::Value;

/// The document's only pattern: an instant in UTC, or empty.
const INSTANT: &str = "^([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z)?$";

/// Every way in which `value` differs from `schema`, each with its path.
pub fn differences(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    Checker { document, found: &mut found }.check(schema, value, "$");
    found
}

struct Checker<'a> {
    document: &'a Value,
    found: &'a mut Vec<String>,
}

impl Checker<'_> {
    fn check(&mut self, schema: &Value, value: &Value, path: &str) {
        if let Some(reference) = schema["$ref"].as_str() {
            let target = self.document.pointer(reference.trim_start_matches('#'));
            let target = target.unwrap_or_else(|| panic!("{reference} does not exist")).clone();
            return self.check(&target, value, path);
        }
        for (keyword, argument) in schema.as_object().expect("a schema is an object") {
            let holds = match keyword.as_str() {
                "description" | "format" => true,
                "type" => is_of_type(argument, value),
                "enum" => argument.as_array().unwrap().contains(value),
                "minimum" => value.as_i64() >= argument.as_i64(),
                "maximum" => value.as_i64() <= argument.as_i64(),
                "pattern" => is_instant(argument, value),
                "required" => argument
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|name| value.get(name.as_str().unwrap()).is_some()),
                "additionalProperties" if argument.is_object() => {
                    for (name, member) in value.as_object().into_iter().flatten() {
                        self.check(argument, member, &format!("{path}.{name}"));
                    }
                    true
                }
                "additionalProperties" => has_no_others(schema, value),
                "properties" => {
                    for (name, member) in argument.as_object().unwrap() {
                        if let Some(value) = value.get(name) {
                            self.check(member, value, &format!("{path}.{name}"));
                        }
                    }
                    true
                }
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(argument, item, &format!("{path}[{index}]"));
                    }
                    true
                }
                _ => panic!("the document uses {keyword:?}, which is not checked"),
            };
            if !holds {
                self.found.push(format!("{path}: {value} violates {keyword} {argument}"));
            }
        }
    }
}

fn is_of_type(argument: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        _ => panic!("{name:?} is not a type"),
    };
    match argument {
        Value::Array(names) => names.iter().any(|name| is(name.as_str().unwrap())),
        name => is(name.as_str().unwrap()),
    }
}

fn is_instant(argument: &Value, value: &Value) -> bool {
    assert_eq!(argument, INSTANT, "this pattern is not checked");
    value
        .as_str()
        .is_some_and(|text| text.is_empty() || (text.ends_with('Z') && UtcMs::parse(text).is_some()))
}

fn has_no_others(schema: &Value, value: &Value) -> bool {
    assert_eq!(schema["additionalProperties"], false);
    value
        .as_object()
        .is_none_or(|members| members.keys().all(|name| schema["properties"].get(name).is_some()))
}

#[test]
fn every_difference_is_found() {
    let document = serde_json::json!({ "o": { "type": "object", "additionalProperties": false, "required": ["n"],
        "properties": { "n": { "type": "integer", "minimum": 1, "maximum": 9 }, "w": { "enum": ["a"] },
                        "l": { "type": "array", "items": { "type": ["string", "null"] } } } } });
    let count = |value: Value| differences(&document, &serde_json::json!({ "$ref": "#/o" }), &value).len();
    assert_eq!(count(serde_json::json!({ "n": 1, "w": "a", "l": ["x", null] })), 0);
    let texts = serde_json::json!({ "type": "object", "additionalProperties": { "type": "string" } });
    assert_eq!(differences(&document, &texts, &serde_json::json!({ "a": "x", "b": 1 })).len(), 1);
    for (value, expect) in [
        (serde_json::json!({}), 1),
        (serde_json::json!({ "n": 0, "w": "b" }), 2),
        (serde_json::json!({ "n": 10 }), 1),
        (serde_json::json!({ "n": 1, "other": 1 }), 1),
        (serde_json::json!({ "n": 1, "l": [1, true, "x"] }), 2),
    ] {
        assert_eq!(count(value.clone()), expect, "{value}");
    }
}
