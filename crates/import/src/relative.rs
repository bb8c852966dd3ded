//! CSV of hey and of oha: a row for each request that was answered, with times in seconds since the run began. Neither has the
//! requests that got no answer, nor the time of day.

use std::io::BufRead;

use evidence::{Metric, Outcome, UnknownBasis, UnknownRecords, UnknownSubject};

use crate::ImportError;
use crate::csv::{CsvRecord, CsvShape, for_each_record};
use crate::event::{EndpointRef, Event, Receive};
use crate::limits::{MAX_DURATION_NS, MAX_RECORD_BYTES};
use crate::lines::{LineError, Reading};
use crate::parse::quoted;

/// The columns of a tool.
struct Columns {
    tool: &'static str,
    start: &'static str,
    duration: &'static str,
    status: &'static str,
    bytes: Option<&'static str>,
}

/// `hey -o csv`.
pub(crate) fn hey(input: &mut dyn BufRead, receiver: &mut dyn Receive) -> Result<Reading, ImportError> {
    let (start, duration, status) = ("offset", "response-time", "status-code");
    read(input, receiver, &Columns { tool: "hey", start, duration, status, bytes: None })
}

/// `oha --output-format csv`.
pub(crate) fn oha(input: &mut dyn BufRead, receiver: &mut dyn Receive) -> Result<Reading, ImportError> {
    let (start, duration, status) = ("request-start", "request-duration", "status");
    read(input, receiver, &Columns { tool: "oha", start, duration, status, bytes: Some("bytes") })
}

fn read(
    input: &mut dyn BufRead,
    receiver: &mut dyn Receive,
    columns: &Columns,
) -> Result<Reading, ImportError> {
    // Every column of both is a number.
    let shape = CsvShape::quoted(|record| record.fields().all(|(_, field)| field.parse::<f64>().is_ok()));
    let reading = for_each_record(input, shape, |record| {
        let nanos = nanoseconds(record, columns.duration)?;
        let start = i64::try_from(nanoseconds(record, columns.start)?).unwrap_or(i64::MAX);
        let end = start.saturating_add(i64::try_from(nanos).unwrap_or(i64::MAX));
        let text = record.get(columns.status);
        let status: u16 =
            text.parse().map_err(|_| LineError::Malformed(format!("{} is not a status", quoted(text))))?;
        let outcome =
            if (200..400).contains(&status) { Outcome::Ok } else { Outcome::of_http_status(status) };
        let subject = EndpointRef { scenario: "", endpoint: "request" };
        let times =
            Event::Times { metric: Metric::ResponseTime, subject, outcome: Some(outcome), end, nanos };
        receiver.receive(times)?;
        receiver.receive(Event::Count {
            metric: Metric::Requests,
            subject,
            check: None,
            at: end,
            value: 1,
        })?;
        if let Some(column) = columns.bytes {
            let text = record.get(column);
            let bytes = text.parse().ok().filter(|bytes| *bytes <= MAX_RECORD_BYTES);
            let value = bytes
                .ok_or_else(|| LineError::Malformed(format!("{} is not a number of bytes", quoted(text))))?;
            receiver.receive(Event::Count {
                metric: Metric::BytesIn,
                subject,
                check: None,
                at: end,
                value,
            })?;
        }
        Ok(())
    })?;
    receiver.receive(Event::Contradiction(UnknownRecords {
        of: UnknownSubject::Requests,
        basis: UnknownBasis::Records,
        scenario: String::new(),
        endpoint: String::new(),
        more: None,
        doubtful: 0,
        why: format!(
            "The CSV of {} leaves out requests that got no answer, and does not say how many.",
            columns.tool
        ),
    }))?;
    Ok(reading)
}

/// A time in seconds.
fn nanoseconds(record: &CsvRecord<'_>, column: &str) -> Result<u64, LineError> {
    let text = record.get(column);
    let nanos = text.parse::<f64>().ok().map(|seconds| seconds * 1e9);
    let possible = nanos.filter(|nanos| (0.0..=MAX_DURATION_NS as f64).contains(nanos));
    let nanos = possible
        .ok_or_else(|| LineError::Malformed(format!("{} is not a duration in seconds", quoted(text))))?;
    Ok(nanos.round() as u64)
}
