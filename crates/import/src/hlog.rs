//! HdrHistogram's interval logs: one histogram per line, its compressed V2 encoding in base64.
//!
//! Format: HdrHistogram's `HistogramLogWriter`, version 1.3 (<https://hdrhistogram.org>). The log does not contain the
//! unit of its values. It is inferred from the interval's maximum, which is printed in milliseconds.

mod decode;

use std::collections::HashMap;
use std::io::BufRead;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::ImportError;
use crate::event::{EndpointRef, Event, Receive};
use crate::limits::MAX_DURATION_NS;
use crate::lines::{LineError, Reading, for_each_line};
use crate::parse::quoted;
use decode::DecodedHistogram;

/// Times before this, in 2001, count from the start of the log.
const ABSOLUTE_S: f64 = 1e9;
/// The longest interval: a day.
const MAX_INTERVAL_S: f64 = 86_400.0;
/// Of a longer interval it is unknown in which second its requests ended.
const LONG_S: f64 = 1.5;
/// Intervals that are not farther apart follow each other.
const LEAST_GAP_S: f64 = 0.01;
/// The most tags whose intervals are followed.
const MAX_TAGS: usize = 1_000;
/// The endpoint of intervals without a tag.
const UNTAGGED: &str = "all";

/// The unit of the values of a log.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Unit {
    Nanoseconds,
    Microseconds,
}

impl Unit {
    /// The unit of values whose maximum is `highest` and was printed as `printed` milliseconds; none if neither fits.
    fn from_maximum(highest: u64, printed: f64) -> Option<Unit> {
        // It is printed with three decimals; the edges of the coarsest buckets are one hundredth apart.
        let fits = |ratio: f64| {
            let expected = printed * ratio;
            (highest as f64 - expected).abs() <= 0.02 * expected.max(highest as f64) + 0.001 * ratio
        };
        [(1e6, Unit::Nanoseconds), (1e3, Unit::Microseconds)]
            .into_iter()
            .find(|(r, _)| fits(*r))
            .map(|(_, unit)| unit)
    }

    /// The highest value of a run.
    fn highest(self) -> u64 {
        match self {
            Unit::Nanoseconds => MAX_DURATION_NS,
            Unit::Microseconds => MAX_DURATION_NS / 1_000,
        }
    }

    /// A value in microseconds, rounded up.
    fn us(self, value: u64) -> u64 {
        match self {
            Unit::Nanoseconds => value.div_ceil(1_000),
            Unit::Microseconds => value,
        }
    }
}

#[derive(Default)]
struct LogReader {
    /// What relative times count from, in seconds since the Unix epoch.
    base_s: f64,
    has_base: bool,
    unit: Option<Unit>,
    /// Whether the remark on long intervals was made.
    has_long_remark: bool,
    /// Whether the remark on the unknown start was made.
    has_undated_remark: bool,
    /// When the last interval of each tag ended, in seconds.
    ends_s: HashMap<String, f64>,
    /// The first gap between intervals, in words.
    gap: Option<String>,
}

pub(crate) fn read(input: &mut dyn BufRead, receiver: &mut dyn Receive) -> Result<Reading, ImportError> {
    let mut log = LogReader::default();
    let mut reading = for_each_line(input, |line| {
        let line = std::str::from_utf8(line).map_err(|_| LineError::from("not UTF-8"))?.trim();
        match line.strip_prefix('#') {
            Some(comment) => log.comment(comment),
            None if line.starts_with("\"StartTimestamp\"") => {}
            None => log.interval(line, receiver)?,
        }
        Ok(())
    })?;
    if let Some((at, why)) = reading.first_malformed() {
        reading
            .open_ended
            .get_or_insert_with(|| format!("line {at} has an interval of unknown content: {why}"));
    }
    if let Some(gap) = log.gap {
        reading.open_ended.get_or_insert(gap);
    }
    Ok(reading)
}

