//! The values that responses have, and how each is extracted.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

use super::html::{self, Tag};
use super::{Exchange, Look, Origin, look, patterns};
use crate::extract::ExtractionSource;
use crate::slots::{self, SlotKind};

/// What of a recorded response values can come from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Response {
    pub(crate) content_type: String,
    /// Its text, if it is one and the recording has it.
    pub(crate) body: String,
    /// Names in lower case; several of one name as several.
    pub(crate) headers: Vec<(String, String)>,
    /// It says that something was created, whose address is its `Location` (RFC 9110, section 15.3.2).
    pub(crate) has_created: bool,
}

/// A value of a response.
#[derive(Debug)]
pub(super) struct Produced {
    pub(super) origin: Origin,
    /// What the extraction gives.
    pub(super) text: String,
    /// Of its field, header or parameter; of a segment of a path: the segment before it.
    pub(super) name: String,
    pub(super) kind: ProducedKind,
}

/// Kinds of places, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ProducedKind {
    JsonLeaf,
    HiddenField,
    Meta,
    Header,
    Cookie,
    /// The last segment of the `Location` of what was created.
    Created,
    Location,
    Link,
    Attribute,
    /// Anywhere in a text.
    Context,
}

impl ProducedKind {
    /// Whether it is a part of a URL.
    pub(super) fn is_of_url(self) -> bool {
        matches!(self, ProducedKind::Created | ProducedKind::Location | ProducedKind::Link)
    }
}

/// The values of all responses that requests send.
#[derive(Debug, Default)]
pub(super) struct Index {
    by_value: BTreeMap<String, Vec<Produced>>,
}

/// Of so many values at most, in the order in which they are sent, every text is searched for.
const MOST_SEARCHED: usize = 200;

impl Index {
    pub(super) fn build(exchanges: &[Exchange]) -> Index {
        let wanted = Wanted::collect(exchanges);
        let mut index = Index::default();
        for (number, exchange) in exchanges.iter().enumerate() {
            let mut reader =
                Reader { exchange: number, response: &exchange.response, wanted: &wanted, index: &mut index };
            reader.read();
        }
        for value in wanted.tokens {
            if !index.by_value.contains_key(value) {
                index.search(value, exchanges);
            }
        }
        index
    }

    pub(super) fn of_value(&self, value: &str) -> impl Iterator<Item = &Produced> {
        self.by_value.get(value).into_iter().flatten()
    }

    /// Search all texts for a value that has no other place.
    fn search(&mut self, value: &str, exchanges: &[Exchange]) {
        for (number, exchange) in exchanges.iter().enumerate() {
            let body = &exchange.response.body;
            let Some(start) = body.find(value) else { continue };
            let pattern = patterns::in_context(body, start, start + value.len());
            if let Some(pattern) = pattern.filter(|pattern| gives(pattern, body, value)) {
                let origin = Origin { exchange: number, source: ExtractionSource::Regex(pattern) };
                let (text, name) = (value.to_owned(), String::new());
                let produced = Produced { origin, text, name, kind: ProducedKind::Context };
                self.by_value.entry(value.to_owned()).or_default().push(produced);
            }
        }
    }
}

/// The values that requests send.
struct Wanted<'a> {
    values: BTreeSet<&'a str>,
    /// Those that look like tokens, in the order in which they are sent.
    tokens: Vec<&'a str>,
}

impl<'a> Wanted<'a> {
    fn collect(exchanges: &'a [Exchange]) -> Wanted<'a> {
        let mut wanted = Wanted { values: BTreeSet::new(), tokens: Vec::new() };
        for text in exchanges.iter().flat_map(|exchange| &exchange.texts) {
            for slot in &text.slots {
                for value in [slot.value.as_str(), &text.recorded[slot.range.clone()]] {
                    let is_new = !value.is_empty() && wanted.values.insert(value);
                    if is_new && look(value) == Look::Token && wanted.tokens.len() < MOST_SEARCHED {
                        wanted.tokens.push(value);
                    }
                }
            }
        }
        wanted
    }
}

/// Whether a pattern gives `value` when it is applied to `text`.
fn gives(pattern: &str, text: &str, value: &str) -> bool {
    let Ok(regex) = Regex::new(pattern) else { return false };
    regex.captures(text).and_then(|found| found.get(1)).is_some_and(|group| group.as_str() == value)
}

struct Reader<'a> {
    exchange: usize,
    response: &'a Response,
    wanted: &'a Wanted<'a>,
    index: &'a mut Index,
}

