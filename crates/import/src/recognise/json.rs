//! JSON documents and lines, recognised by the members of the document itself and not by words in its texts.

use std::collections::BTreeSet;

use serde_json::Value;

use super::has;
use crate::format::Format;

/// The members of a document of ghz. Two of them show that it is one: which come first depends on the version.
const GHZ: [&str; 9] = [
    "endReason",
    "count",
    "average",
    "fastest",
    "slowest",
    "errorDistribution",
    "statusCodeDistribution",
    "latencyDistribution",
    "details",
];

/// The format of JSON whose first line is `first`.
pub(super) fn format(first: &[u8], text: &[u8]) -> Option<Format> {
    let line = match serde_json::from_slice(first) {
        Ok(Value::Object(line)) => line.keys().cloned().collect(),
        _ => members(first),
    };
    let document = members(text);
    let all = |names: &[&str], of: &BTreeSet<String>| names.iter().all(|name| of.contains(*name));
    let is_of_k6 =
        || ["\"root_group\"", "\"http_req", "\"iteration"].iter().any(|word| has(text, word.as_bytes()));
    if all(&["metric", "data"], &line) {
        Some(Format::K6Ndjson)
    } else if all(&["code", "timestamp", "latency"], &line) {
        Some(Format::VegetaResults)
    } else if document.contains("summary")
        && ["latencyPercentiles", "statusCodeDistribution"].iter().any(|name| document.contains(*name))
    {
        Some(Format::OhaJson)
    } else if (document.contains("metrics") && is_of_k6())
        || (all(&["config", "metadata", "results"], &document) && has(text, b"\"k6Version\""))
    {
        Some(Format::K6Summary)
    } else if GHZ.iter().filter(|name| document.contains(**name)).count() >= 2 {
        Some(Format::GhzJson)
    } else if all(&["RunType", "DurationHistogram"], &document) {
        Some(Format::FortioJson)
    } else if document.contains("latencies") && all(&["requests"], &document) {
        Some(Format::VegetaReport)
    } else {
        None
    }
}

/// The names of the outermost members in as much of a document as there is.
pub(super) fn members(text: &[u8]) -> BTreeSet<String> {
    let mut members = BTreeSet::new();
    let (mut depth, mut at) = (0u32, 0);
    while at < text.len() {
        match text[at] {
            b'{' | b'[' => depth += 1,
            // What follows the first document is another.
            b'}' | b']' if depth <= 1 => return members,
            b'}' | b']' => depth -= 1,
            b'"' => {
                let Some(length) = string(&text[at + 1..]) else { return members };
                let name = &text[at + 1..at + 1 + length];
                at += length + 1;
                let is_name = text[at + 1..].trim_ascii_start().first() == Some(&b':');
                if depth == 1 && is_name {
                    members.insert(String::from_utf8_lossy(name).into_owned());
                }
            }
            _ => {}
        }
        at += 1;
    }
    members
}

/// How long the string is that these bytes begin with; none if it does not end in them.
fn string(text: &[u8]) -> Option<usize> {
    let mut is_escaped = false;
    text.iter().position(|byte| {
        let is_end = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    })
}