impl LogReader {
    /// `[StartTime: 1441812279.474 (seconds since epoch), …]`; a base time takes precedence.
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
    fn interval(&mut self, line: &str, receiver: &mut dyn Receive) -> Result<(), LineError> {
        let (tag, line) = match line.strip_prefix("Tag=").and_then(|rest| rest.split_once(',')) {
            Some((tag, rest)) => (tag, rest),
            None => (UNTAGGED, line),
        };
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let [start, length, printed, encoded] = fields[..] else {
            return Err("expected start, length, maximum and histogram".into());
        };
        let number = |text: &str| text.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
        let start =
            number(start).filter(|s| *s < 1e10).ok_or_else(|| LineError::from("its start is not a time"))?;
        let length = number(length).filter(|s| *s <= MAX_INTERVAL_S);
        let length = length.ok_or_else(|| LineError::from("its length is not a duration"))?;
        let printed = number(printed).ok_or_else(|| LineError::from("its maximum is not a number"))?;
        let bytes = STANDARD.decode(encoded).map_err(|_| LineError::from("its histogram is not base64"))?;
        let decoded = decode::decode(&bytes)?;
        self.remark_on_times(start, length, receiver)?;
        let times = self.times(&decoded, printed, receiver)?;
        self.follow(tag, start, length);
        let begin_s = if start < ABSOLUTE_S { self.base_s + start } else { start };
        // Seconds since the Unix epoch have no exact nanoseconds in floating point.
        let nanos = |seconds: f64| ((seconds * 1e6).round() as i64).saturating_mul(1_000);
        let (begin, end) = (nanos(begin_s), nanos(begin_s + length));
        let subject = EndpointRef { scenario: "", endpoint: tag };
        Ok(receiver.receive(Event::Interval { subject, begin, end, times: &times })?)
    }

    /// Remember the end of an interval, and that one is missing before it: the intervals of a log follow each other.
    fn follow(&mut self, tag: &str, start: f64, length: f64) {
        if self.ends_s.len() >= MAX_TAGS && !self.ends_s.contains_key(tag) {
            return;
        }
        let end = self.ends_s.entry(tag.to_owned()).or_insert(start);
        if start - *end > length / 2.0 + LEAST_GAP_S {
            let why =
                || format!("between {end:.3} s and {start:.3} s no interval of {} is in it", quoted(tag));
            self.gap.get_or_insert_with(why);
        }
        *end = end.max(start + length);
    }

    /// Remarks on the log's times, each once.
    fn remark_on_times(
        &mut self,
        start: f64,
        length: f64,
        receiver: &mut dyn Receive,
    ) -> Result<(), LineError> {
        if length > LONG_S && !self.has_long_remark {
            self.has_long_remark = true;
            receiver.receive(Event::Remark(format!(
                "intervals of {length} s are counted in the second of their middle: when exactly their requests ended is unknown"
            )))?;
        }
        if start < ABSOLUTE_S && !self.has_base && !self.has_undated_remark {
            self.has_undated_remark = true;
            receiver.receive(Event::Remark("the log does not contain when it started".to_owned()))?;
        }
        Ok(())
    }

    fn times(
        &mut self,
        decoded: &DecodedHistogram,
        printed: f64,
        receiver: &mut dyn Receive,
    ) -> Result<evidence::Histogram, LineError> {
        let mut times = evidence::Histogram::new();
        let Some((highest, _)) = decoded.buckets.last() else { return Ok(times) };
        let unit = Unit::from_maximum(*highest, printed).ok_or_else(|| {
            LineError::from("its maximum does not match its histogram in ms, so its unit is unknown")
        })?;
        if *highest > unit.highest() {
            return Err("its maximum is longer than any run".into());
        }
        if self.unit != Some(unit) {
            if self.unit.is_some() {
                return Err("its values are in another unit than the values before".into());
            }
            self.unit = Some(unit);
            let name = if unit == Unit::Nanoseconds { "nanoseconds" } else { "microseconds" };
            receiver
                .receive(Event::Fact("unit", format!("{name}, inferred from the printed maximum in ms")))?;
        }
        for (value, count) in &decoded.buckets {
            times.record_us(unit.us(*value), *count);
        }
        Ok(times)
    }
}

#[cfg(test)]
mod tests;
