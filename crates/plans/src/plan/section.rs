//! Reads tables of a plan key by key, and collects errors.
//!
//! A key is known once it was read, so that there is no separate list of known keys.

use std::cell::RefCell;
use std::ops::Range;
use std::time::Duration;

use evidence::visible;
use serde_json::Value as Json;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::errors::{PlanError, PlanErrors};
use workload::nearest::nearest;
use workload::objective::ObjectiveError;
use workload::template::Template;
use workload::units;

/// A place in the plan's text, in bytes.
pub(super) type Span = Range<usize>;

/// The most errors that are reported.
const MAX_ERRORS: usize = 100;

/// The errors found so far.
pub(super) struct Issues<'a> {
    file: &'a str,
    text: &'a str,
    found: RefCell<Vec<PlanError>>,
}

impl<'a> Issues<'a> {
    pub(super) fn new(file: &'a str, text: &'a str) -> Self {
        Issues { file, text, found: RefCell::default() }
    }

    /// Add an error at `span`, on one line: messages quote the plan.
    pub(super) fn add(&self, span: &Span, message: impl Into<String>) {
        self.add_lines(span, visible(&message.into()).into_owned());
    }

    /// Add an error at `span` with a message of several lines, all of them visible.
    fn add_lines(&self, span: &Span, message: String) {
        let mut found = self.found.borrow_mut();
        if found.len() >= MAX_ERRORS {
            return;
        }
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let error = PlanError {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message,
        };
        if !found.contains(&error) {
            found.push(error);
        }
    }

    /// Add an error that has no place in the plan, but comes from `source`.
    pub(super) fn add_whole(&self, source: &str, message: String) {
        self.found.borrow_mut().push(PlanError::whole(source, message));
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.found.borrow().len()
    }

    /// The value; an error is added to the issues.
    pub(super) fn check<T>(&self, span: &Span, result: Result<T, impl ToString>) -> Option<T> {
        result.map_err(|error| self.add(span, error.to_string())).ok()
    }

    /// What was parsed; an error is added to the issues at its place, in its own lines.
    pub(super) fn check_lines<T>(&self, span: &Span, parsed: Result<T, ObjectiveError>) -> Option<T> {
        parsed
            .map_err(|error| {
                let found = self.find(span, &error.source_text);
                let start = found.map_or(span.start, |at| at + error.at);
                self.add_lines(&(start..span.end), error.to_string());
            })
            .ok()
    }

    /// Where `part` is written at `span`: the span itself if it is written with escapes.
    pub(super) fn place_of(&self, span: &Span, part: &str) -> Span {
        self.find(span, part).map_or_else(|| span.clone(), |at| at..at + part.len())
    }

    fn find(&self, span: &Span, part: &str) -> Option<usize> {
        self.text.get(span.clone())?.find(part).map(|at| span.start + at)
    }

    /// All errors, in the order of the file.
    pub(super) fn finish(self) -> Result<(), PlanErrors> {
        let mut found = self.found.into_inner();
        found.sort();
        if found.is_empty() { Ok(()) } else { Err(PlanErrors(found)) }
    }
}

/// One table of the plan.
pub(super) struct Section<'a> {
    pub(super) issues: &'a Issues<'a>,
    /// Its name in messages: `target challenge`.
    what: String,
    table: &'a DeTable<'a>,
    pub(super) span: Span,
    known: RefCell<Vec<&'static str>>,
}

impl<'a> Section<'a> {
    pub(super) fn new(issues: &'a Issues<'a>, what: String, table: &'a DeTable<'a>, span: Span) -> Self {
        Section { issues, what, table, span, known: RefCell::default() }
    }

