//! Where the run is, and what it offers and carries.

use super::Drawing;
use crate::document::terminal::line::{TextLine, Tone};
use crate::live::{failure_tone, failures, loads, progress, remaining, with_dropped};
use crate::number;

/// Columns of the progress bar, at least and at most.
const BAR: [usize; 2] = [8, 60];

impl Drawing<'_> {
    pub(super) fn head(&self) -> Vec<TextLine> {
        [vec![self.first(), self.second()], self.invalidity()].concat()
    }

    fn first(&self) -> TextLine {
        let now = self.now;
        let mut line = TextLine::new();
        if self.choice.is_paused {
            line.add(Tone::Warn, " PAUSED");
        }
        line.add(Tone::Strong, &format!(" {}", self.screen.name)).add(Tone::Dim, " · ");
        line.add(Tone::Accent, &now.phase).add(Tone::Normal, &format!("  {}  ", progress(now)));
        if self.choice.is_stopping {
            line.add(Tone::Warn, "stopping: no new arrivals");
            return line;
        }
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

    /// In the first form that fits: failures stay in all of them.
    fn second(&self) -> TextLine {
        let now = self.now;
        // The table has the share of failures.
        let failed = with_dropped(format!("{} failed", number::count(now.failed)), now);
        let in_flight = format!("{} in flight", number::count(now.in_flight));
        let done = format!("{} done", number::count(now.completed));
        let throughput = format!("{} req/s", number::rate_or_none(Some(now.throughput_per_s)));
        let loads = loads(now);
        let failures = failures(now);
        let forms: [&[&str]; 5] = [
            &[&loads, &in_flight, &done, &failures],
            &[&loads, &in_flight, &done, &failed],
            &[&loads, &in_flight, &failed],
            &[&throughput, &in_flight, &done, &failed],
            &[&throughput, &failed],
        ];
        let lines = forms.into_iter().map(|pieces| self.pieces(pieces));
        let [.., last] = forms;
        let fits = |line: &TextLine| line.width() <= self.columns;
        lines.into_iter().find(fits).unwrap_or_else(|| self.pieces(last))
    }

    /// Pieces of which the first is the load, and the last the failures.
    fn pieces(&self, pieces: &[&str]) -> TextLine {
        let mut line = TextLine::new();
        line.add(Tone::Normal, " ");
        for (at, piece) in pieces.iter().enumerate() {
            let tone = match at {
                0 => Tone::Strong,
                _ if at + 1 == pieces.len() => failure_tone(self.now),
                _ => Tone::Normal,
            };
            line.add(Tone::Dim, if at > 0 { " · " } else { "" }).add(tone, piece);
        }
        line
    }
}

fn bar(progress: f64, columns: usize) -> String {
    let done = ((progress * columns as f64) as usize).min(columns);
    "━".repeat(done) + &"┄".repeat(columns - done)
}
