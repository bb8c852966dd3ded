//! YAML as values, as the API's clients read it.

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

/// The one document of a text.
pub(crate) fn document(text: &str) -> Value {
    let events: Result<Vec<_>, _> = Parser::new_from_str(text).collect();
    let events = events.unwrap_or_else(|error| panic!("{error}:\n{text}"));
    let mut events = events.into_iter().map(|(event, _)| event);
    while !matches!(events.next().unwrap(), Event::DocumentStart(_)) {}
    value(&mut events).unwrap()
}

/// The value that begins with the next event; `None` at the end of its container.
fn value<'a>(events: &mut impl Iterator<Item = Event<'a>>) -> Option<Value> {
    match events.next()? {
        Event::Scalar(text, style, ..) => Some(scalar(&text, style)),
        Event::SequenceStart(..) => Some(std::iter::from_fn(|| value(events)).collect()),
        Event::MappingStart(..) => {
            let mut entries = Map::new();
            while let Some(name) = value(events) {
                let name = name.as_str().unwrap().to_owned();
                assert!(
                    entries.insert(name.clone(), value(events).unwrap()).is_none(),
                    "`{name}` is there twice"
                );
            }
            Some(entries.into())
        }
        _ => None,
    }
}

fn scalar(text: &str, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return text.into();
    }
    serde_json::from_str(text).ok().filter(|value: &Value| !value.is_string()).unwrap_or_else(|| text.into())
}
