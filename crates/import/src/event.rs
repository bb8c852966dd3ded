//! Events: what a file contains, in one form for all formats.

use evidence::manifest::{RequestSummary, SourceFigure};
use evidence::{Histogram, Metric, Outcome, SinkError, UnknownRecords};

use crate::totals::StatedTotal;

/// The scenario and endpoint that a number belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EndpointRef<'a> {
    /// The scenario; empty where the source has none.
    pub scenario: &'a str,
    /// The endpoint; empty for whole iterations.
    pub endpoint: &'a str,
}

/// One item of a file. Times of day are nanoseconds since the Unix epoch.
#[derive(Debug)]
pub enum Event<'a> {
    /// A duration.
    Times {
        /// The histogram that it belongs to.
        metric: Metric,
        /// The scenario and endpoint.
        subject: EndpointRef<'a>,
        /// The outcome, for metrics that are stored by outcome.
        outcome: Option<Outcome>,
        end: i64,
        /// The duration in nanoseconds.
        nanos: u64,
    },
    Count {
        /// The counter that it belongs to.
        metric: Metric,
        /// The scenario and endpoint.
        subject: EndpointRef<'a>,
        /// The check's name, for counts of checks.
        check: Option<&'a str>,
        /// When it was counted.
        at: i64,
        /// The count.
        value: u64,
    },
    /// A sample of a series of the generator.
    Level {
        name: &'static str,
        /// When it was taken.
        at: i64,
        /// The value, in units of one.
        value: f64,
    },
    /// The response times of an interval. How its requests ended is unknown.
    Interval {
        /// The scenario and endpoint.
        subject: EndpointRef<'a>,
        /// The start of the interval.
        begin: i64,
        /// The end of the interval.
        end: i64,
        times: &'a Histogram,
    },
    /// A number that the source computed.
    Figure(SourceFigure),
    /// What the source's numbers say of the requests of the run, or of an endpoint.
    Summary(RequestSummary),
    /// A total of the source, to compare with its other totals and with its records.
    Total(StatedTotal),
    /// Records that contradict each other.
    Contradiction(UnknownRecords),
    /// A number of the source that no run can have: a sentence that names it.
    LeftOut(String),
    /// A property of the source, as (name, value).
    Fact(&'static str, String),
    /// A sentence for the reader of the report.
    Remark(String),
    /// The name of a metric that run files do not have.
    Unknown(&'a str),
}

impl Event<'_> {
    /// Its start and its end, for events that have a time.
    pub(crate) fn times_of_day(&self) -> Option<(i64, i64)> {
        match *self {
            Event::Times { end, nanos, .. } => {
                Some((end.saturating_sub(i64::try_from(nanos).unwrap_or(i64::MAX)), end))
            }
            Event::Interval { begin, end, .. } => Some((begin, end)),
            Event::Count { at, .. } | Event::Level { at, .. } => Some((at, at)),
            Event::Figure(_)
            | Event::Summary(_)
            | Event::Total(_)
            | Event::Contradiction(_)
            | Event::LeftOut(_)
            | Event::Fact(..)
            | Event::Remark(_)
            | Event::Unknown(_) => None,
        }
    }
}

/// Receives the events of a file.
pub trait Receive {
    /// Receive one event.
    ///
    /// # Errors
    /// [`SinkError`] when it could not be stored.
    fn receive(&mut self, event: Event<'_>) -> Result<(), SinkError>;
}
