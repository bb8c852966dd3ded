//! What a reader finds, in the words that all formats share.

use evidence::manifest::SourceFigure;
use evidence::{Histogram, Metric, Outcome, SinkError};

/// What a number is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place<'a> {
    /// The scenario; empty where the source has none.
    pub scenario: &'a str,
    /// The endpoint; empty for whole iterations.
    pub endpoint: &'a str,
}

/// One thing that a file says. Times of day are nanoseconds since the Unix epoch.
#[derive(Debug)]
pub enum Event<'a> {
    /// A duration.
    Times {
        /// Of what; a histogram's metric.
        metric: Metric,
        /// About what.
        place: Place<'a>,
        /// How it ended, for metrics that are kept by outcome.
        outcome: Option<Outcome>,
        /// When it ended.
        end: i64,
        /// How long it took.
        nanos: u64,
    },
    /// A number of things that happened.
    Count {
        /// Of what; a counter.
        metric: Metric,
        /// About what.
        place: Place<'a>,
        /// The check's name, for counts of checks.
        check: Option<&'a str>,
        /// When.
        at: i64,
        /// How many.
        value: u64,
    },
    /// How high something was, of the generator.
    Level {
        /// The series' name.
        name: &'static str,
        /// When.
        at: i64,
        /// In units of one.
        value: f64,
    },
    /// The response times of an interval, of which it is not known how the requests ended.
    Interval {
        /// About what.
        place: Place<'a>,
        /// Where the interval begins.
        begin: i64,
        /// Where it ends.
        end: i64,
        /// Its values.
        times: &'a Histogram,
    },
    /// A number that the source worked out itself.
    Figure(SourceFigure),
    /// Something worth knowing of the source, as (name, value).
    Fact(&'static str, String),
    /// A sentence for the reader of the report.
    Remark(String),
    /// A metric that has no place in a run file.
    Unknown(&'a str),
}

impl Event<'_> {
    /// When it happened, if it says so.
    pub(crate) fn at(&self) -> Option<i64> {
        match self {
            Event::Times { end, .. } | Event::Interval { end, .. } => Some(*end),
            Event::Count { at, .. } | Event::Level { at, .. } => Some(*at),
            Event::Figure(_) | Event::Fact(..) | Event::Remark(_) | Event::Unknown(_) => None,
        }
    }
}

/// Takes what a reader finds.
pub trait Receive {
    /// Take one.
    ///
    /// # Errors
    /// [`SinkError`] when it could not be kept.
    fn receive(&mut self, event: Event<'_>) -> Result<(), SinkError>;
}
