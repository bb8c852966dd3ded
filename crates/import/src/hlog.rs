//! HdrHistogram's interval logs: a histogram a line, base64 of its compressed V2 encoding.
//!
//! Format: HdrHistogram's `HistogramLogWriter`, version 1.3 (<https://hdrhistogram.org>). The unit of the values is
//! nowhere in it; it is told from the interval's maximum, which is printed in millions or thousands of them.

mod decode;

use std::io::BufRead;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::ImportError;
use crate::event::{Event, Place, Receive};
use crate::lines::{Fault, Reading, each};
use decode::Decoded;

/// Times before this, 2001, count from the log's own beginning.
const ABSOLUTE_S: f64 = 1e9;
/// The longest interval, a day.
const MAX_INTERVAL_S: f64 = 86_400.0;
/// An interval much longer than a second loses when in it things happened.
const LONG_S: f64 = 1.5;
const UNTAGGED: &str = "all";

/// How many microseconds one unit of the values is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Unit {
    Nanoseconds,
    Microseconds,
}

impl Unit {
    /// The unit of values whose maximum is `highest` and printed as `printed`, in milliseconds; none if neither fits.
    fn told_by(highest: u64, printed: f64) -> Option<Unit> {
        // Printed with three decimals, of a bucket whose edges are a part in a hundred apart at the coarsest.
        let fits = |ratio: f64| {
            let expected = printed * ratio;
            (highest as f64 - expected).abs() <= 0.02 * expected.max(highest as f64) + 0.001 * ratio
        };
        [(1e6, Unit::Nanoseconds), (1e3, Unit::Microseconds)]
            .into_iter()
            .find(|(r, _)| fits(*r))
            .map(|(_, unit)| unit)
    }

    fn us(self, value: u64) -> u64 {
        match self {
            Unit::Nanoseconds => value.div_ceil(1_000),
            Unit::Microseconds => value,
        }
    }
}

#[derive(Default)]
struct Log {
    /// What relative times count from, in seconds since the Unix epoch.
    base_s: f64,
    has_base: bool,
    unit: Option<Unit>,
    is_long: bool,
    is_undated: bool,
}

pub(crate) fn read(input: &mut dyn BufRead, receiver: &mut dyn Receive) -> Result<Reading, ImportError> {
    let mut log = Log::default();
    each(input, |line| {
        let line = std::str::from_utf8(line).map_err(|_| Fault::from("not UTF-8"))?.trim();
        match line.strip_prefix('#') {
            Some(comment) => log.comment(comment),
            None if line.starts_with("\"StartTimestamp\"") => {}
            None => log.interval(line, receiver)?,
        }
        Ok(())
    })
}

impl Log {
    /// `[StartTime: 1441812279.474 (seconds since epoch), …]`; a base time, where there is one, goes before it.
    fn comment(&mut self, comment: &str) {
        let after = |name: &str| comment.split_once(name).map(|(_, rest)| rest.trim_start());
        let is_base = comment.contains("[BaseTime:");
        let Some(rest) = after("[BaseTime:").or_else(|| after("[StartTime:")) else { return };
        let number = rest.split([' ', ']']).next().and_then(|text| text.parse::<f64>().ok());
        if let Some(seconds) = number.filter(|s| (0.0..1e10).contains(s) && (is_base || !self.has_base)) {
            (self.base_s, self.has_base) = (seconds, true);
        }
    }

    /// `[Tag=NAME,]start,length,max,histogram`.
    fn interval(&mut self, line: &str, receiver: &mut dyn Receive) -> Result<(), Fault> {
        let (tag, line) = match line.strip_prefix("Tag=").and_then(|rest| rest.split_once(',')) {
            Some((tag, rest)) => (tag, rest),
            None => (UNTAGGED, line),
        };
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let [start, length, printed, encoded] = fields[..] else {
            return Err("expected start, length, maximum and histogram".into());
        };
        let number = |text: &str| text.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
        let start = number(start).filter(|s| *s < 1e10).ok_or_else(|| Fault::from("its start is no time"))?;
        let length = number(length).filter(|s| *s <= MAX_INTERVAL_S);
        let length = length.ok_or_else(|| Fault::from("its length is no duration"))?;
        let printed = number(printed).ok_or_else(|| Fault::from("its maximum is no number"))?;
        let bytes = STANDARD.decode(encoded).map_err(|_| Fault::from("its histogram is no base64"))?;
        let decoded = decode::decode(&bytes)?;
        self.note((start, length), receiver)?;
        let times = self.times(&decoded, printed, receiver)?;
        let begin_s = if start < ABSOLUTE_S { self.base_s + start } else { start };
        let nanos = |seconds: f64| (seconds * 1e9) as i64;
        let (begin, end) = (nanos(begin_s), nanos(begin_s + length));
        let place = Place { scenario: "", endpoint: tag };
        Ok(receiver.receive(Event::Interval { place, begin, end, times: &times })?)
    }

    /// What the reader of the report should know of the log's times, told once.
    fn note(&mut self, (start, length): (f64, f64), receiver: &mut dyn Receive) -> Result<(), Fault> {
        if length > LONG_S && !self.is_long {
            self.is_long = true;
            receiver.receive(Event::Remark(format!(
                "intervals of {length} s are kept in their last second: when in them requests ended is not known"
            )))?;
        }
        if start < ABSOLUTE_S && !self.has_base && !self.is_undated {
            self.is_undated = true;
            receiver.receive(Event::Remark("the log does not say when it began".to_owned()))?;
        }
        Ok(())
    }

    fn times(
        &mut self,
        decoded: &Decoded,
        printed: f64,
        receiver: &mut dyn Receive,
    ) -> Result<evidence::Histogram, Fault> {
        let mut times = evidence::Histogram::new();
        let Some((highest, _)) = decoded.buckets.last() else { return Ok(times) };
        let unit = Unit::told_by(*highest, printed).ok_or_else(|| {
            Fault::from("its maximum is not that of its histogram in ms, so its unit cannot be told")
        })?;
        if self.unit != Some(unit) {
            if self.unit.is_some() {
                return Err("its values are in another unit than those before".into());
            }
            self.unit = Some(unit);
            let name = if unit == Unit::Nanoseconds { "nanoseconds" } else { "microseconds" };
            receiver.receive(Event::Fact("unit", format!("{name}, told from the printed maximum in ms")))?;
        }
        for (value, count) in &decoded.buckets {
            times.record_us(unit.us(*value), *count);
        }
        Ok(times)
    }
}

#[cfg(test)]
mod tests;
