//! Claims as text: each with its figures and reasons below it.

use evidence::Verdict;

use super::line::{TextLine, Tone};
use super::page::{Label, Page};
use super::tone;
use crate::document::{ClaimBlock, Claims};

/// The column where the text of a claim begins.
const INDENT: usize = 6;

pub(super) fn add(page: &mut Page, claims: &Claims) {
    claims.claims.iter().for_each(|claim| add_claim(page, claim));
}

fn add_claim(page: &mut Page, claim: &ClaimBlock) {
    let verdict = tone(claim.verdict);
    let mut head = TextLine::new();
    head.add(verdict, &claim.word).add(Tone::Normal, "  ");
    head.add(Tone::Accent, &claim.name).add(Tone::Normal, "  ");
    page.headed(head, INDENT, Tone::Dim, &claim.text);
    let figures: Vec<String> = claim.figures.iter().map(|figure| figure.replace(' ', "\u{a0}")).collect();
    page.paragraph(Label::indent(INDENT), Tone::Normal, &figures.join(" · "));
    let reason_tone = if claim.verdict == Verdict::Pass { Tone::Dim } else { verdict };
    for reason in &claim.reasons {
        page.paragraph(Label::indent(INDENT), reason_tone, reason);
    }
}
