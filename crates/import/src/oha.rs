//! oha: the figures of `oha --output-format json`, with times in seconds.

use std::io::BufRead;

use evidence::manifest::RequestSummary;
use serde_json::Value;

use crate::ImportError;
use crate::event::{Event, Receive};
use crate::figure::{Quantity, StatedFigure, StatedFigures};
use crate::lines::Reading;
use crate::parse::{document, first_characters};
use crate::totals::StatedTotal;

/// The longest report that is read.
const MAX_BYTES: u64 = 16 << 20;
/// What its figures are of: requests that got a response, unless a name says otherwise.
const ALL: &str = "all requests";
/// Of responses with a status below 400, with `--stats-success-breakdown`.
const SUCCESSFUL: &str = "successful requests";
const MS_PER_S: f64 = 1e3;
/// oha's error of requests that were under way when the time was over.
const DEADLINE: &str = "aborted due to deadline";
/// The most statuses and errors that are read.
const MAX_KINDS: usize = 200;
const MAX_KIND: usize = 100;

pub(crate) fn read(input: &mut dyn BufRead, receiver: &mut dyn Receive) -> Result<Reading, ImportError> {
    let document = document(input, MAX_BYTES)?;
    let mut figures = FigureReader { figures: StatedFigures::default(), receiver, records: 0 };
    for (at, name, quantity) in [
        ("/summary/average", "avg", Quantity::Time),
        ("/summary/fastest", "min", Quantity::Time),
        ("/summary/slowest", "max", Quantity::Time),
        ("/summary/requestsPerSec", "rate", Quantity::Rate),
        ("/summary/successRate", "success", Quantity::Share),
        ("/summary/totalData", "bytes in", Quantity::Bytes),
        ("/summary/total", "total time", Quantity::Time),
    ] {
        figures.put(ALL, name, quantity, document.pointer(at))?;
    }
    for (key, of) in [("latencyPercentiles", ALL), ("latencyPercentilesSuccessful", SUCCESSFUL)] {
        for (name, value) in members(&document, key) {
            figures.put(of, &first_characters(name, MAX_KIND), Quantity::Time, Some(value))?;
        }
    }
    let mut counts = Counts::default();
    for (status, count) in members(&document, "statusCodeDistribution") {
        let name = format!("status {}", first_characters(status, MAX_KIND));
        figures.put(ALL, &name, Quantity::Count, Some(count))?;
        let count = figures.figures.count(ALL, &name).unwrap_or(0);
        counts.answered += count;
        counts.refused += if status.starts_with(['2', '3']) { 0 } else { count };
    }
    for (error, count) in members(&document, "errorDistribution") {
        let name = format!("error: {}", first_characters(error, MAX_KIND));
        figures.put(ALL, &name, Quantity::Count, Some(count))?;
        let count = figures.figures.count(ALL, &name).unwrap_or(0);
        counts.without_response += count;
        counts.at_deadline += if error == DEADLINE { count } else { 0 };
    }
    if figures.records == 0 {
        return Err(ImportError::Refused("has no figures, unlike JSON of oha".to_owned()));
    }
    let histogram = members(&document, "responseTimeHistogram").map(|(_, count)| count);
    let histogram: u64 = histogram.filter_map(Value::as_u64).sum();
    let FigureReader { figures, receiver, records } = figures;
    for total in counts.totals(&figures, histogram) {
        receiver.receive(Event::Total(total))?;
    }
    receiver.receive(Event::Summary(counts.summary(&figures)))?;
    Ok(Reading { records, ..Reading::default() })
}

/// The members of an object, as many as are read.
fn members<'d>(document: &'d Value, key: &str) -> impl Iterator<Item = (&'d String, &'d Value)> {
    document.get(key).and_then(Value::as_object).into_iter().flatten().take(MAX_KINDS)
}

struct FigureReader<'a> {
    figures: StatedFigures,
    receiver: &'a mut dyn Receive,
    records: u64,
}

impl FigureReader<'_> {
    /// A figure, unless oha states none: percentiles of no response are null.
    fn put(
        &mut self,
        of: &str,
        name: &str,
        quantity: Quantity,
        value: Option<&Value>,
    ) -> Result<(), ImportError> {
        let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(()) };
        self.records += 1;
        let scale = if quantity == Quantity::Time { MS_PER_S } else { 1.0 };
        let value = value.as_f64().map(|value| value * scale);
        Ok(self.figures.put(StatedFigure { of, name, quantity, value }, self.receiver)?)
    }
}

#[derive(Default)]
struct Counts {
    answered: u64,
    /// Answered with a status that is a failure.
    refused: u64,
    without_response: u64,
    /// Of these, under way when the run ended, which oha leaves out of its success rate.
    at_deadline: u64,
}

impl Counts {
    /// What oha states besides statuses and errors: that so many were answered, and so many a second.
    fn totals(&self, figures: &StatedFigures, histogram: u64) -> Vec<StatedTotal> {
        let all = self.answered + self.without_response;
        let asked = all - self.at_deadline;
        let total = |what: &str, requests: Option<u64>, failed: Option<u64>| StatedTotal {
            what: what.to_owned(),
            requests,
            failed,
            ..StatedTotal::default()
        };
        // Without a status that failed, it is the share of requests that were answered.
        let success = figures.get(ALL, "success").map(|share| {
            let answered = (share * asked as f64).round() as u64;
            let without_response = asked.saturating_sub(answered) + self.at_deadline;
            total("The success rate", None, Some(without_response + self.refused))
        });
        let rate = figures.get(ALL, "rate").zip(figures.get(ALL, "total time"));
        let rate = rate.map(|(rate, ms)| (rate * ms / MS_PER_S).round() as u64);
        // With a deadline, what was under way may be in it or not.
        let rate = rate.filter(|n| *n != asked && *n != all);
        let rate = rate.map(|n| total("The rate times the time", Some(n), None));
        let histogram = (histogram > 0).then_some(histogram + self.without_response);
        let histogram = histogram.map(|n| total("The histogram with the errors", Some(n), None));
        success.into_iter().chain(rate).chain(histogram).collect()
    }

    fn summary(&self, figures: &StatedFigures) -> RequestSummary {
        let successes = figures.times(SUCCESSFUL, self.answered - self.refused, Some(0));
        let all = figures.times(ALL, self.answered, Some(self.refused));
        RequestSummary {
            requests: Some(self.answered + self.without_response),
            failed: Some(self.refused + self.without_response),
            per_s: figures.get(ALL, "rate"),
            times: successes.into_iter().chain(all).collect(),
            ..RequestSummary::default()
        }
    }
}
