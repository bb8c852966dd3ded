//! The format of a file, recognised by its first bytes.

use std::fmt;

use serde_json::Value;

use crate::ImportError;

/// How many bytes of a file are needed to recognise its format.
pub const HEAD_BYTES: usize = 64 << 10;

const SUPPORTED: &str = "k6's NDJSON (`--out json=FILE`), CSV (`--out csv=FILE`) or summary (`--summary-export FILE`), ghz's \
                     JSON (`-O json`) or summary, vegeta's results (`vegeta encode`) or report (`vegeta report -type=json`), \
                     and HdrHistogram logs";

/// A format of another tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// `k6 run --out json=FILE`: one JSON object per line.
    K6Ndjson,
    /// `k6 run --out csv=FILE`.
    K6Csv,
    /// `k6 run --summary-export FILE`, or the argument of `handleSummary` as JSON.
    K6Summary,
    /// `ghz -O json` and `-O pretty`.
    GhzJson,
    /// `ghz -O summary`, which is what ghz prints.
    GhzText,
    /// `vegeta encode`: one JSON object per line.
    VegetaResults,
    /// `vegeta report -type=json`.
    VegetaReport,
    /// An interval log of HdrHistogram, `.hlog`.
    HdrLog,
}

impl Format {
    /// Every format, with its name on the command line.
    pub const ALL: [(Format, &'static str); 8] = [
        (Format::K6Ndjson, "k6-ndjson"),
        (Format::K6Csv, "k6-csv"),
        (Format::K6Summary, "k6-summary"),
        (Format::GhzJson, "ghz-json"),
        (Format::GhzText, "ghz-text"),
        (Format::VegetaResults, "vegeta-results"),
        (Format::VegetaReport, "vegeta-report"),
        (Format::HdrLog, "hdr-log"),
    ];

    /// Whether it has each request, or a distribution for each interval, and not only figures of the whole run.
    pub fn is_detailed(self) -> bool {
        match self {
            Format::K6Ndjson | Format::K6Csv | Format::GhzJson | Format::VegetaResults | Format::HdrLog => {
                true
            }
            Format::K6Summary | Format::GhzText | Format::VegetaReport => false,
        }
    }

    /// Whether it has figures of the whole run.
    pub fn has_figures(self) -> bool {
        !self.is_detailed() || self == Format::GhzJson
    }

    /// The tool that writes it.
    pub fn tool(self) -> &'static str {
        match self {
            Format::K6Ndjson | Format::K6Csv | Format::K6Summary => "k6",
            Format::GhzJson | Format::GhzText => "ghz",
            Format::VegetaResults | Format::VegetaReport => "vegeta",
            Format::HdrLog => "HdrHistogram",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::K6Ndjson => "k6 NDJSON",
            Format::K6Csv => "k6 CSV",
            Format::K6Summary => "k6 summary",
            Format::GhzJson => "ghz JSON",
            Format::GhzText => "ghz text summary",
            Format::VegetaResults => "vegeta results",
            Format::VegetaReport => "vegeta report",
            Format::HdrLog => "HdrHistogram log",
        })
    }
}

/// The format of a file whose first bytes are `head`.
///
/// # Errors
/// [`ImportError::Refused`] for any other content, with what to do.
pub fn recognise(head: &[u8]) -> Result<Format, ImportError> {
    if has(head, b"\0") || std::str::from_utf8(head).is_err_and(|error| error.error_len().is_some()) {
        return Err(ImportError::Refused(if has(head, b"Latency") && has(head, b"Attack") {
            "has vegeta's results in Go's own encoding, which only vegeta can read: write them as JSON with \
             `vegeta encode results.bin > results.json`"
                .to_owned()
        } else {
            format!("is not text; supported are {SUPPORTED}")
        }));
    }
    let text = head.trim_ascii_start();
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if text.starts_with(b"metric_name,timestamp,metric_value") {
        return Ok(Format::K6Csv);
    }
    if text.starts_with(b"#[") || text.starts_with(b"\"StartTimestamp\"") || has(first, b",HIST") {
        return Ok(Format::HdrLog);
    }
    if text.starts_with(b"Summary:") || has(text, b"\nSummary:") && has(text, b"Requests/sec:") {
        return Ok(Format::GhzText);
    }
    if text.starts_with(b"{") {
        return of_json(first, text);
    }
    Err(ImportError::Refused(format!("is in none of the supported formats: {SUPPORTED}")))
}

fn of_json(first: &[u8], text: &[u8]) -> Result<Format, ImportError> {
    if let Ok(Value::Object(line)) = serde_json::from_slice(first) {
        let all = |names: &[&str]| names.iter().all(|name| line.contains_key(*name));
        if all(&["type", "data", "metric"]) {
            return Ok(Format::K6Ndjson);
        }
        if all(&["code", "timestamp", "latency"]) {
            return Ok(Format::VegetaResults);
        }
    }
    let is_lines = |words: &[&[u8]]| words.iter().all(|word| has(first, word));
    // Documents of one long line or of several lines, and lines that are longer than the head.
    if has(text, b"\"metrics\"")
        && (has(text, b"\"root_group\"") || has(text, b"\"http_req") || has(text, b"\"iteration"))
    {
        Ok(Format::K6Summary)
    } else if has(text, b"\"fastest\"") || has(text, b"\"endReason\"") {
        Ok(Format::GhzJson)
    } else if has(text, b"\"latencies\"") {
        Ok(Format::VegetaReport)
    } else if is_lines(&[b"\"metric\"", b"\"data\""]) {
        Ok(Format::K6Ndjson)
    } else if is_lines(&[b"\"code\"", b"\"timestamp\"", b"\"latency\""]) {
        Ok(Format::VegetaResults)
    } else {
        Err(ImportError::Refused(format!("is JSON, but in none of the supported formats: {SUPPORTED}")))
    }
}

fn has(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}
