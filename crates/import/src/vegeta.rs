//! vegeta: the hits that `vegeta encode` writes, and the figures of `vegeta report -type=json`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::BufRead;

use evidence::manifest::{RequestSummary, TimesSummary};
use evidence::{Metric, Outcome, UnknownBasis, UnknownRecords, UnknownSubject};
use serde::Deserialize;
use serde_json::Value;

use crate::ImportError;
use crate::event::{EndpointRef, Event, Receive};
use crate::figure::{Quantity, StatedFigure, StatedFigures};
use crate::limits::{MAX_DURATION_NS, MAX_RECORD_BYTES, MAX_RUN_COUNT};
use crate::lines::{LineError, Reading, for_each_line};
use crate::parse::{document, first_characters, rfc3339};
use crate::totals::{StatedTotal, count};

/// The longest report that is read.
const MAX_REPORT_BYTES: u64 = 16 << 20;
/// What its figures are of.
const ALL: &str = "all hits";
/// By how much an estimated quantile may be wrong, as a share of it.
const DIGEST_ERROR: f64 = 0.02;

#[derive(Deserialize)]
struct Hit<'a> {
    #[serde(borrow, default)]
    attack: Cow<'a, str>,
    #[serde(default)]
    seq: Option<u64>,
    code: u16,
    #[serde(borrow)]
    timestamp: Cow<'a, str>,
    latency: u64,
    #[serde(default)]
    bytes_out: u64,
    #[serde(default)]
    bytes_in: u64,
    #[serde(borrow, default)]
    error: Cow<'a, str>,
    #[serde(borrow, default)]
    method: Cow<'a, str>,
    #[serde(borrow, default)]
    url: Cow<'a, str>,
}

impl Hit<'_> {
    /// vegeta counts statuses from 200 to 399 as successes.
    fn outcome(&self) -> Outcome {
        match self.code {
            200..=399 => Outcome::Ok,
            0 => self.transport(),
            code => Outcome::of_http_status(code),
        }
    }

    /// The outcome of a hit without a status, by the text of Go's error.
    fn transport(&self) -> Outcome {
        let has_any = |words: &[&str]| words.iter().any(|word| self.error.contains(word));
        if has_any(&["Timeout exceeded", "deadline exceeded", "i/o timeout"]) {
            Outcome::Timeout
        } else if has_any(&["no such host", "lookup "]) {
            Outcome::Dns
        } else if has_any(&["connection refused"]) {
            Outcome::Refused
        } else if has_any(&["x509:", "tls:"]) {
            Outcome::Tls
        } else if has_any(&["connection reset", "broken pipe", "EOF"]) {
            Outcome::Reset
        } else {
            Outcome::Protocol
        }
    }
}

pub(crate) fn results(input: &mut dyn BufRead, receiver: &mut dyn Receive) -> Result<Reading, ImportError> {
    let mut sequences = Sequences::default();
    let reading = for_each_line(input, |line| {
        let hit: Hit<'_> =
            serde_json::from_slice(line).map_err(|error| LineError::Malformed(error.to_string()))?;
        let latency = i64::try_from(hit.latency).ok().filter(|_| hit.latency <= MAX_DURATION_NS);
        let latency =
            latency.ok_or_else(|| LineError::Malformed(format!("{} ns is not a duration", hit.latency)))?;
        if let Some(bytes) = [hit.bytes_in, hit.bytes_out].into_iter().find(|n| *n > MAX_RECORD_BYTES) {
            return Err(LineError::Malformed(format!("{bytes} is not a number of bytes")));
        }
        if let Some(seq) = hit.seq.filter(|seq| *seq > MAX_RUN_COUNT) {
            return Err(LineError::Malformed(format!("{seq} is not the number of a hit")));
        }
        let end = rfc3339(&hit.timestamp)?.saturating_add(latency);
        let endpoint = match (&*hit.method, &*hit.url) {
            ("", "") => Cow::Borrowed("hit"),
            ("", url) => Cow::Borrowed(url),
            (method, url) => Cow::Owned(format!("{method} {url}")),
        };
        let subject = EndpointRef { scenario: &hit.attack, endpoint: &endpoint };
        let (metric, outcome) = (Metric::ResponseTime, Some(hit.outcome()));
        receiver.receive(Event::Times { metric, subject, outcome, end, nanos: hit.latency })?;
        for (metric, value) in
            [(Metric::Requests, 1), (Metric::BytesIn, hit.bytes_in), (Metric::BytesOut, hit.bytes_out)]
        {
            receiver.receive(Event::Count { metric, subject, check: None, at: end, value })?;
        }
        sequences.add(&hit);
        Ok(())
    })?;
    for missing in sequences.missing(reading.malformed) {
        receiver.receive(Event::Contradiction(missing))?;
    }
    Ok(reading)
}

