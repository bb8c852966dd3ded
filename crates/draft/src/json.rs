//! JSON whose texts may have values in them.

use serde_json::Value;

use crate::text::Text;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json {
    /// Null, a boolean or a number.
    Plain(Value),
    Text(Text),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// What a source says, as it is.
    pub(crate) fn literal(value: &Value) -> Json {
        match value {
            Value::String(text) => Json::Text(Text::literal(text)),
            Value::Array(items) => Json::List(items.iter().map(Json::literal).collect()),
            Value::Object(fields) => Json::Object(
                fields.iter().map(|(name, value)| (name.clone(), Json::literal(value))).collect(),
            ),
            plain => Json::Plain(plain.clone()),
        }
    }

    pub(crate) fn text(text: &str) -> Json {
        Json::Text(Text::literal(text))
    }

    /// Its text on one line, without blanks.
    pub(crate) fn written(&self) -> Text {
        let mut out = Text::default();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut Text) {
        match self {
            Json::Plain(value) => out.push_literal(&value.to_string()),
            Json::Text(text) => write_text(text, out),
            Json::List(items) => {
                out.push_literal("[");
                for (index, item) in items.iter().enumerate() {
                    out.push_literal(if index > 0 { "," } else { "" });
                    item.write(out);
                }
                out.push_literal("]");
            }
            Json::Object(fields) => {
                out.push_literal("{");
                for (index, (name, value)) in fields.iter().enumerate() {
                    out.push_literal(if index > 0 { "," } else { "" });
                    write_text(&Text::literal(name), out);
                    out.push_literal(":");
                    value.write(out);
                }
                out.push_literal("}");
            }
        }
    }

    /// It as a text that is not JSON: of a text its characters, of all others JSON.
    pub(crate) fn plain(&self) -> Text {
        match self {
            Json::Text(text) => text.clone(),
            Json::Plain(Value::Null) => Text::default(),
            other => other.written(),
        }
    }
}

fn write_text(text: &Text, out: &mut Text) {
    out.push_literal("\"");
    out.push(&text.in_json());
    out.push_literal("\"");
}

/// The value whose texts are templates, if `json_template` of it gives exactly the text `written`.
pub(crate) fn as_templates(written: &Text) -> Option<Value> {
    // JSON in its shortest form has no escapes of `$`, `{` and `}`, so templates can be found before it is read.
    let value = serde_json::from_str(&without_json_mark(written)).ok()?;
    let template = workload::template::json_template(&value).ok()?;
    (crate::text::normal(template.parts()) == written.parts()).then_some(value)
}

/// The source of a template in which `${… | json}` is written as `${…}`, as in the texts of a plan's `json`.
fn without_json_mark(text: &Text) -> String {
    use workload::template::Part;
    let mut plain = Text::default();
    for part in text.parts() {
        match part {
            Part::Literal(text) => plain.push_literal(text),
            Part::JsonValue(value) => plain.push(&Text::value(value.clone())),
            // In JSON, but not within a text of it.
            Part::Value(_) | Part::UrlValue(_) => return String::new(),
        }
    }
    plain.source()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_a_table_of_the_plan_only_where_that_sends_the_same() {
        let token = Text::literal("{\"a\":\"x ").then(&Text::env("T").in_json()).and("\",\"b\":1.5}");
        assert_eq!(as_templates(&token), Some(serde_json::json!({"a": "x ${env.T}", "b": 1.5})));
        for other in
            ["{\"b\":1,\"a\":2}", "{\"a\": 1}", "{\"a\":1.50}", "{\"a\":1,\"a\":1}", "{\"a\":\"\\u0024{x}\"}"]
        {
            assert_eq!(as_templates(&Text::literal(other)), None, "{other}");
        }
        let escaped = as_templates(&Text::literal("{\"a\":\"${env.HOME}\"}"));
        assert_eq!(escaped, Some(serde_json::json!({"a": "$${env.HOME}"})));
        let number = Text::literal("{\"id\":").then(&Text::env("T")).and("}");
        assert_eq!(as_templates(&number), None);
    }
}
