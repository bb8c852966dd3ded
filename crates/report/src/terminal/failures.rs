//! Why requests failed, as text: a line for each kind, with an example.

use super::line::Tone;
use super::page::{Label, Page};
use crate::number;
use crate::summary::Summary;

/// The most kinds that are listed.
const MAX_KINDS: usize = 5;

/// The most reasons of a kind that are listed.
const MAX_REASONS: usize = 3;

/// Add the section of failures; nothing where no request failed.
pub(super) fn add(page: &mut Page, summary: &Summary) {
    let kinds = &summary.failures;
    if kinds.is_empty() {
        return;
    }
    let outcomes = &summary.outcomes;
    let share = outcomes.failed_share();
    page.heading("Failures", &format!("  {share} of {} requests", outcomes.completed_text()));
    let shown = kinds.iter().take(MAX_KINDS).map(|kind| (number::count(kind.ended.count), kind));
    let shown: Vec<_> = shown.collect();
    let digits = shown.iter().map(|(count, _)| count.len()).max().unwrap_or(0);
    let indent = shown.iter().map(|(_, kind)| digits + kind.ended.name().len() + 4).max().unwrap_or(0);
    for (count, kind) in shown {
        let label = format!("{count:>digits$}  {}", kind.ended.name());
        page.labelled(Label::new(&label, indent), Tone::Bad, Tone::Normal, &kind.in_words());
        for (count, reason) in kind.several_reasons().take(MAX_REASONS) {
            let text = format!("{}\u{a0}× {reason}", number::count(count));
            page.paragraph(Label::indent(indent), Tone::Dim, &text);
        }
    }
    if kinds.len() > MAX_KINDS {
        page.line(&[(Tone::Dim, &format!("{} more kinds are in the HTML report", kinds.len() - MAX_KINDS))]);
    }
}
