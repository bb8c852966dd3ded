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
        format!("not YAML: {}", self.problem)
    }

    fn at(span: Span, problem: &str) -> YamlError {
        YamlError { line: span.start.line(), column: span.start.col() + 1, problem: problem.to_owned() }
    }
}

/// A value, and how its scalars are written in the text where that is not how JSON writes them, by their places (RFC 6901).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct YamlDocument {
    pub(crate) value: Value,
    pub(crate) texts: BTreeMap<String, String>,
}

/// The first document of `text`.
///
/// # Errors
/// [`YamlError`] where it is not YAML, too deep or too large.
pub(crate) fn read(text: &str) -> Result<YamlDocument, YamlError> {
    let mut reader = Reader { text, events: Parser::new_from_str(text), anchors: BTreeMap::new(), values: 0 };
    loop {
        match reader.next()? {
            (Event::StreamStart | Event::Nothing, _) => {}
            (Event::DocumentStart(_), _) => {
                let (event, span) = reader.next()?;
                let Node { value, texts, .. } = reader.value(event, span, 0)?;
                return Ok(YamlDocument { value, texts: texts.into_iter().collect() });
            }
            (_, span) => return Err(YamlError::at(span, "it has no document")),
        }
    }
}

/// A value that was read.
#[derive(Debug, Clone)]
struct Node {
    value: Value,
    /// How many values it consists of.
    size: usize,
    /// Its scalars that JSON writes in another way, by their places in it.
    texts: Vec<(String, String)>,
}

impl Node {
    fn from_value(value: Value) -> Node {
        Node { value, size: 0, texts: Vec::new() }
    }

    /// Add the texts of a part, which is at `key`.
    fn take_texts(&mut self, key: &str, part: Vec<(String, String)>) {
        let key = key.replace('~', "~0").replace('/', "~1");
        self.texts.extend(part.into_iter().map(|(place, text)| (format!("/{key}{place}"), text)));
    }
}

struct Reader<'a> {
    text: &'a str,
    events: Parser<'a, saphyr_parser::StrInput<'a>>,
    /// The values of anchors.
    anchors: BTreeMap<usize, Node>,
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

    /// The value that begins with `event`.
    fn value(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node, YamlError> {
        if depth > MAX_DEPTH {
            return Err(YamlError::at(span, "it is nested too deeply"));
        }
        let before = self.values;
        self.count(1, span)?;
        let (mut node, anchor) = match event {
            Event::Scalar(text, style, anchor, _) => (scalar_node(&text, style), anchor),
            Event::SequenceStart(anchor, _) => (self.sequence(depth)?, anchor),
            Event::MappingStart(anchor, _) => (self.mapping(depth)?, anchor),
            Event::Alias(anchor) => {
                let known = self.anchors.get(&anchor).cloned();
                let node = known.ok_or_else(|| {
                    let problem = format!("the alias `{}` is within its own anchor", self.alias_at(span));
                    YamlError::at(span, &problem)
                })?;
                self.count(node.size, span)?;
                (node, 0)
            }
            _ => return Err(YamlError::at(span, "a value is missing")),
        };
        node.size = self.values - before;
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    /// An alias as it is written in the text, such as `*item`.
    fn alias_at(&self, span: Span) -> &'a str {
        let line = self.text.lines().nth(span.start.line().saturating_sub(1)).unwrap_or_default();
        let start = line.char_indices().nth(span.start.col()).map_or(line.len(), |(at, _)| at);
        let rest = &line[start..];
        let is_end = |c: char| c.is_whitespace() || matches!(c, ',' | ']' | '}');
        &rest[..rest.find(is_end).unwrap_or(rest.len())]
    }

    fn count(&mut self, more: usize, span: Span) -> Result<(), YamlError> {
        self.values += more;
        if self.values > MAX_VALUES { Err(YamlError::at(span, "it has too many values")) } else { Ok(()) }
    }

    fn sequence(&mut self, depth: usize) -> Result<Node, YamlError> {
        let mut node = Node::from_value(Value::Null);
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(Node { value: Value::Array(items), ..node }),
                (event, span) => {
                    let item = self.value(event, span, depth + 1)?;
                    node.take_texts(&items.len().to_string(), item.texts);
                    items.push(item.value);
                }
            }
        }
    }

    /// `<<` adds the keys that the mapping does not have.
    fn mapping(&mut self, depth: usize) -> Result<Node, YamlError> {
        let mut node = Node::from_value(Value::Null);
        let mut fields = Map::new();
        let mut inherited: Vec<Node> = Vec::new();
        loop {
            let (event, span) = match self.next()? {
                (Event::MappingEnd, _) => break,
                next => next,
            };
            let key = match &event {
                // A key such as 200 or true is its text.
                Event::Scalar(text, ..) => text.clone().into_owned(),
                _ => return Err(YamlError::at(span, "a key that is not text")),
            };
            let (event, span) = self.next()?;
            let value = self.value(event, span, depth + 1)?;
            match value.value {
                Value::Object(_) if key == "<<" => inherited.push(value),
                Value::Array(ref items) if key == "<<" && items.iter().all(Value::is_object) => {
                    inherited.extend(items.iter().map(|item| Node::from_value(item.clone())));
                }
                single => {
                    node.take_texts(&key, value.texts);
                    fields.insert(key, single);
                }
            }
        }
        for other in inherited {
            let Value::Object(others) = other.value else { continue };
            for (key, value) in others {
                if !fields.contains_key(&key) {
                    let prefix = format!("/{}", key.replace('~', "~0").replace('/', "~1"));
                    let of_key = other.texts.iter().filter(|(place, _)| {
                        place
                            .strip_prefix(&prefix)
                            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                    });
                    node.texts.extend(of_key.cloned());
                    fields.insert(key, value);
                }
            }
        }
        Ok(Node { value: Value::Object(fields), ..node })
    }
}

