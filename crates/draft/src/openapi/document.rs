//! A description with its references.

use std::cell::Cell;
use std::collections::BTreeMap;

use serde_json::Value;

use super::Description;
use crate::error::DraftError;

/// The longest chain of references.
const MAX_REFERENCES: usize = 16;

/// A description, and the name of the file it is from.
#[derive(Debug)]
pub(super) struct Document<'a> {
    pub(super) name: &'a str,
    pub(super) root: &'a Value,
    /// How scalars of YAML are written in it where that is not how JSON writes them, by their places.
    texts: &'a BTreeMap<String, String>,
    /// How many more values may be made up: schemas may refer to each other so that a value of them is huge.
    values_left: Cell<usize>,
}

/// The most values that are made up for one description.
const MAX_VALUES: usize = 100_000;

impl<'a> Document<'a> {
    pub(super) fn new(name: &'a str, description: &'a Description) -> Document<'a> {
        let Description { value, texts } = description;
        Document { name, root: value, texts, values_left: Cell::new(MAX_VALUES) }
    }

    /// A scalar as it is written in the description.
    pub(super) fn source_text(&self, pointer: &str, value: &Value) -> String {
        self.texts.get(pointer).cloned().unwrap_or_else(|| value.to_string())
    }

    /// Whether its version is 3.0, whose schemas are not those of JSON Schema.
    pub(super) fn is_3_0(&self) -> bool {
        self.root.get("openapi").and_then(Value::as_str).is_some_and(|version| version.starts_with("3.0"))
    }

    /// Whether one more value may be made up.
    pub(super) fn may_make_up(&self) -> bool {
        let left = self.values_left.get();
        self.values_left.set(left.saturating_sub(1));
        left > 0
    }

    /// A place in it, as a reference would name it.
    pub(super) fn place(&self, pointer: &str) -> String {
        format!("{}#{pointer}", self.name)
    }

    pub(super) fn wrong(&self, pointer: &str, problem: &str) -> DraftError {
        DraftError::at(self.place(pointer), problem)
    }

    /// What `value`, which is at `pointer`, refers to, if it is a reference; and where that is.
    pub(super) fn resolved<'v>(
        &self,
        value: &'v Value,
        pointer: &str,
    ) -> Result<(&'v Value, String), DraftError>
    where
        'a: 'v,
    {
        let (mut value, mut place) = (value, pointer.to_owned());
        for _ in 0..MAX_REFERENCES {
            let Some(reference) = value.get("$ref").and_then(Value::as_str) else {
                return Ok((value, place));
            };
            let Some(inner) = reference.strip_prefix('#') else {
                let problem = format!(
                    "refers to another file, `{reference}`: bundle the description into one file first"
                );
                return Err(self.wrong(pointer, &problem));
            };
            let decoded = crate::url::decoded(inner);
            let found = self.root.pointer(&decoded);
            value = found.ok_or_else(|| {
                self.wrong(pointer, &format!("refers to `{reference}`, which is not there"))
            })?;
            place = decoded;
        }
        Err(self.wrong(pointer, "refers to itself"))
    }
}

/// The pointer of a media type within `content`.
pub(super) fn content_pointer(pointer: &str, media_type: &str) -> String {
    format!("{pointer}/content/{}", escaped(media_type))
}

/// A name as a part of a JSON pointer (RFC 6901).
pub(super) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
