//! YAML as JSON, bounded: an alias is a copy, so that a short text could be a huge value.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span};
use serde_json::{Map, Value};

/// The deepest nesting.
const MAX_DEPTH: usize = 100;
/// The most values, copies included.
const MAX_VALUES: usize = 1_000_000;

/// What is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct YamlError {
    line: usize,
    column: usize,
    problem: String,
}

impl YamlError {
    /// `line:column`, from 1.
    pub(crate) fn place(&self) -> String {
        format!("{}:{}", self.line, self.column)
    }

    pub(crate) fn problem(&self) -> String {
        format!("no YAML: {}", self.problem)
    }

    fn at(span: Span, problem: &str) -> YamlError {
        YamlError { line: span.start.line(), column: span.start.col() + 1, problem: problem.to_owned() }
    }
}

/// The first document of `text`.
///
/// # Errors
/// [`YamlError`] where it is no YAML, too deep or too large.
pub(crate) fn read(text: &str) -> Result<Value, YamlError> {
    let mut reader = Reader { events: Parser::new_from_str(text), anchors: BTreeMap::new(), values: 0 };
    loop {
        match reader.next()? {
            (Event::StreamStart | Event::Nothing, _) => {}
            (Event::DocumentStart(_), _) => {
                let (event, span) = reader.next()?;
                return reader.value(event, span, 0).map(|(value, _)| value);
            }
            (_, span) => return Err(YamlError::at(span, "it has no document")),
        }
    }
}

struct Reader<'a> {
    events: Parser<'a, saphyr_parser::StrInput<'a>>,
    /// The values of anchors, and how many values each consists of.
    anchors: BTreeMap<usize, (Value, usize)>,
    values: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), YamlError> {
        let wrong = |error: ScanError| YamlError {
            line: error.marker().line(),
            column: error.marker().col() + 1,
            problem: error.info().to_owned(),
        };
        match self.events.next() {
            Some(event) => event.map_err(wrong),
            None => Err(YamlError { line: 1, column: 1, problem: "it ends too early".to_owned() }),
        }
    }

    /// The value that begins with `event`, and how many values it consists of.
    fn value(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<(Value, usize), YamlError> {
        if depth > MAX_DEPTH {
            return Err(YamlError::at(span, "it is nested too deeply"));
        }
        let before = self.values;
        self.count(1, span)?;
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, _) => (scalar(&text, style), anchor),
            Event::SequenceStart(anchor, _) => (self.sequence(depth)?, anchor),
            Event::MappingStart(anchor, _) => (self.mapping(depth)?, anchor),
            Event::Alias(anchor) => {
                let known = self.anchors.get(&anchor).cloned();
                let (value, size) =
                    known.ok_or_else(|| YamlError::at(span, "an alias within its own anchor"))?;
                self.count(size, span)?;
                (value, 0)
            }
            _ => return Err(YamlError::at(span, "a value is missing")),
        };
        let size = self.values - before;
        if anchor > 0 {
            self.anchors.insert(anchor, (value.clone(), size));
        }
        Ok((value, size))
    }

    fn count(&mut self, more: usize, span: Span) -> Result<(), YamlError> {
        self.values += more;
        if self.values > MAX_VALUES { Err(YamlError::at(span, "it has too many values")) } else { Ok(()) }
    }

    fn sequence(&mut self, depth: usize) -> Result<Value, YamlError> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(Value::Array(items)),
                (event, span) => items.push(self.value(event, span, depth + 1)?.0),
            }
        }
    }

    /// `<<` adds the keys that the mapping does not have.
    fn mapping(&mut self, depth: usize) -> Result<Value, YamlError> {
        let mut fields = Map::new();
        let mut inherited = Map::new();
        loop {
            let (event, span) = match self.next()? {
                (Event::MappingEnd, _) => break,
                next => next,
            };
            let key = match &event {
                // A key such as 200 or true is its text.
                Event::Scalar(text, ..) => text.clone().into_owned(),
                _ => return Err(YamlError::at(span, "a key that is no text")),
            };
            let (event, span) = self.next()?;
            match self.value(event, span, depth + 1)?.0 {
                Value::Object(others) if key == "<<" => inherited = others,
                value => {
                    fields.insert(key, value);
                }
            }
        }
        for (key, value) in inherited {
            fields.entry(key).or_insert(value);
        }
        Ok(Value::Object(fields))
    }
}

/// By YAML's core schema; only unquoted scalars may be null, booleans or numbers.
fn scalar(text: &str, style: ScalarStyle) -> Value {
    let is_number = text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+' || c == '.');
    match text {
        _ if style != ScalarStyle::Plain => text.into(),
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => true.into(),
        "false" | "False" | "FALSE" => false.into(),
        _ if !is_number => text.into(),
        _ => match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(whole), _) => whole.into(),
            (_, Ok(number)) if number.is_finite() => number.into(),
            _ => text.into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn yaml_is_read_as_json() {
        let text = "a: &x [1, 1.5, '1', true, ~]\nb: *x\nc:\n  <<: {d: 1, e: 2}\n  d: 3\n200: ok\n";
        let expected = json!({"a": [1, 1.5, "1", true, null], "b": [1, 1.5, "1", true, null],
            "c": {"d": 3, "e": 2}, "200": "ok"});
        assert_eq!(read(text), Ok(expected));
    }

    #[test]
    fn what_is_no_yaml_is_an_error_with_its_place() {
        assert_eq!(read("a: [1\nb: 2").unwrap_err().line, 2);
        for wrong in ["", "a: *b", "? [1]\n: 2", "a: &a [*a]", "\u{0}"] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }

    /// Nine levels of nine aliases each would be 387 million values.
    #[test]
    fn aliases_that_multiply_are_refused() {
        let mut text = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..9 {
            let before = format!("*a{},", level - 1).repeat(9);
            text.push_str(&format!("a{level}: &a{level} [{before}]\n"));
        }
        assert_eq!(read(&text).unwrap_err().problem, "it has too many values");
        assert!(read(&"[".repeat(10_000)).is_err());
    }
}
