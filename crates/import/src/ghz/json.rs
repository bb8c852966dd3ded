//! `ghz -O json`: one document; its `details` contain every call and are read one by one.

use std::fmt;
use std::io::BufRead;

use evidence::{GrpcCode, Metric, Outcome, SinkError};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::{CallFigures, TimedCalls};
use crate::ImportError;
use crate::event::{EndpointRef, Event, Receive};
use crate::figure::Quantity;
use crate::limits::MAX_DURATION_NS;
use crate::lines::{Reading, UnreadRecord};
use crate::parse::{first_characters, quoted, rfc3339};

const MS_PER_NS: f64 = 1e-6;
/// The endpoint of calls that come before its name in the document.
const UNNAMED: &str = "call";

pub(crate) fn read(input: &mut dyn BufRead, receiver: &mut dyn Receive) -> Result<Reading, ImportError> {
    let mut state = ReaderState {
        receiver,
        reading: Reading::default(),
        call: UNNAMED.to_owned(),
        figures: CallFigures::default(),
        timed: TimedCalls::Successes,
        failed: None,
    };
    let mut deserializer = serde_json::Deserializer::from_reader(input);
    let outcome = deserializer.deserialize_map(Document(&mut state));
    if let Some(error) = state.failed {
        return Err(error.into());
    }
    match outcome {
        Ok(()) => {
            state.figures.summarise(state.timed, 0.0, state.receiver)?;
            Ok(state.reading)
        }
        Err(error) if error.is_io() => Err(ImportError::Read(error.into())),
        Err(error) if error.is_eof() && state.reading.records > 0 => {
            state.reading.cut = Some(state.reading.records + 1);
            state.figures.summarise(state.timed, 0.0, state.receiver)?;
            Ok(state.reading)
        }
        Err(error) => Err(ImportError::Refused(format!("is not JSON of ghz: {error}"))),
    }
}

struct ReaderState<'a> {
    receiver: &'a mut dyn Receive,
    reading: Reading,
    call: String,
    figures: CallFigures,
    timed: TimedCalls,
    failed: Option<SinkError>,
}

impl ReaderState<'_> {
    /// Serde passes on only its own errors: the receiver's error is stored in the state.
    fn receive<E: serde::de::Error>(&mut self, event: Event<'_>) -> Result<(), E> {
        self.receiver.receive(event).map_err(|error| self.failed(error))
    }

    fn failed<E: serde::de::Error>(&mut self, error: SinkError) -> E {
        self.failed = Some(error);
        E::custom("could not be stored")
    }

    /// A figure, with times in nanoseconds.
    fn figure<E: serde::de::Error>(
        &mut self,
        name: &str,
        quantity: Quantity,
        value: &Value,
    ) -> Result<(), E> {
        let scale = if quantity == Quantity::Time { MS_PER_NS } else { 1.0 };
        let value = value.as_f64().map(|value| value * scale);
        self.figures.put(name, quantity, value, self.receiver).map_err(|error| self.failed(error))
    }

    /// Count a call that could not be read.
    fn unread(&mut self, why: String) -> Result<(), Option<SinkError>> {
        let record = UnreadRecord::new(self.reading.records, why, &[]);
        self.reading.malformed(1, record);
        Ok(())
    }

    fn detail(&mut self, detail: &Detail) -> Result<(), Option<SinkError>> {
        self.reading.records += 1;
        let Ok(end) = rfc3339(&detail.timestamp) else {
            return self.unread(format!("{} is not a time", quoted(&detail.timestamp)));
        };
        let Some(nanos) = u64::try_from(detail.latency).ok().filter(|nanos| *nanos <= MAX_DURATION_NS) else {
            return self.unread(format!("{} ns is not a duration", detail.latency));
        };
        if detail.status == "OK" && !detail.error.is_empty() {
            return self.unread(format!("its status is OK and its error {}", quoted(&detail.error)));
        }
        let subject = EndpointRef { scenario: "", endpoint: &self.call };
        let outcome = Some(outcome(&detail.status));
        let metric = Metric::ResponseTime;
        self.receiver.receive(Event::Times { metric, subject, outcome, end, nanos }).map_err(Some)?;
        let requests = Event::Count { metric: Metric::Requests, subject, check: None, at: end, value: 1 };
        self.receiver.receive(requests).map_err(Some)
    }
}

