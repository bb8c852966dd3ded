//! Text with values in it: `user-${users.id}`, `${random(1, 1000)}`, `${env.TOKEN}`.

use serde::{Deserialize, Serialize};

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

impl Template {
    /// The pieces, in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// As the plan has it.
    pub fn source(&self) -> &str {
        &self.source
    }
}

impl From<Template> for String {
    fn from(template: Template) -> String {
        template.source
    }
}

impl TryFrom<String> for Template {
    type Error = std::convert::Infallible;

    fn try_from(source: String) -> Result<Self, Self::Error> {
        Ok(Template { parts: vec![Part::Literal(source.clone())], source })
    }
}
