//! Reading JSON objects field by field, so that every problem is reported with its path, and all at once. What has no
//! effect, such as an unknown key, is only a warning.

use std::cell::RefCell;
use std::fmt;
use std::ops::RangeInclusive;

use serde_json::{Map, Value};

/// Problems reported at most.
const MAX_PROBLEMS: usize = 50;
/// Characters an id may have.
const MAX_ID_CHARS: usize = 100;
/// Characters a display text may have.
const MAX_TEXT_CHARS: usize = 2_000;

/// One violation of a rule, or one thing without effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where, for example `challenges[2].goals[0].requirement.targetValue`; empty for the file as a whole.
    pub path: String,
    /// What is wrong there.
    pub reason: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.reason),
            path => write!(f, "{path}: {}", self.reason),
        }
    }
}

/// Problems found so far, shared by all readers of one file.
#[derive(Debug, Default)]
pub(super) struct Problems {
    errors: RefCell<Vec<Problem>>,
    warnings: RefCell<Vec<Problem>>,
}

impl Problems {
    pub(super) fn add(&self, path: impl Into<String>, reason: impl Into<String>) {
        push(&self.errors, path.into(), reason.into());
    }

    fn warn(&self, path: String, reason: String) {
        push(&self.warnings, path, reason);
    }

    /// The warnings, when there are no errors.
    pub(super) fn into_warnings(self) -> Result<Vec<Problem>, Vec<Problem>> {
        let errors = self.errors.into_inner();
        if errors.is_empty() { Ok(self.warnings.into_inner()) } else { Err(errors) }
    }
}

fn push(list: &RefCell<Vec<Problem>>, path: String, reason: String) {
    let mut found = list.borrow_mut();
    if found.len() < MAX_PROBLEMS {
        found.push(Problem { path, reason });
    }
}

/// One JSON object and its path. A missing or invalid field is reported and read as a default value.
pub(super) struct Fields<'a> {
    pub(super) path: String,
    map: &'a Map<String, Value>,
    problems: &'a Problems,
}

impl<'a> Fields<'a> {
    /// `value` as an object. Other keys than `known_keys` have no effect.
    pub(super) fn read(
        value: &'a Value,
        path: String,
        known_keys: &[&str],
        problems: &'a Problems,
    ) -> Option<Self> {
        let Value::Object(map) = value else {
            problems.add(path, "must be an object");
            return None;
        };
        let fields = Self { path, map, problems };
        for key in map.keys().filter(|key| !known_keys.contains(&key.as_str())) {
            let known = known_keys.join(", ");
            problems.warn(fields.at(key), format!("is not known here and has no effect; known are {known}"));
        }
        Some(fields)
    }

    pub(super) fn at(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    pub(super) fn invalid(&self, key: &str, reason: impl Into<String>) {
        self.problems.add(self.at(key), reason);
    }

    pub(super) fn warn(&self, key: &str, reason: impl Into<String>) {
        self.problems.warn(self.at(key), reason.into());
    }

    fn get(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    /// A required id.
    pub(super) fn id(&self, key: &str) -> String {
        let id = self.text(key);
        if id.chars().count() > MAX_ID_CHARS || id.chars().any(char::is_control) {
            self.invalid(
                key,
                format!("must be at most {MAX_ID_CHARS} characters without control characters"),
            );
        }
        id
    }

    /// A required text that is not empty.
    pub(super) fn text(&self, key: &str) -> String {
        match self.get(key).map(Value::as_str) {
            Some(Some(text)) if !text.trim().is_empty() => self.bounded(key, text),
            Some(Some(_)) => self.empty(key, "must not be empty"),
            Some(None) => self.empty(key, "must be a text"),
            None => self.empty(key, "is missing"),
        }
    }

    /// A text that may be missing or empty.
    pub(super) fn optional_text(&self, key: &str) -> String {
        match self.get(key).map(Value::as_str) {
            Some(Some(text)) => self.bounded(key, text),
            Some(None) => self.empty(key, "must be a text"),
            None => String::new(),
        }
    }

    fn bounded(&self, key: &str, text: &str) -> String {
        if text.chars().count() > MAX_TEXT_CHARS {
            self.invalid(key, format!("must be at most {MAX_TEXT_CHARS} characters"));
        }
        text.to_owned()
    }

    fn empty(&self, key: &str, reason: &str) -> String {
        self.invalid(key, reason);
        String::new()
    }

    /// `true` or `false`; missing means `false`.
    pub(super) fn flag(&self, key: &str) -> bool {
        match self.get(key) {
            None => false,
            Some(Value::Bool(flag)) => *flag,
            Some(_) => {
                self.invalid(key, "must be true or false");
                false
            }
        }
    }

    /// A required whole number.
    pub(super) fn integer(&self, key: &str, range: RangeInclusive<i32>) -> i32 {
        let number = self.get(key).and_then(Value::as_i64).and_then(|n| i32::try_from(n).ok());
        match number {
            Some(number) if range.contains(&number) => number,
            _ => {
                let reason = format!("must be a whole number from {} to {}", range.start(), range.end());
                self.invalid(key, reason);
                *range.start()
            }
        }
    }

    /// A required choice between texts; an invalid one is reported and read as the first.
    pub(super) fn choice<T: Copy>(&self, key: &str, choices: &[(&'static str, T)]) -> T {
        let found = self.get(key).and_then(Value::as_str);
        if let Some((_, value)) = choices.iter().find(|(text, _)| Some(*text) == found) {
            return *value;
        }
        let known: Vec<&str> = choices.iter().map(|(text, _)| *text).collect();
        self.invalid(key, format!("must be one of {}", known.join(", ")));
        choices[0].1
    }

    /// Like [`Self::choice`], for one that may be missing.
    pub(super) fn optional_choice<T: Copy>(&self, key: &str, choices: &[(&'static str, T)]) -> Option<T> {
        self.get(key).map(|_| self.choice(key, choices))
    }

    /// An object that may be missing.
    pub(super) fn child(&self, key: &str, known_keys: &[&str]) -> Option<Fields<'a>> {
        Fields::read(self.get(key)?, self.at(key), known_keys, self.problems)
    }

    /// A required object.
    pub(super) fn required(&self, key: &str, known_keys: &[&str]) -> Option<Fields<'a>> {
        if self.get(key).is_none() {
            self.invalid(key, "is missing");
        }
        self.child(key, known_keys)
    }

    /// A required list of at least one object.
    pub(super) fn children(&self, key: &str, known_keys: &[&str]) -> Vec<Fields<'a>> {
        let items = self.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if items.is_empty() {
            self.invalid(key, "must be a list with at least one entry");
        }
        let path_of = |i| format!("{}[{i}]", self.at(key));
        let each = items.iter().enumerate();
        each.filter_map(|(i, item)| Fields::read(item, path_of(i), known_keys, self.problems)).collect()
    }

    /// A list of texts that may be missing.
    pub(super) fn texts(&self, key: &str) -> Vec<String> {
        let Some(value) = self.get(key) else { return Vec::new() };
        let texts = value.as_array().and_then(|items| items.iter().map(Value::as_str).collect());
        let texts: Option<Vec<&str>> = texts;
        if texts.is_none() {
            self.invalid(key, "must be a list of texts");
        }
        texts.unwrap_or_default().into_iter().map(str::to_owned).collect()
    }
}
