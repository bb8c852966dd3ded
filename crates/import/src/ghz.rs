//! ghz: its JSON, with every call, and the summary that it prints.

pub(crate) mod json;
pub(crate) mod text;

use evidence::SinkError;
use evidence::manifest::RequestSummary;

use crate::event::{Event, Receive};
use crate::figure::{Quantity, StatedFigure, StatedFigures};

/// What ghz's figures are of.
const ALL: &str = "all calls";

/// Which calls ghz's times are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimedCalls {
    Successes,
    /// With `--count-errors`.
    All,
}

/// The figures of ghz.
#[derive(Default)]
struct CallFigures(StatedFigures);

impl CallFigures {
    /// Pass on a figure over all calls, in the unit of its quantity.
    fn put(
        &mut self,
        name: &str,
        quantity: Quantity,
        value: Option<f64>,
        receiver: &mut dyn Receive,
    ) -> Result<(), SinkError> {
        self.0.put(StatedFigure { of: ALL, name, quantity, value }, receiver)
    }

    /// Pass on what the figures say of the calls. Times may be rounded by this share.
    fn summarise(
        &self,
        timed: TimedCalls,
        rounding: f64,
        receiver: &mut dyn Receive,
    ) -> Result<(), SinkError> {
        let requests = self.0.count(ALL, "count");
        let of_status = |(name, _): &(&str, f64)| name.starts_with("status ");
        let all: f64 = self.0.of(ALL).filter(of_status).map(|(_, count)| count).sum();
        let ok = self.0.count(ALL, "status OK").unwrap_or(0);
        // Without every status, it is unknown which of the calls failed.
        let failed = requests.filter(|requests| *requests == all as u64).map(|requests| requests - ok);
        let times = match (timed, requests, failed) {
            (TimedCalls::Successes, _, Some(_)) => self.0.times(ALL, ok, Some(0)),
            (TimedCalls::All, Some(requests), failed) => self.0.times(ALL, requests, failed),
            _ => None,
        };
        let times = times.map(|times| evidence::manifest::TimesSummary { rounding, ..times });
        receiver.receive(Event::Summary(RequestSummary {
            requests,
            failed,
            times: times.into_iter().collect(),
            ..RequestSummary::default()
        }))
    }
}
