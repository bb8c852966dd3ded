//! Correlation: which values of a recording's requests came from earlier responses, and where in them they are.
//!
//! A value is taken from a response if it looks like one that is made for a session (a token, an identifier), if it is not
//! one that a request sent first, and if a path, a header or a regular expression gives it: each regular expression is tried
//! on the recorded response. The result is a function of the recording.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::extract::{Extraction, ExtractionSource};
use crate::slots::{Slot, SlotKind};

mod html;
mod names;
mod patterns;
mod produced;

use names::VariableNames;
pub(crate) use produced::Response;
use produced::{Index, Produced, ProducedKind};

/// A request and its response, of which a step may be made.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// The texts of the request: path, headers, body.
    pub(crate) texts: Vec<SlottedText>,
    pub(crate) response: Response,
    pub(crate) started: Timestamp,
    pub(crate) ended: Timestamp,
}

/// A recorded text, and the places for values in it.
#[derive(Debug, Clone, Default)]
pub(crate) struct SlottedText {
    pub(crate) recorded: String,
    pub(crate) slots: Vec<Slot>,
}

/// The place of a slot: exchange, text, slot.
pub(crate) type SlotPlace = (usize, usize, usize);

/// A value that a step takes from an earlier response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) name: String,
    /// Whether the response has it as it is in the request, encoded already.
    pub(crate) is_raw: bool,
    pub(crate) origin: Origin,
    /// How many other places have it, too.
    pub(crate) alternatives: usize,
}

/// A place in a response.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Origin {
    pub(crate) exchange: usize,
    pub(crate) source: ExtractionSource,
}

#[derive(Debug, Default)]
pub(crate) struct Correlation {
    /// What each exchange's step extracts.
    pub(crate) extractions: Vec<Vec<Extraction>>,
    pub(crate) references: BTreeMap<SlotPlace, Reference>,
    /// Slots whose values look as if a response had given them, and for which no place was found.
    pub(crate) unplaced: Vec<SlotPlace>,
}

/// How much a value looks like one that a server has made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// Long, and with digits, or very long.
    Token,
    /// Digits only.
    Number,
    Word,
}

pub(crate) fn look(value: &str) -> Look {
    let length = value.chars().count();
    let has = |test: fn(&char) -> bool| value.chars().any(|c| test(&c));
    let is_clean = !has(|c| c.is_whitespace() || c.is_control());
    if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        if length >= 8 { Look::Token } else { Look::Number }
    } else if is_clean
        && ((length >= 8 && has(char::is_ascii_digit) && has(|c| c.is_ascii_alphabetic()))
            || (length >= 20 && !value.contains(['/', '.', ' '])))
    {
        Look::Token
    } else {
        Look::Word
    }
}

/// A response that ended so long after a request began may still have been its cause: recordings round.
const TOLERANCE_MS: i64 = 100;
/// The longest value that is looked for.
const MAX_VALUE: usize = 4096;

/// Find the values; places in `avoided` are not used.
pub(crate) fn correlate(exchanges: &[Exchange], avoided: &BTreeSet<Origin>) -> Correlation {
    let index = Index::build(exchanges);
    let mut finder = Finder {
        exchanges,
        index: &index,
        avoided,
        names: VariableNames::default(),
        known: BTreeMap::new(),
        sent: BTreeMap::new(),
        found: Correlation { extractions: vec![Vec::new(); exchanges.len()], ..Correlation::default() },
    };
    for (number, exchange) in exchanges.iter().enumerate() {
        for (text, slotted) in exchange.texts.iter().enumerate() {
            for (slot, described) in slotted.slots.iter().enumerate() {
                finder.place((number, text, slot), described, &slotted.recorded[described.range.clone()]);
            }
        }
        finder.remember_sent(number);
    }
    finder.found
}

struct Finder<'a> {
    exchanges: &'a [Exchange],
    index: &'a Index,
    avoided: &'a BTreeSet<Origin>,
    names: VariableNames,
    /// The variables so far, by where they are from.
    known: BTreeMap<Origin, String>,
    /// The values that requests so far have sent, and the first exchange that did.
    sent: BTreeMap<String, usize>,
    found: Correlation,
}

impl<'a> Finder<'a> {
    fn place(&mut self, place: SlotPlace, slot: &Slot, raw: &str) {
        if slot.value.is_empty() || slot.value.len() > MAX_VALUE {
            return;
        }
        let candidates = self.candidates(place.0, slot, raw);
        let mut usable = candidates.iter().filter(|produced| !self.avoided.contains(&produced.origin));
        match usable.next() {
            Some(produced) => {
                let reference = self.reference(produced, slot, usable.count());
                self.found.references.insert(place, reference);
            }
            None if self.is_unplaced(slot) => self.found.unplaced.push(place),
            None => {}
        }
    }