    /// The value of `key`, if there is one.
    pub(super) fn get(&self, key: &'static str) -> Option<Item<'a>> {
        if !self.known.borrow().contains(&key) {
            self.known.borrow_mut().push(key);
        }
        let (found, value) = self.table.iter().find(|(found, _)| found.get_ref().as_ref() == key)?;
        Some(Item { issues: self.issues, key: key.to_owned(), key_span: found.span(), value })
    }

    /// The value of `key`; a missing key is an error.
    pub(super) fn need(&self, key: &'static str, example: &str) -> Option<Item<'a>> {
        let item = self.get(key);
        if item.is_none() {
            self.issues.add(&self.span, format!("{} needs `{key}`: {example}", self.what));
        }
        item
    }

    /// The tables of an array of tables: `[[key]]`.
    pub(super) fn tables(&self, key: &'static str, what: &str) -> Vec<Section<'a>> {
        let Some(item) = self.get(key) else { return Vec::new() };
        if item.is_table() {
            item.wrong(format!("`{key}` is a list: write `[[…{key}]]` with two brackets above each"));
            return Vec::new();
        }
        item.items().iter().filter_map(|entry| entry.section(what)).collect()
    }

    /// The entries of the table `key`, whose keys are names chosen by the user, in the order of the file.
    pub(super) fn entries(&self, key: &'static str) -> Vec<Item<'a>> {
        self.get(key).map(|item| item.entries()).unwrap_or_default()
    }

    /// Report every key that was not read.
    pub(super) fn finish(&self) {
        self.finish_beside(&[], "");
    }

    /// Report every key that was not read; of those that belong to another table, where that is.
    pub(super) fn finish_beside(&self, others: &[&str], place: &str) {
        let known = self.known.borrow();
        for (key, _) in self.table.iter() {
            let name = key.get_ref().as_ref();
            if known.contains(&name) {
                continue;
            }
            let theirs = OF_OTHER_TOOLS.iter().flat_map(|(theirs, _)| theirs.iter().copied());
            let hint = match nearest(name, known.iter().copied().chain(theirs)) {
                _ if others.contains(&name) => format!("it belongs to {place}"),
                _ if let Some(ours) = of_other_tools(name) => ours.to_owned(),
                Some(near) if let Some(ours) = of_other_tools(near) => ours.to_owned(),
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known are {}", listed(&known)),
            };
            self.issues.add(&key.span(), format!("{} has no key `{name}`; {hint}", self.what));
        }
    }
}

/// Keys as other tools have them, and what is written here.
const OF_OTHER_TOOLS: [(&[&str], &str); 7] = [
    (&["steps", "requests"], "steps belong to a scenario: `[[scenarios.steps]]`"),
    (
        &["thresholds", "slo", "slos", "gate", "gates", "sla"],
        "write `[objectives]`, such as `fast = \"p95(all) < 50ms\"`",
    ),
    (&["capture", "captures"], "write `extract`, such as `extract = { token = \"$.token\" }`"),
    (&["check", "checks", "assert", "asserts"], "write `expect`, such as `expect = { status = 200 }`"),
    (
        &["users", "concurrency", "threads", "clients"],
        "write `vus`, such as `executor = \"constant-vus\"` with `vus = 5`",
    ),
    (&["sleep", "pause", "wait"], "write `think` in a step, such as `think = \"1s\"`"),
    (&["query", "params"], "write it in the URL: `get = \"${NAME.url}/path?key=value\"`"),
];

fn of_other_tools(name: &str) -> Option<&'static str> {
    OF_OTHER_TOOLS.iter().find(|(theirs, _)| theirs.contains(&name)).map(|(_, ours)| *ours)
}

fn listed(known: &[&str]) -> String {
    known.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}

/// One value of the plan, and its key.
pub(super) struct Item<'a> {
    pub(super) issues: &'a Issues<'a>,
    pub(super) key: String,
    pub(super) key_span: Span,
    value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Item<'a> {
    /// Where the value is.
    pub(super) fn span(&self) -> Span {
        self.value.span()
    }

    /// Add an error in the value.
    pub(super) fn wrong(&self, message: impl Into<String>) {
        self.issues.add(&self.span(), message);
    }

    fn mismatch<T>(&self, expected: &str) -> Option<T> {
        let found = self.value.get_ref().type_str();
        self.wrong(format!("`{}` takes {expected}, not {found}", self.key));
        None
    }

    fn checked<T>(&self, result: Result<T, impl ToString>) -> Option<T> {
        self.issues.check(&self.span(), result)
    }

    pub(super) fn is_table(&self) -> bool {
        self.value.get_ref().is_table()
    }

    pub(super) fn is_array(&self) -> bool {
        self.value.get_ref().is_array()
    }

    pub(super) fn is_text(&self) -> bool {
        self.value.get_ref().is_str()
    }

    pub(super) fn text(&self) -> Option<&'a str> {
        self.value.get_ref().as_str().or_else(|| self.mismatch("a text in quotes"))
    }

    pub(super) fn flag(&self) -> Option<bool> {
        self.value.get_ref().as_bool().or_else(|| self.mismatch("`true` or `false`"))
    }

    /// A whole number within `range`.
    pub(super) fn whole(&self, range: std::ops::RangeInclusive<u64>) -> Option<u64> {
        let expected = || format!("a whole number from {} to {}", range.start(), range.end());
        let Some(integer) = self.value.get_ref().as_integer() else { return self.mismatch(&expected()) };
        let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok();
        number.filter(|n| range.contains(n)).or_else(|| {
            self.wrong(format!("`{}` takes {}, not {integer}", self.key, expected()));
            None
        })
    }

    /// A confidence: a number from 0.5 on, below 1.
    pub(super) fn confidence(&self) -> Option<f64> {
        let expected = "a confidence such as `0.95`, from 0.5 on and below 1";
        let Some(float) = self.value.get_ref().as_float() else { return self.mismatch(expected) };
        let number = float.as_str().parse().ok().filter(|number| (0.5..1.0).contains(number));
        number.or_else(|| {
            self.wrong(format!("`{}` takes {expected}, not {}", self.key, float.as_str()));
            None
        })
    }

    /// A share above 0 and up to 1, as a text.
    pub(super) fn margin(&self) -> Option<f64> {
        let expected = "a share such as `\"1%\"`, above 0 % and up to 100 %";
        let Some(text) = self.value.get_ref().as_str() else { return self.mismatch(expected) };
        let share = units::share(text).filter(|share| *share > 0.0 && *share <= 1.0);
        share.or_else(|| {
            self.wrong(format!("`{}` takes {expected}, not `{text}`", self.key));
            None
        })
    }

    pub(super) fn duration(&self) -> Option<Duration> {
        match self.value.get_ref().as_str() {
            Some(text) => self.checked(units::duration(text)),
            None => self.without_quotes("a duration", "s"),
        }
    }

    /// A rate in events a second; may be 0.
    pub(super) fn rate(&self) -> Option<f64> {
        match self.value.get_ref().as_str() {
            Some(text) => self.checked(units::rate(text)),
            None => self.without_quotes("a rate", "/s"),
        }
    }

    /// The mismatch of a number that was to be a text with a unit, such as this one.
    fn without_quotes<T>(&self, what: &str, unit: &str) -> Option<T> {
        let number = self.value.get_ref().as_integer().map(|integer| integer.as_str().to_owned());
        let number = number.or_else(|| Some(self.value.get_ref().as_float()?.as_str().to_owned()));
        match number {
            Some(number) => {
                self.wrong(format!("`{}` takes {what} with its unit: write `\"{number}{unit}\"`", self.key));
                None
            }
            None => self.mismatch(&format!("{what} such as `\"10{unit}\"`")),
        }
    }

    pub(super) fn template(&self) -> Option<Template> {
        let text = self.text()?;
        self.checked(Template::parse(text).map_err(|error| error.message))
    }

    /// The value as a table.
    pub(super) fn section(&self, what: &str) -> Option<Section<'a>> {
        match self.value.get_ref().as_table() {
            Some(table) => Some(Section::new(self.issues, what.to_owned(), table, self.key_span.clone())),
            None => self.mismatch("a table"),
        }
    }

