//! YAML as JSON values, so that checks can use JSON pointers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

/// A file below `deploy/`.
pub fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(file)
}

pub fn text(file: &str) -> String {
    std::fs::read_to_string(path(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
}

/// Every document of a file. Duplicate keys are refused.
pub fn documents(file: &str) -> Vec<Value> {
    let text = text(file);
    let events: Result<Vec<_>, _> = Parser::new_from_str(&text).collect();
    let events = events.unwrap_or_else(|e| panic!("{file}: {e}"));
    let mut reader = Reader { events: events.into_iter().map(|(event, _)| event), anchors: BTreeMap::new() };
    let mut documents = Vec::new();
    while let Some(event) = reader.events.next() {
        if matches!(event, Event::DocumentStart(_)) {
            documents.extend(reader.value());
        }
    }
    documents
}

/// Builds values out of events.
struct Reader<I> {
    events: I,
    anchors: BTreeMap<usize, Value>,
}

impl<'a, I: Iterator<Item = Event<'a>>> Reader<I> {
    /// The value that begins with the next event; `None` at the end of its container.
    fn value(&mut self) -> Option<Value> {
        let (value, anchor) = match self.events.next()? {
            Event::Scalar(text, style, anchor, _) => (scalar(&text, style), anchor),
            Event::SequenceStart(anchor, _) => (std::iter::from_fn(|| self.value()).collect(), anchor),
            Event::MappingStart(anchor, _) => (self.mapping(), anchor),
            Event::Alias(anchor) => (self.anchors[&anchor].clone(), 0),
            _ => return None,
        };
        if anchor > 0 {
            self.anchors.insert(anchor, value.clone());
        }
        Some(value)
    }

    /// `<<` adds the keys that the mapping does not have.
    fn mapping(&mut self) -> Value {
        let mut mapping = Map::new();
        let mut inherited = Map::new();
        while let Some(key) = self.value() {
            let key = key.as_str().unwrap().to_owned();
            match self.value().unwrap() {
                Value::Object(others) if key == "<<" => inherited = others,
                value => assert!(mapping.insert(key.clone(), value).is_none(), "`{key}` is a duplicate key"),
            }
        }
        for (key, value) in inherited {
            mapping.entry(key).or_insert(value);
        }
        mapping.into()
    }
}

/// Only unquoted scalars may be null, booleans or numbers.
fn scalar(text: &str, style: ScalarStyle) -> Value {
    match text {
        _ if style != ScalarStyle::Plain => text.into(),
        "" | "~" | "null" => Value::Null,
        "true" => true.into(),
        "false" => false.into(),
        _ => text.parse::<i64>().map_or_else(|_| text.into(), Value::from),
    }
}
