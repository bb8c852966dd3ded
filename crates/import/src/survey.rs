//! What a file says of itself as a whole: the first pass over it.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{Metric, SinkError, SourceFigure};
use jiff::Timestamp;

use crate::event::{Event, Receive};
use crate::lines::Fault;

/// How many figures, and how many unknown metrics, are kept.
const MAX_FIGURES: usize = 2_000;
const MAX_UNKNOWN: usize = 20;
const MAX_REMARKS: usize = 100;

/// What a file says of itself as a whole.
#[derive(Debug, Default)]
pub struct Survey {
    /// From the first to the last time it has, in nanoseconds since the Unix epoch.
    pub span: Option<(i64, i64)>,
    /// Events that have a time: what there is evidence of.
    pub dated: u64,
    /// Figures that the source worked out itself.
    pub figures: Vec<SourceFigure>,
    /// Figures beyond those that are kept.
    pub figures_left_out: u64,
    /// What it says of itself.
    pub facts: BTreeMap<String, String>,
    /// What is worth knowing.
    pub remarks: Vec<String>,
    /// Metrics that have no place in a run file.
    pub unknown: BTreeSet<String>,
    /// Whether arrivals that never began are counted.
    pub has_drops: bool,
}

impl Receive for Survey {
    fn receive(&mut self, event: Event<'_>) -> Result<(), SinkError> {
        if let Some(at) = event.at() {
            self.dated += 1;
            let (first, last) = self.span.unwrap_or((at, at));
            let begin = if let Event::Interval { begin, .. } = event { begin } else { at };
            self.span = Some((first.min(begin), last.max(at)));
        }
        match event {
            Event::Count { metric: Metric::Dropped, .. } => self.has_drops = true,
            Event::Figure(_) if self.figures.len() >= MAX_FIGURES => self.figures_left_out += 1,
            Event::Figure(figure) => self.figures.push(figure),
            Event::Fact(name, value) => {
                self.facts.insert(name.to_owned(), value);
            }
            Event::Remark(text) if self.remarks.len() < MAX_REMARKS => self.remarks.push(text),
            Event::Unknown(name) if self.unknown.len() < MAX_UNKNOWN && !self.unknown.contains(name) => {
                self.unknown.insert(name.chars().take(100).collect());
            }
            _ => {}
        }
        Ok(())
    }
}

/// A time of day as nanoseconds since the Unix epoch.
pub(crate) fn rfc3339(text: &str) -> Result<i64, Fault> {
    let time: Timestamp =
        text.parse().map_err(|_| Fault::Malformed(format!("`{}` is no time", short(text))))?;
    i64::try_from(time.as_nanosecond())
        .map_err(|_| Fault::Malformed(format!("`{}` is out of range", short(text))))
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}
