//! vegeta: the hits that `vegeta encode` writes, and the figures of `vegeta report -type=json`.

mod report;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::BufRead;

use evidence::{Metric, Outcome, UnknownBasis, UnknownRecords, UnknownSubject};
use serde::Deserialize;

use crate::ImportError;
use crate::event::{EndpointRef, Event, Receive};
use crate::gob::{Decoder, GobValue, Message};
use crate::limits::{MAX_DURATION_NS, MAX_RECORD_BYTES, MAX_RUN_COUNT};
use crate::lines::{LineError, Reading, UnreadRecord, for_each_line};
use crate::parse::{quoted, rfc3339};
use crate::totals::count;

pub(crate) use report::report;

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
    hits(input, receiver, |line| {
        let hit: Hit<'_> =
            serde_json::from_slice(line).map_err(|error| LineError::Malformed(error.to_string()))?;
        let began = rfc3339(&hit.timestamp)?;
        Ok((hit, began))
    })
}

/// `vegeta encode --to csv`, whose columns have no names.
pub(crate) fn csv(input: &mut dyn BufRead, receiver: &mut dyn Receive) -> Result<Reading, ImportError> {
    hits(input, receiver, |line| {
        let text = std::str::from_utf8(line).map_err(|_| LineError::Malformed("not UTF-8".to_owned()))?;
        row(&crate::csv::fields(text, ','))
            .ok_or_else(|| LineError::Malformed(format!("{} is not a row of vegeta", quoted(text))))
    })
}

/// Whether a line is a row of vegeta's CSV.
pub(crate) fn is_row(line: &str) -> bool {
    row(&crate::csv::fields(line.trim_end(), ',')).is_some()
}

/// Time, status, latency, bytes out and in, error, body, attack, number; since version 12 method, URL and headers.
fn row<'a>(fields: &[Cow<'a, str>]) -> Option<Begun<'a>> {
    if !matches!(fields.len(), 9 | 11 | 12) {
        return None;
    }
    let number = |at: usize| fields[at].parse::<u64>().ok();
    let text = |at: usize| fields.get(at).cloned().unwrap_or_default();
    let hit = Hit {
        timestamp: Cow::Borrowed(""),
        code: fields[1].parse().ok()?,
        latency: number(2)?,
        bytes_out: number(3)?,
        bytes_in: number(4)?,
        error: text(5),
        attack: text(7),
        seq: Some(number(8)?),
        method: text(9),
        url: text(10),
    };
    Some((hit, fields[0].parse().ok()?))
}

/// A hit, and when it began.
type Begun<'a> = (Hit<'a>, i64);

/// The hits of all lines, each with the time at which it began.
fn hits(
    input: &mut dyn BufRead,
    receiver: &mut dyn Receive,
    read: impl for<'l> Fn(&'l [u8]) -> Result<Begun<'l>, LineError>,
) -> Result<Reading, ImportError> {
    let mut sequences = Sequences::default();
    let reading = for_each_line(input, |line| {
        let (hit, began) = read(line)?;
        pass_on(&hit, began, receiver)?;
        sequences.add(&hit);
        Ok(())
    })?;
    sequences.report_missing(&reading, receiver)?;
    Ok(reading)
}

/// `vegeta attack`'s own file, in Go's encoding.
pub(crate) fn binary(input: &mut dyn BufRead, receiver: &mut dyn Receive) -> Result<Reading, ImportError> {
    let mut sequences = Sequences::default();
    let mut reading = Reading::default();
    let mut decoder = Decoder::default();
    loop {
        let read = match decoder.next(input)? {
            Message::End => break,
            Message::Cut => {
                reading.cut = Some(reading.records + 1);
                break;
            }
            Message::Malformed(why) => Err(LineError::Malformed(why)),
            Message::Value(fields) => hit_of(&fields).and_then(|(hit, began)| {
                pass_on(&hit, began, receiver)?;
                sequences.add(&hit);
                Ok(())
            }),
        };
        reading.records += 1;
        match read {
            Ok(()) => {}
            Err(LineError::Sink(error)) => return Err(error.into()),
            Err(LineError::Malformed(why)) => {
                reading.malformed(1, UnreadRecord::new(reading.records, why, b""));
            }
        }
    }
    sequences.report_missing(&reading, receiver)?;
    Ok(reading)
}

/// A hit in Go's encoding, which leaves out fields of the value zero.
fn hit_of(fields: &BTreeMap<String, GobValue>) -> Result<Begun<'_>, LineError> {
    let number = |name: &str| match fields.get(name) {
        None => Some(0),
        Some(GobValue::Uint(number)) => Some(*number),
        Some(GobValue::Int(number)) => u64::try_from(*number).ok(),
        _ => None,
    };
    let text = |name: &str| match fields.get(name) {
        Some(GobValue::Bytes(bytes)) => String::from_utf8_lossy(bytes),
        _ => Cow::Borrowed(""),
    };
    let began = match fields.get("Timestamp") {
        Some(GobValue::Bytes(bytes)) => go_time(bytes),
        _ => None,
    };
    let wrong = |what: &str| LineError::Malformed(format!("a hit without {what}"));
    let hit = Hit {
        attack: text("Attack"),
        seq: number("Seq"),
        code: number("Code").and_then(|code| u16::try_from(code).ok()).ok_or_else(|| wrong("a status"))?,
        timestamp: Cow::Borrowed(""),
        latency: number("Latency").ok_or_else(|| wrong("a latency"))?,
        bytes_out: number("BytesOut").ok_or_else(|| wrong("a size"))?,
        bytes_in: number("BytesIn").ok_or_else(|| wrong("a size"))?,
        error: text("Error"),
        method: text("Method"),
        url: text("URL"),
    };
    Ok((hit, began.ok_or_else(|| wrong("a time"))?))
}

/// A time as Go writes it: a version, the seconds since the year 1, nanoseconds, and the offset of its zone.
fn go_time(bytes: &[u8]) -> Option<i64> {
    /// From the year 1 to 1970.
    const EPOCH_S: i64 = 62_135_596_800;
    let seconds = i64::from_be_bytes(bytes.get(1..9)?.try_into().ok()?);
    let nanos = u32::from_be_bytes(bytes.get(9..13)?.try_into().ok()?);
    seconds.checked_sub(EPOCH_S)?.checked_mul(1_000_000_000)?.checked_add(i64::from(nanos))
}

/// Pass on what a hit says.
fn pass_on(hit: &Hit<'_>, began: i64, receiver: &mut dyn Receive) -> Result<(), LineError> {
    let latency = i64::try_from(hit.latency).ok().filter(|_| hit.latency <= MAX_DURATION_NS);
    let latency =
        latency.ok_or_else(|| LineError::Malformed(format!("{} ns is not a duration", hit.latency)))?;
    if let Some(bytes) = [hit.bytes_in, hit.bytes_out].into_iter().find(|n| *n > MAX_RECORD_BYTES) {
        return Err(LineError::Malformed(format!("{bytes} is not a number of bytes")));
    }
    if let Some(seq) = hit.seq.filter(|seq| *seq > MAX_RUN_COUNT) {
        return Err(LineError::Malformed(format!("{seq} is not the number of a hit")));
    }
    let end = began.saturating_add(latency);
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
    Ok(())
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
    fn report_missing(&self, reading: &Reading, receiver: &mut dyn Receive) -> Result<(), ImportError> {
        for missing in self.missing(reading.malformed) {
            receiver.receive(Event::Contradiction(missing))?;
        }
        Ok(())
    }

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