/// The most attacks whose hits are counted.
const MAX_ATTACKS: usize = 1_000;

/// The hits of each attack, which vegeta numbers from 0.
#[derive(Default)]
struct Sequences {
    attacks: BTreeMap<String, Sequence>,
}

#[derive(Default)]
struct Sequence {
    hits: u64,
    highest: u64,
}

impl Sequences {
    fn add(&mut self, hit: &Hit<'_>) {
        let Some(seq) = hit.seq else { return };
        if self.attacks.len() >= MAX_ATTACKS && !self.attacks.contains_key(&*hit.attack) {
            return;
        }
        let sequence = self.attacks.entry(hit.attack.to_string()).or_default();
        sequence.hits += 1;
        sequence.highest = sequence.highest.max(seq);
    }

    /// The hits whose numbers are in no record, unless those that could not be read have them. Attacks of several machines
    /// have the same numbers, so that some of theirs may be missing without a gap.
    fn missing(&self, unread: u64) -> Vec<UnknownRecords> {
        let mut unread = unread;
        let mut of = |(attack, sequence): (&String, &Sequence)| {
            let numbered = sequence.highest.saturating_add(1);
            let missing = numbered.saturating_sub(sequence.hits);
            let explained = missing.min(unread);
            unread -= explained;
            (missing > explained).then(|| UnknownRecords {
                of: UnknownSubject::Requests,
                basis: UnknownBasis::Records,
                scenario: attack.clone(),
                endpoint: String::new(),
                more: Some(missing - explained),
                doubtful: 0,
                why: format!(
                    "The hits of attack `{attack}` are numbered up to {}, and {} were read.",
                    count(sequence.highest),
                    count(sequence.hits)
                ),
            })
        };
        self.attacks.iter().filter_map(&mut of).collect()
    }
}

pub(crate) fn report(input: &mut dyn BufRead, receiver: &mut dyn Receive) -> Result<Reading, ImportError> {
    let document = document(input, MAX_REPORT_BYTES)?;
    let mut records = 0;
    let mut figures = StatedFigures::default();
    let mut put = |name: &str, quantity, value: Option<&Value>| -> Result<(), ImportError> {
        let Some(value) = value else { return Ok(()) };
        records += 1;
        // Times are in nanoseconds.
        let scale = if quantity == Quantity::Time { 1e-6 } else { 1.0 };
        let value = value.as_f64().map(|value| value * scale);
        Ok(figures.put(StatedFigure { of: ALL, name, quantity, value }, receiver)?)
    };
    let number = |at: &str| document.pointer(at);
    for (at, name) in [
        ("mean", "avg"),
        ("min", "min"),
        ("50th", "p50"),
        ("90th", "p90"),
        ("95th", "p95"),
        ("99th", "p99"),
        ("max", "max"),
    ] {
        put(name, Quantity::Time, number(&format!("/latencies/{at}")))?;
    }
    for (at, name, quantity) in [
        ("/requests", "count", Quantity::Count),
        ("/rate", "rate", Quantity::Rate),
        ("/throughput", "throughput", Quantity::Rate),
        ("/success", "success", Quantity::Share),
        ("/bytes_in/total", "bytes in", Quantity::Bytes),
        ("/bytes_out/total", "bytes out", Quantity::Bytes),
    ] {
        put(name, quantity, number(at))?;
    }
    for (status, count) in
        document.get("status_codes").and_then(Value::as_object).into_iter().flatten().take(100)
    {
        put(&format!("status {status}"), Quantity::Count, Some(count))?;
    }
    for (name, at) in [("earliest", "/earliest"), ("end", "/end")] {
        if let Some(text) = document.pointer(at).and_then(Value::as_str) {
            receiver.receive(Event::Fact(name, first_characters(text, 60)))?;
        }
    }
    if records == 0 {
        return Err(ImportError::Refused("has no figures, unlike a report of vegeta".to_owned()));
    }
    let length_ns = ["/duration", "/wait"].map(|at| document.pointer(at).and_then(Value::as_f64));
    let length_s = length_ns[0].zip(length_ns[1]).map(|(duration, wait)| (duration + wait) / 1e9);
    let total_ms = document.pointer("/latencies/total").and_then(Value::as_f64).map(|ns| ns / 1e6);
    for total in totals(&figures, length_s, total_ms) {
        receiver.receive(Event::Total(total))?;
    }
    receiver.receive(Event::Summary(summary(&figures)))?;
    Ok(Reading { records, ..Reading::default() })
}