impl Reader<'_> {
    fn read(&mut self) {
        let Response { content_type, body, headers, .. } = self.response;
        for (name, value) in headers {
            self.header(name, value);
        }
        if content_type.contains("json") || body.starts_with(['{', '[']) {
            for leaf in slots::leaves(body) {
                self.add(ExtractionSource::Json(leaf.path), &leaf.value, &leaf.name, ProducedKind::JsonLeaf);
            }
        } else if content_type.contains("html") || body.trim_start().starts_with('<') {
            html::tags(body).iter().for_each(|tag| self.tag(tag));
        }
    }

    fn add(&mut self, source: ExtractionSource, text: &str, name: &str, kind: ProducedKind) {
        if self.wanted.values.contains(text) {
            let origin = Origin { exchange: self.exchange, source };
            let produced = Produced { origin, text: text.to_owned(), name: name.to_owned(), kind };
            self.index.by_value.entry(text.to_owned()).or_default().push(produced);
        }
    }

    fn is_wanted(&self, text: &str) -> bool {
        self.wanted.values.contains(text)
    }

    fn header(&mut self, name: &str, value: &str) {
        match name {
            "set-cookie" => {
                let pair = value.split(';').next().unwrap_or_default();
                if let Some((cookie, text)) = pair.split_once('=') {
                    let (cookie, text) = (cookie.trim(), text.trim());
                    let regex = patterns::cookie(cookie);
                    let source = ExtractionSource::HeaderRegex { header: name.to_owned(), regex };
                    self.add(source, text, cookie, ProducedKind::Cookie);
                }
            }
            "location" | "content-location" => {
                self.url(value, ProducedKind::Location, &|regex| ExtractionSource::HeaderRegex {
                    header: name.to_owned(),
                    regex,
                });
            }
            _ => self.add(ExtractionSource::Header(name.to_owned()), value, name, ProducedKind::Header),
        }
    }

    /// The parts of a URL in the text that `source` looks into.
    fn url(&mut self, url: &str, kind: ProducedKind, source: &dyn Fn(String) -> ExtractionSource) {
        let start =
            url.find("://").map_or(0, |at| url[at + 3..].find('/').map_or(url.len(), |slash| at + 3 + slash));
        let path = url[start..].split('#').next().unwrap_or_default();
        let slots = slots::of_path(path);
        let last = slots.iter().rposition(|slot| slot.kind == SlotKind::PathSegment);
        for (number, slot) in slots.iter().enumerate() {
            let text = &path[slot.range.clone()];
            if !self.is_wanted(text) {
                continue;
            }
            let pattern = match slot.kind {
                SlotKind::PathSegment => patterns::segment(&slot.name),
                _ => patterns::parameter(&slot.name),
            };
            let is_location = kind == ProducedKind::Location;
            let within = if is_location { url } else { &self.response.body };
            let is_created = is_location && self.response.has_created && Some(number) == last;
            let kind = if is_created { ProducedKind::Created } else { kind };
            if gives(&pattern, within, text) {
                self.add(source(pattern), text, &slot.name, kind);
            }
        }
    }

    fn tag(&mut self, tag: &Tag<'_>) {
        let named = |naming: &str, wanted: &str| patterns::named_attribute(tag, naming, wanted);
        let value_of = |name: &str| tag.attribute(name).map(|attribute| attribute.value);
        let is = |name: &str| tag.name.eq_ignore_ascii_case(name);
        if is("input")
            && let (Some(name), Some(value)) = (value_of("name"), value_of("value"))
        {
            let is_hidden = value_of("type").is_some_and(|kind| kind.eq_ignore_ascii_case("hidden"));
            let kind = if is_hidden { ProducedKind::HiddenField } else { ProducedKind::Attribute };
            self.pattern(named("name", "value"), value, name, kind);
            return;
        }
        if is("meta")
            && let Some(value) = value_of("content")
        {
            for naming in ["name", "property"] {
                self.pattern(
                    named(naming, "content"),
                    value,
                    value_of(naming).unwrap_or_default(),
                    ProducedKind::Meta,
                );
            }
            return;
        }
        for attribute in &tag.attributes {
            let lower = attribute.name.to_ascii_lowercase();
            match lower.as_str() {
                "href" | "action" | "src" | "formaction" | "data-url" => {
                    self.url(attribute.value, ProducedKind::Link, &ExtractionSource::Regex);
                }
                "id" | "class" | "style" | "type" | "rel" => {}
                name => {
                    let pattern = Some(patterns::attribute(attribute));
                    self.pattern(pattern, attribute.value, name, ProducedKind::Attribute);
                }
            }
        }
    }

    /// A value in the body that a pattern gives. A value with character references is not what is sent.
    fn pattern(&mut self, pattern: Option<String>, value: &str, name: &str, kind: ProducedKind) {
        if !self.is_wanted(value) || value.contains('&') {
            return;
        }
        if let Some(pattern) = pattern.filter(|pattern| gives(pattern, &self.response.body, value)) {
            self.add(ExtractionSource::Regex(pattern), value, name, kind);
        }
    }
}
