//! Gatling's `simulation.log` as text, which versions up to 3.12.0 write: records of fields between tabs. Their number
//! depends on the version, so requests are read from the end of the line.

use std::collections::BTreeMap;
use std::io::BufRead;

use evidence::{Metric, Outcome, UnknownBasis, UnknownRecords, UnknownSubject};

use crate::ImportError;
use crate::event::{EndpointRef, Event, Receive};
use crate::limits::MAX_DURATION_NS;
use crate::lines::{LineError, Reading, for_each_line};
use crate::parse::{first_characters, quoted};
use crate::totals::count;

const NS_PER_MS: i64 = 1_000_000;
const SECOND_NS: i64 = 1_000_000_000;
/// The most groups whose failures are counted.
const MAX_GROUPS: usize = 1_000;

pub(crate) fn read(input: &mut dyn BufRead, receiver: &mut dyn Receive) -> Result<Reading, ImportError> {
    let mut users = ActiveUsers::default();
    let mut groups = FailedGroups::default();
    let mut reading = for_each_line(input, |line| {
        let line = std::str::from_utf8(line).map_err(|_| LineError::from("not UTF-8"))?;
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[0] {
            "REQUEST" => request(&fields, &mut groups, receiver),
            "USER" => users.change(&fields, receiver),
            "GROUP" => group(&fields, &mut groups, receiver),
            "RUN" => {
                let version = fields.last().map_or("", |version| version.trim());
                receiver.receive(Event::Fact("version", first_characters(version, 20)))?;
                let simulation = fields.get(1).copied().unwrap_or_default();
                Ok(receiver.receive(Event::Fact("simulation", first_characters(simulation, 200)))?)
            }
            // An error of the simulation is not a request; its text is in the requests' own lines where it belongs to one.
            "ERROR" => Ok(receiver.receive(Event::Unknown("ERROR"))?),
            "ASSERTION" => Ok(()),
            other => Err(LineError::Malformed(format!("{} is not a record of Gatling", quoted(other)))),
        }
    })?;
    if let Some(missing) = groups.missing() {
        receiver.receive(Event::Contradiction(missing))?;
    }
    if users.count > 0 {
        let why = format!("{} users have a start and no end in it", count(users.count));
        reading.open_ended.get_or_insert(why);
    }
    Ok(reading)
}

/// Groups that failed, beside the requests in them that failed: a group fails with a request of it.
#[derive(Default)]
struct FailedGroups {
    /// By the name of the outermost group.
    groups: BTreeMap<String, FailedGroup>,
}

#[derive(Default)]
struct FailedGroup {
    groups: u64,
    requests: u64,
}

impl FailedGroups {
    /// The group of this path, if it is in one.
    fn of(&mut self, path: &str) -> Option<&mut FailedGroup> {
        let outermost = path.split(',').next().filter(|name| !name.is_empty())?;
        if self.groups.len() >= MAX_GROUPS && !self.groups.contains_key(outermost) {
            return None;
        }
        Some(self.groups.entry(outermost.to_owned()).or_default())
    }

    fn missing(&self) -> Option<UnknownRecords> {
        let lacking = |group: &FailedGroup| group.groups.saturating_sub(group.requests);
        let (first, _) = self.groups.iter().find(|(_, group)| lacking(group) > 0)?;
        let more: u64 = self.groups.values().map(lacking).sum();
        Some(UnknownRecords {
            of: UnknownSubject::Requests,
            basis: UnknownBasis::Records,
            scenario: String::new(),
            endpoint: String::new(),
            more: Some(more),
            doubtful: 0,
            why: format!(
                "{} groups failed without a failed request in them; the first is {}.",
                count(more),
                quoted(first)
            ),
        })
    }
}

/// Where in the fields of a request or a group the status is: the last field or the one before.
fn status_index(fields: &[&str], least: usize) -> Result<usize, LineError> {
    let is_status = |at: &usize| matches!(fields.get(*at), Some(&"OK" | &"KO"));
    let last = fields.len().saturating_sub(1);
    let found = [last.saturating_sub(1), last].into_iter().find(is_status);
    found.filter(|at| *at >= least).ok_or_else(|| "a request without `OK` or `KO`".into())
}

/// `[scenario] [user] groups name start end status message`.
fn request(fields: &[&str], failed: &mut FailedGroups, receiver: &mut dyn Receive) -> Result<(), LineError> {
    let status = status_index(fields, 5)?;
    let [groups, name, start, end] = [4, 3, 2, 1].map(|back| fields[status - back]);
    let times = RecordTimes::parse(start, end)?;
    // Before version 3, the scenario and the user came first.
    let scenario = if status == 7 { fields[1] } else { "" };
    let path: Vec<&str> = groups.split(',').filter(|group| !group.is_empty()).chain([name]).collect();
    let endpoint = path.join(" / ");
    let subject = EndpointRef { scenario, endpoint: &endpoint };
    let message = fields.get(status + 1).map_or("", |message| message.trim());
    let outcome = Some(if fields[status] == "OK" { Outcome::Ok } else { failure(message) });
    if let Some(group) = failed.of(groups).filter(|_| fields[status] == "KO") {
        group.requests += 1;
    }
    let (end, nanos) = (times.end, times.nanos);
    receiver.receive(Event::Times { metric: Metric::ResponseTime, subject, outcome, end, nanos })?;
    let metric = Metric::Requests;
    Ok(receiver.receive(Event::Count { metric, subject, check: None, at: end, value: 1 })?)
}

