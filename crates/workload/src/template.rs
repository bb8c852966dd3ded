//! Templates, texts with values: `user-${users.id}`, `${random(1, 1000)}`, `${env.TOKEN}`.

use std::fmt::{self, Write as _};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use serde::{Deserialize, Serialize};

pub use parse::is_name;

mod parse;
#[cfg(test)]
mod tests;

/// A text with values. Archives store its source, so that no value is stored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Template {
    parts: Vec<Part>,
    source: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Literal(String),
    /// A value that is filled in for each use.
    Value(Value),
    /// `${… | json}`: a value inside a JSON string, with quotes, backslashes and control characters escaped
    /// ([`push_json_escaped`]).
    JsonValue(Value),
    /// `${… | url}`: a value inside a URL or a form, percent-encoded ([`push_url_encoded`]).
    UrlValue(Value),
}

impl Part {
    /// Its value; none of a literal text.
    pub fn value(&self) -> Option<&Value> {
        match self {
            Part::Literal(_) => None,
            Part::Value(value) | Part::JsonValue(value) | Part::UrlValue(value) => Some(value),
        }
    }

    /// The part's text in a template.
    pub fn source(&self) -> String {
        match self {
            Part::Literal(text) => text.replace("${", "$${"),
            Part::Value(value) => format!("${{{value}}}"),
            Part::JsonValue(value) => format!("${{{value} | json}}"),
            Part::UrlValue(value) => format!("${{{value} | url}}"),
        }
    }
}

/// A value that differs from use to use. All random values are functions of the seed and the arrival.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// `${users.id}`: a column of a data file, in the iteration's row.
    Data {
        /// The data file's name in the plan.
        set: String,
        column: String,
    },
    /// `${token}`: extracted from an earlier response.
    Variable(String),
    /// `${env.NAME}`: an environment variable, read once before the run; redacted.
    Env(String),
    /// `${random(LOW, HIGH)}`: a whole number, both ends included.
    Random { low: i64, high: i64 },
    /// `${choice("a", "b")}`: one of these texts.
    Choice(Vec<String>),
    /// `${counter(NAME)}` or `${counter(NAME, START)}`: the next number of a counter of the whole run.
    Counter {
        name: String,
        /// Its first number.
        start: u64,
    },
    /// `${iteration}`: the number of the arrival within its scenario, from 0.
    Iteration,
    /// `${vu}`: the number of the virtual user within the run, from 1.
    VirtualUser,
    /// `${uuid()}`: a version 4 UUID, seeded.
    Uuid,
    /// `${now()}`: the wall-clock time as RFC 3339 in UTC with milliseconds.
    Now,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TemplateError {
    /// What is wrong and what to do.
    pub message: String,
    /// The byte of the template at which the error is.
    pub at: usize,
}

impl Template {
    /// Parse a template. `${…}` is a value, `$${` is a literal `${`, all other text is literal.
    ///
    /// # Errors
    /// [`TemplateError`] with the place of the error.
    pub fn parse(source: &str) -> Result<Template, TemplateError> {
        parse::parse(source).map(|parts| Template { parts, source: source.to_owned() })
    }

    /// The template whose text is always `text`.
    pub fn literal(text: &str) -> Template {
        let parts = if text.is_empty() { Vec::new() } else { vec![Part::Literal(text.to_owned())] };
        Template { parts, source: text.replace("${", "$${") }
    }

    /// The parts, in order. Never two literals in a row, never an empty one.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Its text in the plan.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether its text is always empty.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Its text, if it has no values.
    pub fn as_literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// Its values, in order.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.parts.iter().filter_map(Part::value)
    }
}