#[derive(Deserialize)]
struct Detail {
    timestamp: String,
    latency: i64,
    #[serde(default)]
    error: String,
    #[serde(default)]
    status: String,
}

/// The outcome of a status by ghz's name: `DeadlineExceeded` for `DEADLINE_EXCEEDED`.
pub(super) fn outcome(status: &str) -> Outcome {
    let mut name = String::new();
    for (at, c) in status.chars().take(40).enumerate() {
        if at > 0 && c.is_ascii_uppercase() && status != "OK" {
            name.push('_');
        }
        name.push(c.to_ascii_uppercase());
    }
    let name = if name == "CANCELED" { "CANCELLED" } else { &name };
    match GrpcCode::from_name(name) {
        Some(GrpcCode::OK) => Outcome::Ok,
        Some(code) => Outcome::Grpc(code),
        None => Outcome::Protocol,
    }
}

struct Document<'s, 'a>(&'s mut ReaderState<'a>);

impl<'de> Visitor<'de> for Document<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the report of ghz")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let state = self.0;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "options" => options(state, &map.next_value()?)?,
                "details" => map.next_value_seed(Details(state))?,
                "average" => state.figure("avg", Quantity::Time, &map.next_value()?)?,
                "fastest" => state.figure("min", Quantity::Time, &map.next_value()?)?,
                "slowest" => state.figure("max", Quantity::Time, &map.next_value()?)?,
                "count" => state.figure("count", Quantity::Count, &map.next_value()?)?,
                "rps" => state.figure("rate", Quantity::Rate, &map.next_value()?)?,
                "latencyDistribution" => distribution(state, &map.next_value()?)?,
                "errorDistribution" => {
                    let errors: Value = map.next_value()?;
                    let errors = errors.as_object().into_iter().flatten().map(|(_, count)| count);
                    state.figures.errors = Some(errors.filter_map(Value::as_u64).sum());
                }
                "histogram" => {
                    let buckets: Value = map.next_value()?;
                    let counts = buckets.as_array().into_iter().flatten().map(|bucket| &bucket["count"]);
                    let sum: u64 = counts.filter_map(Value::as_u64).sum();
                    state.figures.histogram = Some(sum).filter(|sum| *sum > 0);
                }
                "statusCodeDistribution" => {
                    for (status, count) in map.next_value::<serde_json::Map<String, Value>>()? {
                        state.figure(&format!("status {status}"), Quantity::Count, &count)?;
                    }
                }
                "endReason" => {
                    let reason: Value = map.next_value()?;
                    state.receive(Event::Fact("end_reason", plain(&reason)))?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

fn options<E: serde::de::Error>(state: &mut ReaderState<'_>, options: &Value) -> Result<(), E> {
    if let Some(call) = options.get("call").and_then(Value::as_str).filter(|call| !call.is_empty()) {
        call.clone_into(&mut state.call);
    }
    if options.get("count-errors").and_then(Value::as_bool) == Some(true) {
        state.timed = TimedCalls::All;
    }
    for (name, key) in
        [("concurrency", "concurrency"), ("asked_rate", "rps"), ("timeout_ns", "timeout"), ("host", "host")]
    {
        if let Some(value) = options.get(key) {
            state.receive(Event::Fact(name, plain(value)))?;
        }
    }
    Ok(())
}

/// A value as a fact: texts without quotes.
fn plain(value: &Value) -> String {
    first_characters(&value.as_str().map_or_else(|| value.to_string(), str::to_owned), 200)
}

fn distribution<E: serde::de::Error>(state: &mut ReaderState<'_>, distribution: &Value) -> Result<(), E> {
    for entry in distribution.as_array().into_iter().flatten().take(100) {
        if let (Some(percentage), Some(latency)) = (entry.get("percentage"), entry.get("latency")) {
            state.figure(&format!("p{}", plain(percentage)), Quantity::Time, latency)?;
        }
    }
    Ok(())
}

/// The calls: each is passed on before the next is read.
struct Details<'s, 'a>(&'s mut ReaderState<'a>);

impl<'de> DeserializeSeed<'de> for Details<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Details<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of calls")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut calls: A) -> Result<(), A::Error> {
        let state = self.0;
        while let Some(detail) = calls.next_element::<Detail>()? {
            if let Err(error) = state.detail(&detail) {
                state.failed = error;
                return Err(serde::de::Error::custom("could not be stored"));
            }
        }
        Ok(())
    }
}
