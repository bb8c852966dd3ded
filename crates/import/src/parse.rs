//! What several formats need: times of day, whole JSON documents, texts cut to a length.

use std::io::{BufRead, Read};

use jiff::civil::DateTime;
use jiff::{Timestamp, tz::TimeZone};
use serde_json::Value;

use crate::ImportError;
use crate::lines::LineError;

/// How much of a malformed text an error quotes, in characters.
const QUOTED: usize = 40;

/// The first `characters` characters of `text`.
pub(crate) fn first_characters(text: &str, characters: usize) -> String {
    text.chars().take(characters).collect()
}

/// `text` as an error quotes it.
pub(crate) fn quoted(text: &str) -> String {
    format!("`{}`", first_characters(text, QUOTED))
}

/// An RFC 3339 time as nanoseconds since the Unix epoch.
pub(crate) fn rfc3339(text: &str) -> Result<i64, LineError> {
    let time: Timestamp =
        text.parse().map_err(|_| LineError::Malformed(format!("{} is not a time", quoted(text))))?;
    i64::try_from(time.as_nanosecond())
        .map_err(|_| LineError::Malformed(format!("{} is out of range", quoted(text))))
}

/// A time of day without a time zone, `2026/11/21 21:01:25.300` or with other separators, as if it were UTC.
pub(crate) fn civil_time(text: &str) -> Option<i64> {
    let time: DateTime = text.replace('/', "-").parse().ok()?;
    let time = time.to_zoned(TimeZone::UTC).ok()?;
    i64::try_from(time.timestamp().as_nanosecond()).ok()
}

/// A JSON document of at most `max_bytes` bytes.
pub(crate) fn document(input: &mut dyn BufRead, max_bytes: u64) -> Result<Value, ImportError> {
    let mut text = Vec::new();
    input.take(max_bytes + 1).read_to_end(&mut text)?;
    if text.len() as u64 > max_bytes {
        return Err(ImportError::Refused(format!("is longer than {} MiB", max_bytes >> 20)));
    }
    serde_json::from_slice(&text).map_err(|error| {
        ImportError::Refused(if error.is_eof() {
            "is incomplete: a summary is one document and can only be read as a whole".to_owned()
        } else {
            format!("is not JSON: {error}")
        })
    })
}
