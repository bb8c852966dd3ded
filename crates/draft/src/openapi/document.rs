//! A description with its references.

use std::cell::Cell;

use serde_json::Value;

use crate::error::DraftError;

/// The longest chain of references.
const MAX_REFERENCES: usize = 16;

/// A description, and the name of the file it is from.
#[derive(Debug)]
pub(super) struct Document<'a> {
    pub(super) name: &'a str,
    pub(super) root: &'a Value,
    /// How many more values may be made up: schemas may refer to each other so that a value of them is huge.
    values_left: Cell<usize>,
}

/// The most values that are made up for one description.
const MAX_VALUES: usize = 100_000;

impl<'a> Document<'a> {
    pub(super) fn new(name: &'a str, root: &'a Value) -> Document<'a> {
        Document { name, root, values_left: Cell::new(MAX_VALUES) }
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

    /// What `value` refers to, if it is a reference; and the last reference.
    pub(super) fn resolved<'v>(
        &self,
        value: &'v Value,
        pointer: &str,
    ) -> Result<(&'v Value, Option<&'v str>), DraftError>
    where
        'a: 'v,
    {
        let (mut value, mut last) = (value, None);
        for _ in 0..MAX_REFERENCES {
            let Some(reference) = value.get("$ref").and_then(Value::as_str) else { return Ok((value, last)) };
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
            last = Some(reference);
        }
        Err(self.wrong(pointer, "refers to itself"))
    }
}

/// A name as a part of a JSON pointer (RFC 6901).
pub(super) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
