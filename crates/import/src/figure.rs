//! A number that a source computed: its unit, and whether it can be one of a run.

use std::collections::BTreeMap;

use evidence::manifest::{StatedQuantile, TimesSummary};
use evidence::{SinkError, SourceFigure};

use crate::event::{Event, Receive};
use crate::limits::{MAX_DURATION_MS, MAX_RUN_BYTES, MAX_RUN_COUNT};

/// The most of anything per second that is not bytes.
const MAX_PER_S: f64 = 1e9;
/// The most bytes per second: 1 PiB.
const MAX_BYTES_PER_S: f64 = (1u64 << 50) as f64;
/// Shares are computed in floating point.
const SHARE_ERROR: f64 = 1e-9;

/// What a figure measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// Milliseconds.
    Time,
    /// Requests, iterations, checks.
    Count,
    Bytes,
    /// Counts per second.
    Rate,
    ByteRate,
    /// 0 to 1.
    Share,
    /// A number of the script's own, which may be negative.
    Custom,
    /// Such a number per second.
    CustomRate,
}

impl Quantity {
    fn unit(self) -> &'static str {
        match self {
            Quantity::Time => "ms",
            Quantity::Count | Quantity::Share | Quantity::Custom => "1",
            Quantity::Bytes => "bytes",
            Quantity::Rate | Quantity::CustomRate => "1/s",
            Quantity::ByteRate => "bytes/s",
        }
    }

    /// Why a run cannot have this value.
    fn contradiction(self, value: f64) -> Option<String> {
        let (highest, what) = match self {
            Quantity::Time => (MAX_DURATION_MS, "ms is not a duration"),
            Quantity::Count => (MAX_RUN_COUNT as f64, "is not a count of a run"),
            Quantity::Bytes => (MAX_RUN_BYTES as f64, "is not a number of bytes"),
            Quantity::Rate => (MAX_PER_S, "is not a rate per second"),
            Quantity::ByteRate => (MAX_BYTES_PER_S, "is not a rate of bytes"),
            Quantity::Share => (1.0 + SHARE_ERROR, "is not a share from 0 to 1"),
            Quantity::Custom | Quantity::CustomRate => return None,
        };
        (!(0.0..=highest).contains(&value)).then(|| format!("{value} {what}"))
    }
}

/// A figure as its source states it.
pub(crate) struct StatedFigure<'a> {
    /// The metric or endpoint, as the source names it.
    pub(crate) of: &'a str,
    /// Such as `avg`, `p95`, `count`.
    pub(crate) name: &'a str,
    pub(crate) quantity: Quantity,
    /// In the unit of the quantity; none where the source has no number.
    pub(crate) value: Option<f64>,
}

impl StatedFigure<'_> {
    /// The figure, or the sentence that names it and says why it is left out.
    pub(crate) fn event(self) -> Event<'static> {
        let StatedFigure { of, name, quantity, value } = self;
        let percent = name.strip_prefix('p').and_then(|percent| percent.parse::<f64>().ok());
        let why = match value.filter(|value| value.is_finite()) {
            None => Some("it is not a number".to_owned()),
            Some(_) if percent.is_some_and(|percent| !(0.0..=100.0).contains(&percent)) => {
                Some("there is no such percentile".to_owned())
            }
            Some(value) => quantity.contradiction(value),
        };
        match (why, value) {
            (None, Some(value)) => Event::Figure(SourceFigure {
                of: of.to_owned(),
                name: name.to_owned(),
                value,
                unit: quantity.unit().to_owned(),
            }),
            (why, _) => Event::LeftOut(format!("{of} {name} is left out: {}", why.unwrap_or_default())),
        }
    }
}

/// The most figures that are remembered.
const MAX_STATED: usize = 20_000;

/// The figures of a file that a run can have: passed on, and remembered for what they say together.
#[derive(Default)]
pub(crate) struct StatedFigures {
    /// By what they are of, then by name.
    by_subject: BTreeMap<String, BTreeMap<String, f64>>,
    count: usize,
}

impl StatedFigures {
    /// Pass a figure on and remember it, or pass on why it is left out.
    pub(crate) fn put(
        &mut self,
        figure: StatedFigure<'_>,
        receiver: &mut dyn Receive,
    ) -> Result<(), SinkError> {
        let event = figure.event();
        if let Event::Figure(figure) = &event
            && self.count < MAX_STATED
        {
            self.count += 1;
            self.by_subject.entry(figure.of.clone()).or_default().insert(figure.name.clone(), figure.value);
        }
        receiver.receive(event)
    }

