//! JMeter's CSV: a header in any order of columns, then one sample per record.

mod parts;

use std::borrow::Cow;
use std::io::BufRead;

use super::{Sample, SampleReader};
use crate::ImportError;
use crate::csv::{CsvRecord, CsvShape, for_each_record};
use crate::event::Receive;
use crate::lines::Reading;
use parts::Parts;

/// JMeter quotes texts, except where a plug-in or an extractor writes the message of a failure.
const SHAPE: CsvShape = CsvShape { is_record, is_start, unquoted: &["responseMessage", "failureMessage"] };
/// Columns with whole numbers.
const COUNTS: [&str; 9] = [
    "bytes",
    "sentBytes",
    "grpThreads",
    "allThreads",
    "Latency",
    "IdleTime",
    "Connect",
    "SampleCount",
    "ErrorCount",
];

fn is_record(record: &CsvRecord<'_>) -> bool {
    let is_count = |name: &&str| match record.get(name) {
        "" | "null" => true,
        text => text.parse::<u64>().is_ok(),
    };
    is_start(record)
        && matches!(record.get("success"), "true" | "false")
        && matches!(record.get("dataType"), "" | "text" | "bin")
        && COUNTS.iter().all(is_count)
}

/// With the time and the duration of a sample.
fn is_start(record: &CsvRecord<'_>) -> bool {
    let sample = Sample {
        started: record.get("timeStamp").into(),
        elapsed: record.get("elapsed").into(),
        ..Sample::default()
    };
    sample.span().is_some()
}

pub(crate) fn read(input: &mut dyn BufRead, receiver: &mut dyn Receive) -> Result<Reading, ImportError> {
    let mut samples = SampleReader::default();
    let mut parts = Parts::default();
    let reading = for_each_record(input, SHAPE, |record| {
        let field = |name| Cow::Borrowed(record.get(name));
        let sample = Sample {
            label: field("label"),
            thread: field("threadName"),
            started: field("timeStamp"),
            elapsed: field("elapsed"),
            success: field("success"),
            code: field("responseCode"),
            message: field("responseMessage"),
            bytes: field("bytes"),
            sent_bytes: field("sentBytes"),
            threads: field("allThreads"),
            samples: field("SampleCount"),
            errors: field("ErrorCount"),
            idle: field("IdleTime"),
        };
        if parts.contain(&sample, receiver)? {
            return Ok(());
        }
        samples.receive(&sample, receiver)
    })?;
    samples.finish(receiver)?;
    Ok(reading)
}