/// What the report states of its hits besides their number: statuses, shares, rates and sums.
fn totals(figures: &StatedFigures, length_s: Option<f64>, total_ms: Option<f64>) -> Vec<StatedTotal> {
    let Statuses { all, ok } = Statuses::of(figures);
    let Some(requests) = figures.count(ALL, "count") else { return Vec::new() };
    let total = |what: &str, requests: Option<u64>, failed: Option<u64>| StatedTotal {
        what: what.to_owned(),
        requests,
        failed,
        ..StatedTotal::default()
    };
    let failed = |ok: f64| Some(requests.saturating_sub(ok.round() as u64));
    let statuses = total("`status_codes`", Some(all), Some(all - ok));
    let success = figures.get(ALL, "success").map(|share| failed(share * requests as f64));
    let throughput = figures.get(ALL, "throughput").zip(length_s).map(|(rate, s)| failed(rate * s));
    let mean = figures.get(ALL, "avg").filter(|mean| *mean > 0.0).zip(total_ms);
    // The mean is rounded to nanoseconds.
    let by_mean = mean.map(|(mean, all)| all / mean).filter(|n| (n - requests as f64).abs() > 0.5 + n * 1e-3);
    let by_mean = by_mean.map(|n| total("`latencies.total` by the mean", Some(n.round() as u64), None));
    [statuses]
        .into_iter()
        .chain(success.map(|failed| total("`success`", None, failed)))
        .chain(throughput.map(|failed| total("`throughput`", None, failed)))
        .chain(by_mean)
        .collect()
}

/// The hits of a report by their status.
struct Statuses {
    all: u64,
    ok: u64,
}

impl Statuses {
    fn of(figures: &StatedFigures) -> Statuses {
        let sum = |prefixes: &[&str]| {
            let of_status = |(name, _): &(&str, f64)| prefixes.iter().any(|prefix| name.starts_with(prefix));
            figures.of(ALL).filter(of_status).map(|(_, count)| count as u64).sum()
        };
        Statuses { all: sum(&["status "]), ok: sum(&["status 2", "status 3"]) }
    }
}

/// Its times are of all hits. vegeta estimates quantiles from a digest.
fn summary(figures: &StatedFigures) -> RequestSummary {
    let requests = figures.count(ALL, "count");
    let Statuses { all, ok } = Statuses::of(figures);
    let failed = requests.filter(|requests| *requests == all).map(|requests| requests - ok);
    let times = requests.and_then(|requests| figures.times(ALL, requests, failed));
    let times = times.map(|times| TimesSummary { rounding: DIGEST_ERROR, ..times });
    let per_s = figures.get(ALL, "rate");
    RequestSummary {
        requests,
        failed,
        per_s,
        times: times.into_iter().collect(),
        ..RequestSummary::default()
    }
}
