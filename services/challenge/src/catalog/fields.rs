//! Reading JSON objects field by field, so that every problem is told with its path and all are told at once.

use serde_json::{Map, Value};
use std::cell::RefCell;
use std::fmt;
use std::ops::RangeInclusive;

/// Problems listed before giving up: enough to mend a file in one go, bounded for a hopeless one.
const MAX_PROBLEMS: usize = 50;
/// Characters an id may have; the stores' columns are made for it.
const MAX_ID_CHARS: usize = 100;
/// Characters a text for people may have.
const MAX_TEXT_CHARS: usize = 2_000;

/// One breach of a rule.
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
pub(super) struct Problems(RefCell<Vec<Problem>>);

impl Problems {
    pub(super) fn add(&self, path: impl Into<String>, reason: impl Into<String>) {
        let mut found = self.0.borrow_mut();
        if found.len() < MAX_PROBLEMS {
            found.push(Problem { path: path.into(), reason: reason.into() });
        }
    }

    pub(super) fn into_vec(self) -> Vec<Problem> {
        self.0.into_inner()
    }
}

/// One JSON object and where it stands. A missing or wrong field is noted and read as something harmless.
pub(super) struct Fields<'a> {
    pub(super) path: String,
    map: &'a Map<String, Value>,
    problems: &'a Problems,
}

impl<'a> Fields<'a> {
    /// `value` as an object with no other keys than `known`.
    pub(super) fn of(value: &'a Value, path: String, known: &[&str], problems: &'a Problems) -> Option<Self> {
        let Value::Object(map) = value else {
            problems.add(path, "must be an object");
            return None;
        };
        let fields = Self { path, map, problems };
        for key in map.keys().filter(|key| !known.contains(&key.as_str())) {
            problems.add(fields.at(key), format!("is not known here; known are {}", known.join(", ")));
        }
        Some(fields)
    }

    pub(super) fn at(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    pub(super) fn wrong(&self, key: &str, reason: impl Into<String>) {
        self.problems.add(self.at(key), reason);
    }

    fn get(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    /// A required id.
    pub(super) fn id(&self, key: &str) -> String {
        let id = self.text(key);
        if id.chars().count() > MAX_ID_CHARS || id.chars().any(char::is_control) {
            self.wrong(key, format!("must be at most {MAX_ID_CHARS} characters without control characters"));
        }
        id
    }

    /// A required text that is not empty.
    pub(super) fn text(&self, key: &str) -> String {
        match self.get(key).map(Value::as_str) {
            Some(Some(text)) if !text.trim().is_empty() => self.bounded(key, text),
            Some(Some(_)) => self.missing(key, "must not be empty"),
            Some(None) => self.missing(key, "must be a text"),
            None => self.missing(key, "is missing"),
        }
    }

    /// A text that may be missing or empty.
    pub(super) fn optional_text(&self, key: &str) -> String {
        match self.get(key).map(Value::as_str) {
            Some(Some(text)) => self.bounded(key, text),
            Some(None) => self.missing(key, "must be a text"),
            None => String::new(),
        }
    }

    fn bounded(&self, key: &str, text: &str) -> String {
        if text.chars().count() > MAX_TEXT_CHARS {
            self.wrong(key, format!("must be at most {MAX_TEXT_CHARS} characters"));
        }
        text.to_owned()
    }

    fn missing(&self, key: &str, reason: &str) -> String {
        self.wrong(key, reason);
        String::new()
    }

    /// `true` or `false`; missing means `false`.
    pub(super) fn flag(&self, key: &str) -> bool {
        match self.get(key) {
            None => false,
            Some(Value::Bool(flag)) => *flag,
            Some(_) => {
                self.wrong(key, "must be true or false");
                false
            }
        }
    }

    /// A required whole number.
    pub(super) fn whole(&self, key: &str, range: RangeInclusive<i32>) -> i32 {
        let number = self.get(key).and_then(Value::as_i64).and_then(|n| i32::try_from(n).ok());
        match number {
            Some(number) if range.contains(&number) => number,
            _ => {
                let wanted = format!("must be a whole number from {} to {}", range.start(), range.end());
                self.wrong(key, wanted);
                *range.start()
            }
        }
    }

    /// One of a few words; the first is taken when the key is missing and `None` was not allowed for.
    pub(super) fn word<T: Copy>(&self, key: &str, words: &[(&'static str, T)]) -> T {
        let found = self.get(key).and_then(Value::as_str);
        if let Some((_, value)) = words.iter().find(|(word, _)| Some(*word) == found) {
            return *value;
        }
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        self.wrong(key, format!("must be one of {}", known.join(", ")));
        words[0].1
    }

    /// Like [`Self::word`], with the first word as the default.
    pub(super) fn word_or_first<T: Copy>(&self, key: &str, words: &[(&'static str, T)]) -> T {
        if self.get(key).is_some() { self.word(key, words) } else { words[0].1 }
    }

    /// An object that may be missing.
    pub(super) fn child(&self, key: &str, known: &[&str]) -> Option<Fields<'a>> {
        Fields::of(self.get(key)?, self.at(key), known, self.problems)
    }

    /// A required object.
    pub(super) fn required(&self, key: &str, known: &[&str]) -> Option<Fields<'a>> {
        if self.get(key).is_none() {
            self.wrong(key, "is missing");
        }
        self.child(key, known)
    }

    /// A required list of at least one object.
    pub(super) fn children(&self, key: &str, known: &[&str]) -> Vec<Fields<'a>> {
        let items = self.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if items.is_empty() {
            self.wrong(key, "must be a list with at least one entry");
        }
        let place = |i| format!("{}[{i}]", self.at(key));
        let each = items.iter().enumerate();
        each.filter_map(|(i, item)| Fields::of(item, place(i), known, self.problems)).collect()
    }

    /// A list of texts that may be missing.
    pub(super) fn texts(&self, key: &str) -> Vec<String> {
        let Some(value) = self.get(key) else { return Vec::new() };
        let texts = value.as_array().and_then(|items| items.iter().map(Value::as_str).collect());
        let texts: Option<Vec<&str>> = texts;
        if texts.is_none() {
            self.wrong(key, "must be a list of texts");
        }
        texts.unwrap_or_default().into_iter().map(str::to_owned).collect()
    }
}
