//! Text with values in it: `user-${users.id}`, `${random(1, 1000)}`, `${env.TOKEN}`.

use serde::{Deserialize, Serialize};

mod parse;
#[cfg(test)]
mod tests;

/// Text with values in it. Written to archives as its source, so that no value gets there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Template {
    parts: Vec<Part>,
    source: String,
}

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Text as it stands.
    Literal(String),
    /// A value that is put in for each use.
    Value(Value),
}

/// A value that differs from use to use. All random ones are functions of the seed and the arrival.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// `${users.id}`: a column of the row of a data file that this iteration was given.
    Data {
        /// The data file's name in the plan.
        set: String,
        /// The column's name.
        column: String,
    },
    /// `${token}`: extracted from an earlier response.
    Variable(String),
    /// `${env.NAME}`: an environment variable, read once before the run; a secret for redaction.
    Env(String),
    /// `${random(LOW, HIGH)}`: a whole number, both ends included.
    Random {
        /// The lowest it can be.
        low: i64,
        /// The highest it can be.
        high: i64,
    },
    /// `${choice("a", "b")}`: one of these.
    Choice(Vec<String>),
    /// `${counter(NAME)}` or `${counter(NAME, START)}`: the next number of a counter that the whole run shares.
    Counter {
        /// Its name.
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

/// What is wrong with a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TemplateError {
    /// What is wrong and what to do, in words.
    pub message: String,
    /// The byte of the template at which it goes wrong.
    pub at: usize,
}

impl Template {
    /// Read a template. `${…}` is a value, `$${` stands for `${`, everything else for itself.
    ///
    /// # Errors
    /// [`TemplateError`] names what is wrong and where.
    pub fn parse(source: &str) -> Result<Template, TemplateError> {
        parse::parse(source).map(|parts| Template { parts, source: source.to_owned() })
    }

    /// The template that yields exactly `text`.
    pub fn literal(text: &str) -> Template {
        let parts = if text.is_empty() { Vec::new() } else { vec![Part::Literal(text.to_owned())] };
        Template { parts, source: text.replace("${", "$${") }
    }

    /// The pieces, in order. Never two literals in a row, never an empty one.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// As the plan has it.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether it yields nothing, ever.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Its text, if there is no value in it.
    pub fn as_literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// The values in it, in order.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.parts.iter().filter_map(|part| match part {
            Part::Value(value) => Some(value),
            Part::Literal(_) => None,
        })
    }
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

/// The templates in the strings of a JSON value, keys included, in order. What is no template is passed over.
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
