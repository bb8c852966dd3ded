//! JMeter's results (JTL): CSV with a header, and XML.
//!
//! Formats: JMeter's manual, "Glossary" and "Listeners" (<https://jmeter.apache.org/usermanual/listeners.html>).

pub(crate) mod csv;
mod transactions;
pub(crate) mod xml;

use std::borrow::Cow;

use evidence::{Metric, Outcome, SinkError};

use crate::event::{EndpointRef, Event, Receive};
use crate::limits::{MAX_DURATION_MS, MAX_RECORD_BYTES, MAX_RECORD_COUNT};
use crate::lines::LineError;
use crate::parse::{civil_time, quoted};
use transactions::Transactions;

const NS_PER_MS: i64 = 1_000_000;
const SECOND_NS: i64 = 1_000_000_000;
/// The message of the sample that a transaction controller adds for all samples in it.
const TRANSACTION: &str = "Number of samples in transaction :";

/// A sample as both formats have it; what a file does not have is empty.
#[derive(Debug, Default)]
pub(crate) struct Sample<'a> {
    pub(crate) label: Cow<'a, str>,
    pub(crate) thread: Cow<'a, str>,
    pub(crate) started: Cow<'a, str>,
    pub(crate) elapsed: Cow<'a, str>,
    pub(crate) success: Cow<'a, str>,
    pub(crate) code: Cow<'a, str>,
    pub(crate) message: Cow<'a, str>,
    pub(crate) bytes: Cow<'a, str>,
    pub(crate) sent_bytes: Cow<'a, str>,
    pub(crate) threads: Cow<'a, str>,
    pub(crate) samples: Cow<'a, str>,
    pub(crate) errors: Cow<'a, str>,
    pub(crate) idle: Cow<'a, str>,
}

impl Sample<'_> {
    /// Whether a transaction controller added it: its time is that of the samples in it, and of the time between them.
    pub(crate) fn is_transaction(&self) -> bool {
        self.message.starts_with(TRANSACTION)
    }

    /// From its start to its end in nanoseconds, where both can be read.
    pub(crate) fn span(&self) -> Option<(i64, i64)> {
        let start = match self.started.parse::<i64>() {
            Ok(ms) => ms.checked_mul(NS_PER_MS)?,
            Err(_) => civil_time(&self.started)?,
        };
        let ms = self.elapsed.parse::<f64>().ok().filter(|ms| (0.0..=MAX_DURATION_MS).contains(ms))?;
        Some((start, start.saturating_add((ms * NS_PER_MS as f64).round() as i64)))
    }

    fn outcome(&self) -> Result<Outcome, LineError> {
        match &*self.success {
            "true" => Ok(Outcome::Ok),
            "false" => Ok(match self.code.parse::<u16>() {
                Ok(status) => Outcome::of_http_status(status),
                Err(_) => self.transport(),
            }),
            other => Err(LineError::Malformed(format!("{} is not `true` or `false`", quoted(other)))),
        }
    }

    /// The outcome of a sample without a status, by the class of Java's exception. Without one, an assertion failed.
    fn transport(&self) -> Outcome {
        let Some(exception) = self.code.strip_prefix("Non HTTP response code:") else {
            return Outcome::Check;
        };
        let has_any = |words: &[&str]| words.iter().any(|word| exception.contains(word));
        if has_any(&["Timeout"]) {
            Outcome::Timeout
        } else if has_any(&["UnknownHost"]) {
            Outcome::Dns
        } else if has_any(&["ConnectException", "NoRouteToHost"]) {
            Outcome::Refused
        } else if has_any(&["SSL", "Certificate"]) {
            Outcome::Tls
        } else if has_any(&["SocketException", "NoHttpResponse", "ConnectionClosed", "EOFException"]) {
            Outcome::Reset
        } else {
            Outcome::Protocol
        }
    }

    /// The thread group: `Browse` of `Browse 1-3`, the third thread of the first group.
    fn thread_group(&self) -> &str {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let numbered = self.thread.rsplit_once(' ');
        let group = numbered.filter(|(_, rest)| {
            rest.split_once('-').is_some_and(|(group, thread)| is_number(group) && is_number(thread))
        });
        group.map_or(&*self.thread, |(group, _)| group)
    }
}

/// What is remembered from sample to sample.
#[derive(Default)]
pub(crate) struct SampleReader {
    /// The second of the last number of threads that was passed on.
    threads_at: Option<i64>,
    has_time_remark: bool,
    transactions: Transactions,
}