    /// Whether a value that no place gives looks as if one should, and is sent for the first time.
    fn is_unplaced(&self, slot: &Slot) -> bool {
        let is_token = look(&slot.value) == Look::Token && slot.kind != SlotKind::PathSegment;
        is_token && !self.sent.contains_key(&slot.value)
    }

    /// The places that gave the slot's value before its request, best first.
    fn candidates(&self, exchange: usize, slot: &Slot, raw: &str) -> Vec<&'a Produced> {
        let first_sent = self.sent.get(&slot.value).copied().unwrap_or(exchange);
        let started = self.exchanges[exchange].started;
        let is_before = |produced: &&'a Produced| {
            let producer = produced.origin.exchange;
            let ended = self.exchanges[producer].ended;
            let is_over = ended.as_millisecond() <= started.as_millisecond() + TOLERANCE_MS;
            // What a request has sent before, a response only repeats.
            producer < first_sent && producer < exchange && is_over
        };
        let values = if raw == slot.value { vec![raw] } else { vec![slot.value.as_str(), raw] };
        let index: &'a Index = self.index;
        let of_value = values.into_iter().flat_map(|value| index.of_value(value));
        let mut all: Vec<&'a Produced> =
            of_value.filter(is_before).filter(|produced| is_cause(produced, slot)).collect();
        all.sort_by_key(|produced| {
            // A hidden field is of the page before; all else is taken where it came first.
            let distance = match produced.kind {
                ProducedKind::HiddenField => exchange - produced.origin.exchange,
                _ => produced.origin.exchange,
            };
            (produced.kind, !names::are_alike(&produced.name, &slot.name), distance)
        });
        all
    }

    fn reference(&mut self, produced: &Produced, slot: &Slot, alternatives: usize) -> Reference {
        let origin = produced.origin.clone();
        let name = match self.known.get(&origin) {
            Some(name) => name.clone(),
            None => {
                let name = self.names.new_name(&produced.name, slot);
                let extraction = Extraction { name: name.clone(), source: origin.source.clone() };
                self.found.extractions[origin.exchange].push(extraction);
                self.known.insert(origin.clone(), name.clone());
                name
            }
        };
        // A part of a URL is encoded where it is taken from, whether this one has characters that show it or not.
        let is_encoded = produced.kind.is_of_url() && slot.kind.is_of_url();
        Reference { name, is_raw: is_encoded || produced.text != slot.value, origin, alternatives }
    }

    /// Remember what an exchange sends, but for what it got from others.
    fn remember_sent(&mut self, exchange: usize) {
        for (text, slotted) in self.exchanges[exchange].texts.iter().enumerate() {
            for (slot, described) in slotted.slots.iter().enumerate() {
                if !self.found.references.contains_key(&(exchange, text, slot)) {
                    self.sent.entry(described.value.clone()).or_insert(exchange);
                }
            }
        }
    }
}

/// Whether the place looks like the cause of the slot's value, which may be equal by chance.
fn is_cause(produced: &Produced, slot: &Slot) -> bool {
    let has_alike_name = names::are_alike(&produced.name, &slot.name);
    match (look(&slot.value), produced.kind) {
        (Look::Token, _) => true,
        (_, ProducedKind::HiddenField) => {
            matches!(slot.kind, SlotKind::FormField | SlotKind::FormPart | SlotKind::QueryParameter)
                && produced.name == slot.name
        }
        (Look::Number, ProducedKind::JsonLeaf) => {
            names::is_identifier(&produced.name)
                && (has_alike_name || slot.kind == SlotKind::PathSegment || names::is_identifier(&slot.name))
        }
        // A later request to the address of what was created.
        (_, ProducedKind::Created) => slot.kind == SlotKind::PathSegment && produced.name == slot.name,
        // After the same segment, or in the same parameter, of a link or of `Location`.
        (Look::Number, ProducedKind::Location | ProducedKind::Link) => {
            matches!(slot.kind, SlotKind::PathSegment | SlotKind::QueryParameter)
                && produced.name == slot.name
        }
        (Look::Number, ProducedKind::Attribute) => names::is_identifier(&produced.name) && has_alike_name,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_numbers_and_words_are_distinguished() {
        for (value, expected) in [
            ("a1b2c3d4", Look::Token),
            ("3f2504e0-4f89-41d3-9a0c-0305e82c3301", Look::Token),
            ("dGhpc2lzYXRva2VuYW5k", Look::Token),
            ("20260131", Look::Token),
            ("17", Look::Number),
            ("shirt", Look::Word),
            ("a long text with 1 digit", Look::Word),
            ("", Look::Word),
        ] {
            assert_eq!(look(value), expected, "{value}");
        }
    }
}
