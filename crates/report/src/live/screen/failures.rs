//! Why requests failed.

use super::Drawing;
use crate::document::terminal::line::{TextLine, Tone};
use crate::number;

impl Drawing<'_> {
    /// The most frequent outcomes of failures, each with an example.
    pub(super) fn failures(&self, rows: usize) -> Vec<TextLine> {
        let failures = &self.now.failures;
        let shown = rows.min(failures.len());
        let mut lines: Vec<TextLine> = failures
            .iter()
            .take(shown)
            .map(|(outcome, count)| {
                let mut line = TextLine::new();
                line.add(Tone::Bad, &format!(" {} {outcome}", number::count(*count)));
                if let Some((_, [endpoint, detail])) =
                    self.screen.examples.iter().find(|(known, _)| known == outcome)
                {
                    line.add(Tone::Dim, "  ").add(Tone::Normal, self.labels.without_origin(endpoint));
                    line.add(Tone::Normal, &format!(": {detail}"));
                }
                line
            })
            .collect();
        if let Some(last) = lines.last_mut().filter(|_| failures.len() > shown) {
            let more: u64 = failures[shown..].iter().map(|(_, count)| count).sum();
            last.add(Tone::Dim, &format!(" · and {} of other kinds", number::count(more)));
        }
        lines
    }
}