/// `groups start end cumulated status`: a group is a sequence of requests, with the time between them.
fn group(fields: &[&str], failed: &mut FailedGroups, receiver: &mut dyn Receive) -> Result<(), LineError> {
    let status = status_index(fields, 5)?;
    let times = RecordTimes::parse(fields[status - 3], fields[status - 2])?;
    let path = fields[status - 4];
    if let Some(group) = failed.of(path).filter(|_| fields[status] == "KO" && !path.contains(',')) {
        group.groups += 1;
    }
    let scenario = path.replace(',', " / ");
    let subject = EndpointRef { scenario: &scenario, endpoint: "" };
    let (metric, end, nanos) = (Metric::IterationTime, times.end, times.nanos);
    Ok(receiver.receive(Event::Times { metric, subject, outcome: None, end, nanos })?)
}

/// The times of a record, in nanoseconds.
struct RecordTimes {
    end: i64,
    nanos: u64,
}

impl RecordTimes {
    /// From start and end in milliseconds since the Unix epoch.
    fn parse(start: &str, end: &str) -> Result<RecordTimes, LineError> {
        let (start, end) = (time(start)?, time(end)?);
        let nanos = u64::try_from(end.saturating_sub(start)).ok().filter(|nanos| *nanos <= MAX_DURATION_NS);
        let nanos =
            nanos.ok_or_else(|| LineError::from("its end is not after its start, or 31 days later"))?;
        Ok(RecordTimes { end, nanos })
    }
}

/// Milliseconds since the Unix epoch as nanoseconds.
fn time(ms: &str) -> Result<i64, LineError> {
    let nanos = ms.trim().parse::<i64>().ok().and_then(|ms| ms.checked_mul(NS_PER_MS));
    nanos.ok_or_else(|| LineError::Malformed(format!("{} is not a time in ms", quoted(ms))))
}

/// The outcome of a failure by its message: a check that found a status, an exception, or another check.
fn failure(message: &str) -> Outcome {
    if let Some((_, found)) = message.split_once("found ").filter(|_| message.starts_with("status.")) {
        let status = found.trim_end_matches(|c: char| !c.is_ascii_digit()).rsplit(' ').next();
        return status.and_then(|status| status.parse().ok()).map_or(Outcome::Check, Outcome::of_http_status);
    }
    let has_any = |words: &[&str]| words.iter().any(|word| message.contains(word));
    if has_any(&["imeout", "timed out"]) {
        Outcome::Timeout
    } else if has_any(&["UnknownHost"]) {
        Outcome::Dns
    } else if has_any(&["onnection refused", "ConnectException", "NoRouteToHost"]) {
        Outcome::Refused
    } else if has_any(&["SSL", "ertificate"]) {
        Outcome::Tls
    } else if has_any(&["onnection reset", "remotely closed", "Premature close", "ClosedChannel"]) {
        Outcome::Reset
    } else if has_any(&["Exception"]) {
        Outcome::Protocol
    } else {
        Outcome::Check
    }
}

/// How many users are active, passed on once a second.
#[derive(Default)]
struct ActiveUsers {
    count: u64,
    second: Option<i64>,
}

impl ActiveUsers {
    /// `scenario [user] START|END time …`.
    fn change(&mut self, fields: &[&str], receiver: &mut dyn Receive) -> Result<(), LineError> {
        let change = fields.iter().rposition(|field| matches!(*field, "START" | "END"));
        let change = change.ok_or_else(|| LineError::from("a user without `START` or `END`"))?;
        let is_start = fields[change] == "START";
        // Up to version 3.3 both records end with the start and the end of the user.
        let at = if is_start { fields.get(change + 1) } else { fields.last() };
        let at = time(at.copied().unwrap_or_default())?;
        self.count = if is_start { self.count + 1 } else { self.count.saturating_sub(1) };
        let second = at.div_euclid(SECOND_NS);
        if self.second.is_none_or(|last| last < second) {
            self.second = Some(second);
            receiver.receive(Event::Level { name: "virtual_users", at, value: self.count as f64 })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outcome_of_a_failure_follows_from_its_message() {
        for (message, expected) in [
            ("status.find.is(200), but actually found 503", Outcome::Http503),
            ("status.find.in(200,201,304), found 404", Outcome::Http4xx),
            ("jsonPath($.id).find.exists, found nothing", Outcome::Check),
            (
                "i.g.h.c.i.RequestTimeoutException: Request timeout to h/127.0.0.1:80 after 60000 ms",
                Outcome::Timeout,
            ),
            ("j.n.ConnectException: Connection refused", Outcome::Refused),
            ("j.i.IOException: Premature close", Outcome::Reset),
            ("j.n.s.SSLHandshakeException: no", Outcome::Tls),
            ("j.l.IllegalStateException: no", Outcome::Protocol),
        ] {
            assert_eq!(failure(message), expected, "{message}");
        }
    }
}