    pub(crate) fn subjects(&self) -> impl Iterator<Item = &str> {
        self.by_subject.keys().map(String::as_str)
    }

    /// The figures of a subject, by name.
    pub(crate) fn about(&self, subject: &str) -> impl Iterator<Item = (&str, f64)> {
        self.by_subject.get(subject).into_iter().flatten().map(|(name, value)| (name.as_str(), *value))
    }

    pub(crate) fn get(&self, of: &str, name: &str) -> Option<f64> {
        self.by_subject.get(of)?.get(name).copied()
    }

    /// The same as a count.
    pub(crate) fn count(&self, of: &str, name: &str) -> Option<u64> {
        self.get(of, name).map(|count| count.round() as u64)
    }

    /// The quantiles of `count` times, of which `failed` are of failed requests; none where none is stated.
    pub(crate) fn times(&self, of: &str, count: u64, failed: Option<u64>) -> Option<TimesSummary> {
        let quantiles: Vec<StatedQuantile> = self
            .about(of)
            .filter_map(|(name, ms)| {
                let q = match name {
                    "min" => 0.0,
                    "max" => 1.0,
                    name => name.strip_prefix('p')?.parse::<f64>().ok()? / 100.0,
                };
                Some(StatedQuantile { q, ms })
            })
            .collect();
        let times = TimesSummary { count, failed, rounding: 0.0, quantiles };
        (count > 0 && !times.quantiles.is_empty()).then_some(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, quantity: Quantity, value: Option<f64>) -> String {
        match (StatedFigure { of: "list", name, quantity, value }).event() {
            Event::Figure(figure) => format!("{} {} {}", figure.name, figure.value, figure.unit),
            Event::LeftOut(why) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn figures_are_in_their_unit() {
        for (quantity, expected) in [
            (Quantity::Time, "n 0.5 ms"),
            (Quantity::Count, "n 0.5 1"),
            (Quantity::Bytes, "n 0.5 bytes"),
            (Quantity::Rate, "n 0.5 1/s"),
            (Quantity::ByteRate, "n 0.5 bytes/s"),
            (Quantity::Share, "n 0.5 1"),
            (Quantity::Custom, "n 0.5 1"),
            (Quantity::CustomRate, "n 0.5 1/s"),
        ] {
            assert_eq!(event("n", quantity, Some(0.5)), expected);
        }
    }

    #[test]
    fn a_number_that_no_run_has_is_named() {
        for (name, quantity, value, why) in [
            ("count", Quantity::Count, Some(1e12), "1000000000000 is not a count of a run"),
            ("count", Quantity::Count, Some(-3.0), "-3 is not a count of a run"),
            ("count", Quantity::Custom, Some(f64::NAN), "it is not a number"),
            ("avg", Quantity::Time, Some(f64::INFINITY), "it is not a number"),
            ("avg", Quantity::Time, None, "it is not a number"),
            ("avg", Quantity::Time, Some(-0.5), "-0.5 ms is not a duration"),
            ("avg", Quantity::Time, Some(2.7e9), "2700000000 ms is not a duration"),
            ("rate", Quantity::Rate, Some(1e12), "1000000000000 is not a rate per second"),
            ("rate", Quantity::ByteRate, Some(-1.0), "-1 is not a rate of bytes"),
            ("bytes in", Quantity::Bytes, Some(1e18), "1000000000000000000 is not a number of bytes"),
            ("rate", Quantity::Share, Some(1.2), "1.2 is not a share from 0 to 1"),
            ("p195", Quantity::Time, Some(4.0), "there is no such percentile"),
            ("pNaN", Quantity::Time, Some(4.0), "there is no such percentile"),
            ("p-5", Quantity::Time, Some(4.0), "there is no such percentile"),
        ] {
            assert_eq!(event(name, quantity, value), format!("list {name} is left out: {why}"));
        }
    }

    #[test]
    fn numbers_of_the_script_may_be_anything() {
        for value in [-7.5, 1e15] {
            assert_eq!(event("avg", Quantity::Custom, Some(value)), format!("avg {value} 1"));
        }
        assert_eq!(event("p99.9", Quantity::Time, Some(4.0)), "p99.9 4 ms");
        assert_eq!(event("passes", Quantity::Count, Some(4.0)), "passes 4 1");
    }
}
