//! The first pass over a file: its time range, figures, facts and remarks.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{Metric, SinkError, SourceFigure};

use crate::event::{Event, Receive};
use crate::parse::first_characters;

/// The most figures that are stored.
const MAX_FIGURES: usize = 2_000;
/// The most names of unknown metrics that are stored.
const MAX_UNKNOWN: usize = 20;
/// The longest name of an unknown metric, in characters.
const MAX_UNKNOWN_NAME: usize = 100;
/// The most remarks that are stored.
const MAX_REMARKS: usize = 100;

/// What a file contains besides the events that go into ticks.
#[derive(Debug, Default)]
pub struct Survey {
    /// Its first and its last time, in nanoseconds since the Unix epoch.
    pub span: Option<(i64, i64)>,
    /// How many events have a time: without any, the file has no evidence, only figures.
    pub dated: u64,
    /// Figures that the source computed.
    pub figures: Vec<SourceFigure>,
    /// How many more figures there are than are stored.
    pub figures_left_out: u64,
    /// Properties of the source, by name.
    pub facts: BTreeMap<String, String>,
    /// Sentences for the reader of the report.
    pub remarks: Vec<String>,
    /// Metrics that run files do not have.
    pub unknown: BTreeSet<String>,
    /// Whether the source counts arrivals that never started.
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
                self.unknown.insert(first_characters(name, MAX_UNKNOWN_NAME));
            }
            _ => {}
        }
        Ok(())
    }
}
