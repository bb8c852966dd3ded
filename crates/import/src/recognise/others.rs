//! Results of tools that are not read, so that a refusal can name them.

use super::{has, json};

/// What a tool writes: its name, and words of which all are in its output.
const TEXTS: [(&str, &[&str]); 13] = [
    ("the summary of hey", &["Summary:", "Requests/sec:", " secs", "Response time histogram:"]),
    ("the text of oha", &["Summary:", "Success rate:", "Requests/sec:"]),
    ("the text of wrk", &["Running ", " test @ ", "threads and "]),
    ("the text of ApacheBench", &["This is ApacheBench"]),
    ("the table of ApacheBench", &["starttime\tseconds\tctime\tdtime\tttime\twait"]),
    ("the text of bombardier", &["Bombarding "]),
    ("the text of h2load", &["starting benchmark...", "finished in "]),
    ("the text of siege", &["Transactions:", "Availability:"]),
    ("vegeta's text report, which `vegeta report -type=json` writes as JSON", &["[total, rate, throughput]"]),
    (
        "k6's summary as text, which `--summary-export FILE` writes as JSON",
        &["http_req_duration", "avg=", "p(95)="],
    ),
    ("the text of fortio", &["Fortio ", "Sockets used"]),
    ("JMeter's summariser, beside which `-l FILE.jtl` writes the samples", &["summary =", " Avg:", " Err:"]),
    (
        "Gatling's console text, beside which it writes `simulation.log`",
        &["---- Global Information ---", "> request count"],
    ),
];

/// The members of the JSON of a tool.
const DOCUMENTS: [(&str, &[&str]); 5] = [
    ("the JSON of autocannon", &["latency", "requests", "throughput", "non2xx"]),
    ("the report of Artillery", &["aggregate", "intermediate"]),
    ("the JSON of bombardier", &["spec", "result"]),
    ("Gatling's `stats.json`, beside which it writes `simulation.log`", &["type", "stats", "contents"]),
    ("the JSON of rewrk or drill", &["latency_avg", "requests_avg"]),
];

/// The tool whose output this is, if it is known.
pub(super) fn recognise(text: &[u8]) -> Option<&'static str> {
    if text.starts_with(b"{") {
        let members = json::members(text);
        let is_it = |names: &[&str]| names.iter().all(|name| members.contains(*name));
        return DOCUMENTS.iter().find(|(_, names)| is_it(names)).map(|(name, _)| *name);
    }
    let is_it = |words: &[&str]| words.iter().all(|word| has(text, word.as_bytes()));
    TEXTS.iter().find(|(_, words)| is_it(words)).map(|(name, _)| *name)
}