impl SampleReader {
    /// Pass a sample to `receiver` as events.
    pub(crate) fn receive(
        &mut self,
        sample: &Sample<'_>,
        receiver: &mut dyn Receive,
    ) -> Result<(), LineError> {
        let ms = sample.elapsed.parse::<f64>().ok().filter(|ms| (0.0..=MAX_DURATION_MS).contains(ms));
        let ms = ms.ok_or_else(|| malformed(&sample.elapsed, "a duration in ms"))?;
        let nanos = (ms * NS_PER_MS as f64).round() as u64;
        let end = self.started(&sample.started, receiver)?.saturating_add(nanos as i64);
        let whole = EndpointRef { scenario: sample.thread_group(), endpoint: "" };
        let outcome = sample.outcome()?;
        if outcome == Outcome::Ok && !matches!(&*sample.errors, "" | "0" | "null") {
            return Err(malformed(&sample.errors, "the number of errors of a sample that succeeded"));
        }
        self.transactions.add(sample, outcome != Outcome::Ok);
        if sample.is_transaction() {
            let subject = EndpointRef { scenario: &sample.label, endpoint: "" };
            let metric = Metric::IterationTime;
            return Ok(receiver.receive(Event::Times { metric, subject, outcome: None, end, nanos })?);
        }
        if !matches!(&*sample.samples, "" | "0" | "1") {
            return Err(malformed(
                &sample.samples,
                "one sample: samples that were added up have no single times",
            ));
        }
        let subject = EndpointRef { endpoint: &sample.label, ..whole };
        let bytes_in = number(&sample.bytes, MAX_RECORD_BYTES)?;
        let bytes_out = number(&sample.sent_bytes, MAX_RECORD_BYTES)?;
        let threads = number(&sample.threads, MAX_RECORD_COUNT)?;
        let (metric, outcome) = (Metric::ResponseTime, Some(outcome));
        receiver.receive(Event::Times { metric, subject, outcome, end, nanos })?;
        let counts =
            [(Metric::Requests, Some(1)), (Metric::BytesIn, bytes_in), (Metric::BytesOut, bytes_out)];
        for (metric, value) in counts {
            let Some(value) = value else { continue };
            receiver.receive(Event::Count { metric, subject, check: None, at: end, value })?;
        }
        let second = end.div_euclid(SECOND_NS);
        if let Some(threads) = threads.filter(|_| self.threads_at.is_none_or(|last| last < second)) {
            self.threads_at = Some(second);
            receiver.receive(Event::Level { name: "virtual_users", at: end, value: threads as f64 })?;
        }
        Ok(())
    }

    /// Pass on that the transactions of a file have more samples than the file.
    pub(crate) fn finish(&self, receiver: &mut dyn Receive) -> Result<(), SinkError> {
        let missing = self.transactions.missing();
        missing.into_iter().try_for_each(|missing| receiver.receive(Event::Contradiction(missing)))
    }

    /// Milliseconds since the Unix epoch, which is JMeter's default, or a date in a format of the user's.
    fn started(&mut self, text: &str, receiver: &mut dyn Receive) -> Result<i64, LineError> {
        if let Ok(ms) = text.parse::<i64>() {
            return ms.checked_mul(NS_PER_MS).ok_or_else(|| malformed(text, "a time"));
        }
        let at = civil_time(text).ok_or_else(|| malformed(text, "a time"))?;
        if !self.has_time_remark {
            self.has_time_remark = true;
            receiver.receive(Event::Remark(
                "times of day have no time zone in the file; they are shown as if they were UTC".to_owned(),
            ))?;
        }
        Ok(at)
    }
}

fn malformed(text: &str, what: &str) -> LineError {
    LineError::Malformed(format!("{} is not {what}", quoted(text)))
}

/// A number that a file may leave out.
fn number(text: &str, highest: u64) -> Result<Option<u64>, LineError> {
    match text {
        "" | "null" => Ok(None),
        text => match text.parse::<u64>().ok().filter(|number| *number <= highest) {
            Some(number) => Ok(Some(number)),
            None => Err(malformed(text, "a count of a sample")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outcome_of_a_failure_follows_from_its_code() {
        for (code, expected) in [
            ("503", Outcome::Http503),
            ("404", Outcome::Http4xx),
            ("200", Outcome::Check),
            ("", Outcome::Check),
            ("Non HTTP response code: java.net.SocketTimeoutException", Outcome::Timeout),
            ("Non HTTP response code: org.apache.http.conn.ConnectTimeoutException", Outcome::Timeout),
            ("Non HTTP response code: org.apache.http.conn.HttpHostConnectException", Outcome::Refused),
            ("Non HTTP response code: java.net.UnknownHostException", Outcome::Dns),
            ("Non HTTP response code: javax.net.ssl.SSLHandshakeException", Outcome::Tls),
            ("Non HTTP response code: org.apache.http.NoHttpResponseException", Outcome::Reset),
            ("Non HTTP response code: java.net.URISyntaxException", Outcome::Protocol),
        ] {
            let sample = Sample { success: "false".into(), code: code.into(), ..Sample::default() };
            assert_eq!(sample.outcome().ok(), Some(expected), "{code}");
        }
    }

    #[test]
    fn the_scenario_is_the_thread_group() {
        for (thread, group) in [
            ("Browse 1-3", "Browse"),
            ("10.0.0.7-Thread Group 12-40", "10.0.0.7-Thread Group"),
            ("setUp", "setUp"),
            ("Phase 2", "Phase 2"),
            ("", ""),
        ] {
            let sample = Sample { thread: thread.into(), ..Sample::default() };
            assert_eq!(sample.thread_group(), group);
        }
    }
}
