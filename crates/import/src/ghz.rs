//! ghz: its JSON, with every call, and the summary that it prints.

pub(crate) mod json;
pub(crate) mod text;

use evidence::SinkError;
use evidence::manifest::RequestSummary;

use crate::event::{Event, Receive};
use crate::figure::{Quantity, StatedFigure, StatedFigures};
use crate::totals::StatedTotal;

/// What ghz's figures are of.
const ALL: &str = "all calls";

/// Which calls ghz's times are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimedCalls {
    Successes,
    /// With `--count-errors`.
    All,
}

#[derive(Default)]
struct CallFigures {
    stated: StatedFigures,
    /// The calls of its errors, added up, if it has any.
    errors: Option<u64>,
    /// The calls of its histogram, added up, if it has one.
    histogram: Option<u64>,
}

impl CallFigures {
    /// Pass on a figure over all calls, in the unit of its quantity.
    fn put(
        &mut self,
        name: &str,
        quantity: Quantity,
        value: Option<f64>,
        receiver: &mut dyn Receive,
    ) -> Result<(), SinkError> {
        self.stated.put(StatedFigure { of: ALL, name, quantity, value }, receiver)
    }

    /// Pass on what the figures say of the calls. Times may be rounded by this share.
    fn summarise(
        &self,
        timed: TimedCalls,
        rounding: f64,
        receiver: &mut dyn Receive,
    ) -> Result<(), SinkError> {
        let requests = self.stated.count(ALL, "count");
        let of_status = |(name, _): &(&str, f64)| name.starts_with("status ");
        let all: f64 = self.stated.about(ALL).filter(of_status).map(|(_, count)| count).sum();
        let ok = self.stated.count(ALL, "status OK").unwrap_or(0);
        // Without every status, it is unknown which of the calls failed.
        let failed = requests.filter(|requests| *requests == all as u64).map(|requests| requests - ok);
        let times = match (timed, requests, failed) {
            (TimedCalls::Successes, _, Some(_)) => self.stated.times(ALL, ok, Some(0)),
            (TimedCalls::All, Some(requests), failed) => self.stated.times(ALL, requests, failed),
            _ => None,
        };
        let times = times.map(|times| evidence::manifest::TimesSummary { rounding, ..times });
        for total in self.totals(timed, all as u64, ok) {
            receiver.receive(Event::Total(total))?;
        }
        receiver.receive(Event::Summary(RequestSummary {
            requests,
            failed,
            per_s: self.stated.get(ALL, "rate"),
            times: times.into_iter().collect(),
            ..RequestSummary::default()
        }))
    }

    /// What its distributions add up to.
    fn totals(&self, timed: TimedCalls, all: u64, ok: u64) -> Vec<StatedTotal> {
        let total = |what: &str, requests, failed| StatedTotal {
            what: format!("The {what} distribution"),
            requests,
            failed,
            ..StatedTotal::default()
        };
        let statuses = (all > 0).then(|| total("status code", Some(all), Some(all.saturating_sub(ok))));
        let errors = self.errors.filter(|_| all > 0).map(|errors| total("error", None, Some(errors)));
        let timed_calls = |timed_calls: u64| match timed {
            TimedCalls::Successes => total("response time", Some(timed_calls + all.saturating_sub(ok)), None),
            TimedCalls::All => total("response time", Some(timed_calls), None),
        };
        let histogram = self.histogram.filter(|_| all > 0).map(timed_calls);
        statuses.into_iter().chain(errors).chain(histogram).collect()
    }
}
