//! The format of a file, recognised by its first bytes: by what they say, not by what they resemble. Results of tools that
//! are not read are refused by name.

mod json;
mod others;

use crate::format::{Format, SUPPORTED};
use crate::{ImportError, csv};

/// How many bytes of a file are needed to recognise its format.
pub const HEAD_BYTES: usize = 64 << 10;

/// The format of a file whose first bytes are `head`.
///
/// # Errors
/// [`ImportError::Refused`] for any other content, with what to do.
pub fn recognise(head: &[u8]) -> Result<Format, ImportError> {
    if is_of_vegeta(head) {
        return Ok(Format::VegetaBinary);
    }
    if has(head, b"\0") || std::str::from_utf8(head).is_err_and(|error| error.error_len().is_some()) {
        return Err(ImportError::Refused(binary(head)));
    }
    let head = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head);
    let text = head.trim_ascii_start();
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if let Some(format) = std::str::from_utf8(first).ok().and_then(of_header) {
        return Ok(format);
    }
    if text.starts_with(b"Count,Message,Traceback,Nodes") {
        return Err(ImportError::Refused(
            "has the exceptions of Locust's users, which are not requests: import the files that end in `_stats.csv` and \
             `_failures.csv`"
                .to_owned(),
        ));
    }
    if text.starts_with(b"<") && has(text, b"<testResults") {
        return Ok(Format::JmeterXml);
    }
    if text.starts_with(b"#[") || text.starts_with(b"\"StartTimestamp\"") || has(first, b",HIST") {
        return Ok(Format::HdrLog);
    }
    if is_ghz_text(text) {
        return Ok(Format::GhzText);
    }
    if text.starts_with(b"{")
        && let Some(format) = json::format(first, text)
    {
        return Ok(format);
    }
    let is_json = text.starts_with(b"{") || text.starts_with(b"[");
    Err(ImportError::Refused(match others::recognise(text) {
        Some(other) => format!("is {other}, which is not read; supported are {SUPPORTED}"),
        None if is_json => format!("is JSON, but in none of the supported formats: {SUPPORTED}"),
        None => format!("is in none of the supported formats: {SUPPORTED}"),
    }))
}

/// The summary of ghz has the number of calls, and times with a unit after a space; those of hey and oha, which resemble
/// it, have `secs` and no number.
fn is_ghz_text(text: &[u8]) -> bool {
    let has_section = text.starts_with(b"Summary:") || has(text, b"\nSummary:");
    let has_count = has(text, b"\n  Count:");
    has_section && has_count && has(text, b"Requests/sec:")
}

/// The format of a table whose first line is `header`.
fn of_header(header: &str) -> Option<Format> {
    let header = header.trim_end();
    if header.starts_with("RUN\t") || header.starts_with("ASSERTION\t") {
        return Some(Format::GatlingLog);
    }
    let delimiter = csv::delimiter(header);
    let has_all = |names: &[&str]| {
        names.iter().all(|name| header.split(delimiter).any(|column| column.trim_matches('"') == *name))
    };
    if crate::vegeta::is_row(header) {
        return Some(Format::VegetaCsv);
    }
    let formats: [(&[&str], Format); 7] = [
        (&["metric_name", "timestamp", "metric_value"], Format::K6Csv),
        (&["timeStamp", "elapsed"], Format::JmeterCsv),
        (&["Timestamp", "User Count", "Name"], Format::LocustHistory),
        (&["Name", "Request Count", "Failure Count"], Format::LocustStats),
        (&["Name", "Error", "Occurrences"], Format::LocustFailures),
        (&["response-time", "status-code", "offset"], Format::HeyCsv),
        (&["request-start", "request-duration", "status"], Format::OhaCsv),
    ];
    formats.into_iter().find(|(names, _)| has_all(names)).map(|(_, format)| format)
}

/// Whether a file is vegeta's results in Go's encoding, which begin with the definition of their type.
fn is_of_vegeta(head: &[u8]) -> bool {
    let start = &head[..head.len().min(256)];
    has(start, b"\0") && [&b"Result"[..], b"Attack", b"Latency"].iter().all(|word| has(start, word))
}

/// Why a file that is not text is refused.
fn binary(head: &[u8]) -> String {
    let start = &head[..head.len().min(16)];
    let is_version = |at: &[u8]| at[0] == b'3' && at[1] == b'.' && at[2].is_ascii_digit();
    if head.first() == Some(&0) && start.windows(3).any(is_version) {
        "is a binary `simulation.log`, which Gatling writes since version 3.12.1 and which only Gatling reads: run the \
         simulation with Gatling 3.12.0, whose log is text"
            .to_owned()
    } else {
        format!("is not text; supported are {SUPPORTED}")
    }
}

fn has(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}

#[cfg(test)]
mod tests;
