//! `k6 run --out csv=FILE`: a header, then one point per line. Times are whole seconds unless k6 is configured otherwise.

use std::borrow::Cow;
use std::io::BufRead;

use super::points::RequestPoints;
use super::{MetricPoint, Tags, receive};
use crate::ImportError;
use crate::csv::{CsvRecord, CsvShape, for_each_record};
use crate::event::Receive;
use crate::lines::{LineError, Reading};
use crate::parse::rfc3339;

pub(crate) fn read(input: &mut dyn BufRead, receiver: &mut dyn Receive) -> Result<Reading, ImportError> {
    let mut points = RequestPoints::default();
    let shape = CsvShape::quoted(|record| record.get("metric_value").parse::<f64>().is_ok());
    let reading = for_each_record(input, shape, |record| point(record, &mut points, receiver))?;
    points.finish(receiver)?;
    Ok(reading)
}

fn point(
    record: &CsvRecord<'_>,
    points: &mut RequestPoints,
    receiver: &mut dyn Receive,
) -> Result<(), LineError> {
    let get = |name| record.get(name);
    let value = get("metric_value").parse().map_err(|_| LineError::from("`metric_value` is not a number"))?;
    let tag = |name| Cow::Borrowed(get(name));
    let tags = Tags {
        scenario: tag("scenario"),
        name: tag("name"),
        url: tag("url"),
        method: tag("method"),
        status: tag("status"),
        error_code: tag("error_code"),
        expected_response: tag("expected_response"),
        check: tag("check"),
        group: tag("group"),
    };
    let point = MetricPoint { metric: get("metric_name"), at: time(get("timestamp"))?, value, tags };
    receive(&point, points, receiver)
}

/// Seconds since the Unix epoch, or milli-, micro- or nanoseconds, recognised by their size; or RFC 3339.
fn time(text: &str) -> Result<i64, LineError> {
    let Ok(number) = text.parse::<i64>() else { return rfc3339(text) };
    let unit = match number.unsigned_abs() {
        0..=99_999_999_999 => 1_000_000_000,
        100_000_000_000..=99_999_999_999_999 => 1_000_000,
        100_000_000_000_000..=99_999_999_999_999_999 => 1_000,
        _ => 1,
    };
    number.checked_mul(unit).ok_or_else(|| LineError::from("`timestamp` is out of range"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_the_same_instant_in_every_unit() {
        for text in ["1795294885", "1795294885000", "1795294885000000", "2026-11-21T21:01:25Z"] {
            assert_eq!(time(text).ok(), Some(1_795_294_885_000_000_000), "{text}");
        }
        assert!(time("noon").is_err() && time("").is_err());
    }
}
