//! Where the run is, and what it offers and carries.

use super::Drawing;
use crate::document::terminal::line::{TextLine, Tone};
use crate::live::{failure_tone, failures, loads, progress, remaining, with_dropped};
use crate::number;

/// Columns of the progress bar, at least and at most.
const BAR: [usize; 2] = [8, 60];

impl Drawing<'_> {
    pub(super) fn head(&self) -> Vec<TextLine> {
        vec![self.first(), self.second()]
    }

    fn first(&self) -> TextLine {
        let now = self.now;
        let mut line = TextLine::new();
        if self.choice.is_paused {
            line.add(Tone::Warn, " PAUSED");
        }
        line.add(Tone::Strong, &format!(" {}", self.screen.name)).add(Tone::Dim, " · ");
        line.add(Tone::Accent, &now.phase).add(Tone::Normal, &format!("  {}  ", progress(now)));
        let remaining = remaining(now);
        let mut end = TextLine::new();
        end.add(Tone::Dim, &format!("  {remaining}"));
        if self.choice.is_paused {
            end.add(Tone::Warn, "  the load goes on");
        }
        let [least, most] = BAR;
        let free = self.columns.saturating_sub(line.width() + end.width() + 1);
        if free >= least {
            line.add(Tone::Accent, &bar(self.progress(), free.min(most)));
        }
        line.extend(end);
        line
    }

    /// From 0 to 1.
    fn progress(&self) -> f64 {
        match self.now.iterations {
            Some((done, planned)) => done as f64 / planned.max(1) as f64,
            None => f64::from(self.now.elapsed_s) / f64::from(self.now.total_s.max(1)),
        }
    }

    fn second(&self) -> TextLine {
        let full = self.loads(&failures(self.now));
        match full.width() <= self.columns {
            true => full,
            // The table has the share of failures.
            false => {
                self.loads(&with_dropped(format!("{} failed", number::count(self.now.failed)), self.now))
            }
        }
    }

    fn loads(&self, failures: &str) -> TextLine {
        let now = self.now;
        let mut line = TextLine::new();
        line.add(Tone::Normal, " ").add(Tone::Strong, &loads(now)).add(Tone::Dim, " · ");
        line.add(Tone::Normal, &format!("{} in flight", number::count(now.in_flight))).add(Tone::Dim, " · ");
        let done = format!("{} done", number::count(now.completed));
        line.add(Tone::Normal, &done).add(Tone::Dim, " · ");
        line.add(failure_tone(now), failures);
        line
    }
}

fn bar(progress: f64, columns: usize) -> String {
    let done = ((progress * columns as f64) as usize).min(columns);
    "━".repeat(done) + &"┄".repeat(columns - done)
}