impl fmt::Display for Value {
    /// The text between `${` and `}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Data { set, column } => write!(f, "{set}.{column}"),
            Value::Variable(name) => f.write_str(name),
            Value::Env(name) => write!(f, "env.{name}"),
            Value::Random { low, high } => write!(f, "random({low}, {high})"),
            Value::Choice(texts) => {
                let quote = |text: &String| text.replace('\\', "\\\\").replace('"', "\\\"");
                let texts: Vec<_> = texts.iter().map(|text| format!("\"{}\"", quote(text))).collect();
                write!(f, "choice({})", texts.join(", "))
            }
            Value::Counter { name, start } => write!(f, "counter({name}, {start})"),
            Value::Iteration => f.write_str("iteration"),
            Value::VirtualUser => f.write_str("vu"),
            Value::Uuid => f.write_str("uuid()"),
            Value::Now => f.write_str("now()"),
        }
    }
}

/// Append `text` to `out`, escaped for a JSON string (RFC 8259, section 7), without the quotes.
pub fn push_json_escaped(text: &[u8], out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    for byte in text {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..0x20 => {
                let (high, low) = (HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]);
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
            }
            _ => out.push(*byte),
        }
    }
}

/// Append `text` to `out`, percent-encoded for a part of a path, a query or a form: all but the unreserved characters of
/// RFC 3986, section 2.3.
pub fn push_url_encoded(text: &[u8], out: &mut Vec<u8>) {
    const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    for piece in percent_encode(text, KEPT) {
        out.extend_from_slice(piece.as_bytes());
    }
}

/// The template whose text is `json`; `${…}` in its strings are values.
///
/// # Errors
/// [`TemplateError`] if a string is not a template.
pub fn json_template(json: &serde_json::Value) -> Result<Template, TemplateError> {
    let mut source = String::new();
    push_json(json, &mut source)?;
    Template::parse(&source)
}

fn push_json(json: &serde_json::Value, source: &mut String) -> Result<(), TemplateError> {
    match json {
        serde_json::Value::String(text) => push_json_text(text, source)?,
        serde_json::Value::Array(items) => {
            source.push('[');
            for (at, item) in items.iter().enumerate() {
                source.push_str(if at > 0 { "," } else { "" });
                push_json(item, source)?;
            }
            source.push(']');
        }
        serde_json::Value::Object(fields) => {
            source.push('{');
            for (at, (key, value)) in fields.iter().enumerate() {
                source.push_str(if at > 0 { "," } else { "" });
                push_json_text(key, source)?;
                source.push(':');
                push_json(value, source)?;
            }
            source.push('}');
        }
        plain => source.push_str(&plain.to_string()),
    }
    Ok(())
}

fn push_json_text(text: &str, source: &mut String) -> Result<(), TemplateError> {
    source.push('"');
    for part in Template::parse(text)?.parts {
        match part {
            Part::Literal(text) => {
                let mut escaped = Vec::new();
                push_json_escaped(text.as_bytes(), &mut escaped);
                source.push_str(&String::from_utf8_lossy(&escaped).replace("${", "$${"));
            }
            Part::Value(value) | Part::JsonValue(value) => {
                let _ = write!(source, "${{{value} | json}}");
            }
            // What is percent-encoded needs no escapes of JSON.
            url @ Part::UrlValue(_) => source.push_str(&url.source()),
        }
    }
    source.push('"');
    Ok(())
}

impl From<Template> for String {
    fn from(template: Template) -> String {
        template.source
    }
}

impl TryFrom<String> for Template {
    type Error = TemplateError;

    fn try_from(source: String) -> Result<Self, Self::Error> {
        Template::parse(&source)
    }
}

/// The templates in the strings of a JSON value, keys included, in order. Strings that are not templates are skipped.
pub fn templates_in(json: &serde_json::Value) -> Vec<Template> {
    let mut found = Vec::new();
    collect(json, &mut found);
    found
}

fn collect(json: &serde_json::Value, found: &mut Vec<Template>) {
    match json {
        serde_json::Value::String(text) => found.extend(Template::parse(text).ok()),
        serde_json::Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        serde_json::Value::Object(fields) => {
            for (key, value) in fields {
                found.extend(Template::parse(key).ok());
                collect(value, found);
            }
        }
        _ => {}
    }
}
