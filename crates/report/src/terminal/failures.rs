//! Why requests failed, as text: a line for each kind, with an example.

use super::line::Tone;
use super::page::{Label, Page};
use crate::number;
use crate::summary::Summary;

/// The most kinds that are listed.
const MAX_KINDS: usize = 5;

/// Add the section of failures; nothing where no request failed.
pub(super) fn add(page: &mut Page, summary: &Summary) {
    let kinds = &summary.failures;
    if kinds.is_empty() {
        return;
    }
    let outcomes = &summary.outcomes;
    let share = outcomes.failed_share();
    page.heading("Failures", &format!("  {share} of {} requests", outcomes.completed_text()));
    let shown = kinds.iter().take(MAX_KINDS).map(|kind| (number::count(kind.count), kind));
    let shown: Vec<_> = shown.collect();
    let digits = shown.iter().map(|(count, _)| count.len()).max().unwrap_or(0);
    let indent = shown.iter().map(|(_, kind)| digits + kind.outcome.to_string().len() + 4).max();
    for (count, kind) in shown {
        let label = format!("{count:>digits$}  {}", kind.outcome);
        let example = kind.example.as_ref().map(|example| example.in_words());
        let text = example.as_deref().unwrap_or("no exchange was recorded");
        page.labelled(Label::new(&label, indent.unwrap_or(0)), Tone::Bad, Tone::Normal, text);
    }
    if kinds.len() > MAX_KINDS {
        page.line(&[(Tone::Dim, &format!("{} more kinds are below", kinds.len() - MAX_KINDS))]);
    }
}