    /// The entries of the value, a table, in the order of the file.
    pub(super) fn entries(&self) -> Vec<Item<'a>> {
        let Some(table) = self.value.get_ref().as_table() else {
            let example = format!("a table such as `{} = {{ name = \"value\" }}`", self.key);
            let expected = if self.key == "headers" { &example } else { "a table" };
            return self.mismatch(expected).unwrap_or_default();
        };
        let mut entries: Vec<_> = table
            .iter()
            .map(|(key, value)| Item {
                issues: self.issues,
                key: key.get_ref().as_ref().to_owned(),
                key_span: key.span(),
                value,
            })
            .collect();
        entries.sort_by_key(|entry| entry.key_span.start);
        entries
    }

    /// The items of the value, an array.
    pub(super) fn items(&self) -> Vec<Item<'a>> {
        let Some(array) = self.value.get_ref().as_array() else {
            return self.mismatch("an array").unwrap_or_default();
        };
        let item = |value: &'a Spanned<DeValue<'a>>| Item {
            issues: self.issues,
            key: self.key.clone(),
            key_span: value.span(),
            value,
        };
        array.iter().map(item).collect()
    }

    /// The items of the value, an array, or the value itself as the only item.
    pub(super) fn one_or_many(self) -> Vec<Item<'a>> {
        if self.is_array() { self.items() } else { vec![self] }
    }

    /// Every text in the value, keys included, each with its place.
    pub(super) fn texts(&self) -> Vec<(&'a str, Span)> {
        let mut found = Vec::new();
        gather_texts(self.value, &mut found);
        found
    }

    /// The value as JSON; dates become texts.
    pub(super) fn json(&self) -> Json {
        json(self.value.get_ref())
    }
}

fn gather_texts<'a>(value: &'a Spanned<DeValue<'a>>, found: &mut Vec<(&'a str, Span)>) {
    match value.get_ref() {
        DeValue::String(text) => found.push((text.as_ref(), value.span())),
        DeValue::Array(items) => items.iter().for_each(|item| gather_texts(item, found)),
        DeValue::Table(table) => {
            for (key, value) in table {
                found.push((key.get_ref().as_ref(), key.span()));
                gather_texts(value, found);
            }
        }
        _ => {}
    }
}

fn json(value: &DeValue<'_>) -> Json {
    match value {
        DeValue::String(text) => Json::String(text.clone().into_owned()),
        DeValue::Boolean(flag) => Json::Bool(*flag),
        DeValue::Datetime(when) => Json::String(when.to_string()),
        DeValue::Integer(integer) => {
            let (text, radix) = (integer.as_str(), integer.radix());
            let signed = i64::from_str_radix(text, radix).map(Json::from);
            signed.or_else(|_| u64::from_str_radix(text, radix).map(Json::from)).unwrap_or(Json::Null)
        }
        DeValue::Float(float) => float.as_str().parse::<f64>().map_or(Json::Null, Json::from),
        DeValue::Array(items) => items.iter().map(|item| json(item.get_ref())).collect(),
        DeValue::Table(table) => {
            let field = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
                let key: &std::borrow::Cow<'_, str> = key.get_ref();
                (key.clone().into_owned(), json(value.get_ref()))
            };
            Json::Object(table.iter().map(field).collect())
        }
    }
}
