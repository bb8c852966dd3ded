//! Findings as text: those of a rule together, with why they matter and what to do once.

use evidence::{Scope, Severity};

use unicode_width::UnicodeWidthStr;

use super::line::{TextLine, Tone};
use super::page::{Label, Page};
use crate::card::FindingCard;

/// The most places of a rule that are listed.
const MAX_PLACES: usize = 5;
/// The column where a finding's text begins.
const INDENT: usize = 6;

fn severity_tone(severity: Severity) -> Tone {
    match severity {
        Severity::Fail => Tone::Bad,
        Severity::Invalid | Severity::Inconclusive | Severity::Caution => Tone::Warn,
        Severity::Info => Tone::Dim,
    }
}

/// Add what each rule found, at one place, and how to read all of it; nothing without findings.
pub(crate) fn add_lines(page: &mut Page, cards: &[FindingCard<'_>]) {
    if cards.is_empty() {
        return;
    }
    page.heading("Findings", "  -v: in full, with why and what next");
    for card in cards {
        let severity = card.severity.to_string();
        let name = format!("  {} {}  ", card.rule, card.title);
        let places = match card.places.len() {
            0 | 1 => String::new(),
            places => format!("{places} places, first "),
        };
        let what = card.places.first().map(|place| match place.finding.scope == Scope::default() {
            true => place.finding.what.clone(),
            false => format!("{}: {}", place.name, place.finding.what),
        });
        let text = places + &what.unwrap_or_default();
        let mut head = TextLine::new();
        head.add(severity_tone(card.severity), &severity).add(Tone::Accent, &name);
        let is_on_head = head.width() + text.width() <= page.width();
        page.push(head.add(Tone::Normal, if is_on_head { &text } else { "" }));
        if !is_on_head {
            page.paragraph(Label::indent(INDENT), Tone::Normal, &text);
        }
    }
}

/// Add the section of findings; nothing without findings.
pub(crate) fn add(page: &mut Page, cards: &[FindingCard<'_>]) {
    if cards.is_empty() {
        return;
    }
    page.heading("Findings", "");
    for card in cards {
        let title = format!("  {} {}", card.rule, card.title);
        page.line(&[(severity_tone(card.severity), &card.severity.to_string()), (Tone::Accent, &title)]);
        for place in card.places.iter().take(MAX_PLACES) {
            let text = format!("{}: {}", place.name, place.finding.what);
            page.paragraph(Label::new("  –", INDENT), Tone::Normal, &text);
        }
        if card.places.len() > MAX_PLACES {
            let more = format!("and {} more", card.places.len() - MAX_PLACES);
            page.paragraph(Label::new("  –", INDENT), Tone::Dim, &more);
        }
        page.paragraph(Label::new("why", INDENT), Tone::Dim, card.why);
        page.paragraph(Label::new("next", INDENT), Tone::Normal, card.next);
    }
}
