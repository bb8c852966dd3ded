//! Findings as text: those of a rule together, with why they matter and what to do once.

use evidence::Severity;

use super::Detail;
use super::line::{TextLine, Tone};
use super::page::{Label, Page};
use crate::card::FindingCard;
use crate::document::Findings;

/// The most places of a rule that are listed.
const MAX_PLACES: usize = 5;
/// The column where a finding's text begins.
const INDENT: usize = 6;

pub(super) fn add(page: &mut Page, findings: &Findings, detail: Detail) {
    if detail == Detail::Full {
        return findings.cards.iter().for_each(|card| full(page, card));
    }
    let (for_information, graver): (Vec<_>, Vec<_>) =
        findings.cards.iter().partition(|card| card.severity == Severity::Info);
    graver.into_iter().for_each(|card| brief(page, card));
    match &for_information[..] {
        [] => {}
        [one] => brief(page, one),
        several => names(page, several),
    }
}

/// The names of several findings that change nothing.
fn names(page: &mut Page, cards: &[&FindingCard]) {
    let names: Vec<String> = cards.iter().map(|card| card.name()).collect();
    let mut head = TextLine::new();
    head.add(tone(Severity::Info), &format!("{}  ", Severity::Info));
    page.headed(head, INDENT, Tone::Dim, &format!("{} (-v says what is not known)", names.join(", ")));
}

fn tone(severity: Severity) -> Tone {
    match severity {
        Severity::Fail => Tone::Bad,
        Severity::Invalid | Severity::Inconclusive | Severity::Caution => Tone::Warn,
        Severity::Info => Tone::Dim,
    }
}

/// What a rule found, at one place.
fn brief(page: &mut Page, card: &FindingCard) {
    let places = match card.places.len() {
        0 | 1 => String::new(),
        places => format!("{places} places, first "),
    };
    let text = places + &card.places.first().map(|place| place.in_words()).unwrap_or_default();
    let mut head = TextLine::new();
    head.add(tone(card.severity), &card.severity.to_string());
    head.add(Tone::Accent, &format!("  {}  ", card.name()));
    page.headed(head, INDENT, Tone::Normal, &text);
}

/// Every place, why it matters, and what to do.
fn full(page: &mut Page, card: &FindingCard) {
    let title = format!("  {}", card.name());
    page.line(&[(tone(card.severity), &card.severity.to_string()), (Tone::Accent, &title)]);
    for place in card.places.iter().take(MAX_PLACES) {
        match place.name.as_str() {
            "" => page.paragraph(Label::indent(INDENT), Tone::Normal, &place.what),
            name => {
                let text = format!("{name}: {}", place.what);
                page.paragraph(Label::new("  –", INDENT), Tone::Normal, &text);
            }
        }
    }
    if card.places.len() > MAX_PLACES {
        let more = format!("and {} more", card.places.len() - MAX_PLACES);
        page.paragraph(Label::new("  –", INDENT), Tone::Dim, &more);
    }
    page.paragraph(Label::new("why", INDENT), Tone::Dim, &card.why);
    page.paragraph(Label::new("next", INDENT), Tone::Normal, &card.next);
}
