//! The format of a file, recognised by its first bytes.

use std::fmt;

use serde_json::Value;

use crate::{ImportError, csv};

/// How many bytes of a file are needed to recognise its format.
pub const HEAD_BYTES: usize = 64 << 10;

const SUPPORTED: &str = "k6's NDJSON (`--out json=FILE`), CSV (`--out csv=FILE`) or summary (`--summary-export FILE`), \
                         JMeter's CSV with a header or XML (`-l FILE.jtl`), Gatling's `simulation.log` up to version \
                         3.12.0, Locust's CSV (`--csv PREFIX`), ghz's JSON (`-O json`) or summary, vegeta's results \
                         (`vegeta encode`) or report (`vegeta report -type=json`), oha's JSON (`--output-format json`), \
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
    /// `jmeter -n -l FILE.jtl` with JMeter's default format.
    JmeterCsv,
    /// The same with `jmeter.save.saveservice.output_format=xml`.
    JmeterXml,
    /// Gatling's `simulation.log` as text.
    GatlingLog,
    /// Locust's `PREFIX_stats.csv`.
    LocustStats,
    /// Locust's `PREFIX_stats_history.csv`.
    LocustHistory,
    /// Locust's `PREFIX_failures.csv`.
    LocustFailures,
    /// `oha --output-format json`.
    OhaJson,
    /// An interval log of HdrHistogram, `.hlog`.
    HdrLog,
}

impl Format {
    /// Every format, with its name on the command line.
    pub const ALL: [(Format, &'static str); 15] = [
        (Format::K6Ndjson, "k6-ndjson"),
        (Format::K6Csv, "k6-csv"),
        (Format::K6Summary, "k6-summary"),
        (Format::GhzJson, "ghz-json"),
        (Format::GhzText, "ghz-text"),
        (Format::VegetaResults, "vegeta-results"),
        (Format::VegetaReport, "vegeta-report"),
        (Format::JmeterCsv, "jmeter-csv"),
        (Format::JmeterXml, "jmeter-xml"),
        (Format::GatlingLog, "gatling-log"),
        (Format::LocustStats, "locust-stats"),
        (Format::LocustHistory, "locust-history"),
        (Format::LocustFailures, "locust-failures"),
        (Format::OhaJson, "oha-json"),
        (Format::HdrLog, "hdr-log"),
    ];

    /// Whether it has each request, or a distribution for each interval, and not only figures of the whole run.
    pub fn is_detailed(self) -> bool {
        match self {
            Format::K6Ndjson
            | Format::K6Csv
            | Format::GhzJson
            | Format::VegetaResults
            | Format::JmeterCsv
            | Format::JmeterXml
            | Format::GatlingLog
            | Format::HdrLog => true,
            Format::K6Summary
            | Format::GhzText
            | Format::VegetaReport
            | Format::LocustStats
            | Format::LocustHistory
            | Format::LocustFailures
            | Format::OhaJson => false,
        }
    }

    /// Whether it has figures of the whole run. Locust's history and failures are read beside such a file.
    pub fn has_figures(self) -> bool {
        match self {
            Format::GhzJson => true,
            Format::LocustHistory | Format::LocustFailures => false,
            other => !other.is_detailed(),
        }
    }

    /// The tool that writes it.
    pub fn tool(self) -> &'static str {
        match self {
            Format::K6Ndjson | Format::K6Csv | Format::K6Summary => "k6",
            Format::GhzJson | Format::GhzText => "ghz",
            Format::VegetaResults | Format::VegetaReport => "vegeta",
            Format::JmeterCsv | Format::JmeterXml => "JMeter",
            Format::GatlingLog => "Gatling",
            Format::LocustStats | Format::LocustHistory | Format::LocustFailures => "Locust",
            Format::OhaJson => "oha",
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
            Format::JmeterCsv => "JMeter CSV",
            Format::JmeterXml => "JMeter XML",
            Format::GatlingLog => "Gatling log",
            Format::LocustStats => "Locust statistics",
            Format::LocustHistory => "Locust history",
            Format::LocustFailures => "Locust failures",
            Format::OhaJson => "oha JSON",
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
            "has the exceptions of Locust's users, which are no requests: import the files that end in `_stats.csv` and \
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
    if text.starts_with(b"Summary:") || has(text, b"\nSummary:") && has(text, b"Requests/sec:") {
        return Ok(Format::GhzText);
    }
    if text.starts_with(b"{") {
        return of_json(first, text);
    }
    Err(ImportError::Refused(format!("is in none of the supported formats: {SUPPORTED}")))
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
    let formats: [(&[&str], Format); 5] = [
        (&["metric_name", "timestamp", "metric_value"], Format::K6Csv),
        (&["timeStamp", "elapsed"], Format::JmeterCsv),
        (&["Timestamp", "User Count", "Name"], Format::LocustHistory),
        (&["Name", "Request Count", "Failure Count"], Format::LocustStats),
        (&["Name", "Error", "Occurrences"], Format::LocustFailures),
    ];
    formats.into_iter().find(|(names, _)| has_all(names)).map(|(_, format)| format)
}

/// Why a file that is not text is refused.
fn binary(head: &[u8]) -> String {
    let start = &head[..head.len().min(16)];
    let is_version = |at: &[u8]| at[0] == b'3' && at[1] == b'.' && at[2].is_ascii_digit();
    if has(head, b"Latency") && has(head, b"Attack") {
        "has vegeta's results in Go's own encoding, which only vegeta can read: write them as JSON with \
         `vegeta encode results.bin > results.json`"
            .to_owned()
    } else if head.first() == Some(&0) && start.windows(3).any(is_version) {
        "is a binary `simulation.log`, which Gatling writes since version 3.12.1 and which only Gatling reads: run the \
         simulation with Gatling 3.12.0, whose log is text"
            .to_owned()
    } else {
        format!("is not text; supported are {SUPPORTED}")
    }
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
    } else if has(text, b"\"latencyPercentiles\"") || has(text, b"\"successRate\"") {
        Ok(Format::OhaJson)
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