/// A scalar, with its text where JSON writes it in another way.
fn scalar_node(text: &str, style: ScalarStyle) -> Node {
    let mut node = Node::from_value(scalar(text, style));
    let as_json = node.value.to_string();
    if !node.value.is_string() && as_json != text {
        node.texts.push((String::new(), text.to_owned()));
    }
    node
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
        _ => match (based(text).or_else(|| text.parse::<i64>().ok()), text.parse::<f64>()) {
            (Some(whole), _) => whole.into(),
            (_, Ok(number)) if number.is_finite() => number.into(),
            _ => text.into(),
        },
    }
}

/// `0x1F` or `0o17`.
fn based(text: &str) -> Option<i64> {
    match (text.strip_prefix("0x"), text.strip_prefix("0o")) {
        (Some(digits), _) => i64::from_str_radix(digits, 16).ok(),
        (_, Some(digits)) => i64::from_str_radix(digits, 8).ok(),
        _ => None,
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
        assert_eq!(read(text).map(|document| document.value), Ok(expected));
    }

    #[test]
    fn the_texts_of_scalars_that_json_writes_in_another_way_are_kept_through_aliases() {
        let text = "a: &x {n: 007, m: 7, '/': [1.50]}\nb: *x\nc: {<<: *x, m: 0x1F}\nd: True\n";
        let document = read(text).unwrap();
        let texts: Vec<(&str, &str)> =
            document.texts.iter().map(|(place, text)| (place.as_str(), text.as_str())).collect();
        let expected = [
            ("/a/n", "007"),
            ("/a/~1/0", "1.50"),
            ("/b/n", "007"),
            ("/b/~1/0", "1.50"),
            ("/c/m", "0x1F"),
            ("/c/n", "007"),
            ("/c/~1/0", "1.50"),
            ("/d", "True"),
        ];
        assert_eq!(texts, expected);
        assert_eq!(document.value["c"]["m"], 31);
    }

    #[test]
    fn an_alias_within_its_own_anchor_is_named() {
        let error = read("a: 1\nb: &item\n  - [x, *item]\n").unwrap_err();
        assert_eq!((error.line, error.problem.as_str()), (3, "the alias `*item` is within its own anchor"));
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
