//! Rows of a run file as the words of `evidence`. Everything is checked: the file may be hostile.

use std::time::Duration;

use evidence::key::KeyId;
use evidence::{Ending, Exemplar, ExemplarKind, Histogram, Key, Manifest, RunEnd, Sample, SeriesKey};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row};
use serde_json::{Map, Value};

use crate::error::Fault;
use crate::instances::Instances;
use crate::schema::{self, MAX_A_RUN, MAX_SECONDS};

type Headers = Vec<(String, String)>;

pub(crate) fn damaged(what: impl std::fmt::Display) -> Fault {
    Fault::Damaged(what.to_string())
}

/// A number that can only be positive.
pub(crate) fn positive(row: &Row<'_>, column: usize) -> Result<u64, Fault> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| damaged(format_args!("a number is negative: {value}")))
}

/// A V2 blob as a histogram.
pub(crate) fn histogram_of(value: ValueRef<'_>) -> Result<Histogram, Fault> {
    let bytes = value.as_blob().map_err(|e| damaged(format_args!("a histogram is not a blob: {e}")))?;
    let histogram = Histogram::from_v2(bytes).map_err(damaged)?;
    if histogram.count() > MAX_A_RUN {
        return Err(damaged("a histogram has more values than any run"));
    }
    Ok(histogram)
}

pub(crate) fn manifest(connection: &Connection) -> Result<Manifest, Fault> {
    let mut statement = connection.prepare("SELECT name, value FROM manifest")?;
    let mut rows = statement.query([])?;
    let mut fields = Map::new();
    while let Some(row) = rows.next()? {
        let (name, text): (String, String) = (row.get(0)?, row.get(1)?);
        let value = serde_json::from_str(&text)
            .map_err(|e| damaged(format_args!("`{name}` of its manifest is not JSON: {e}")))?;
        fields.insert(name, value);
    }
    serde_json::from_value(Value::Object(fields)).map_err(|e| damaged(format_args!("its manifest: {e}")))
}

/// Every key, in the order of its number, which is its place.
pub(crate) fn keys(connection: &Connection, instances: &Instances) -> Result<Vec<(KeyId, Key)>, Fault> {
    let instance = instances.column();
    let mut statement = connection.prepare(&format!(
        "SELECT key, metric, scenario, endpoint, phase, outcome, tags, {instance} FROM keys ORDER BY key"
    ))?;
    let mut rows = statement.query([])?;
    let mut keys = Vec::new();
    while let Some(row) = rows.next()? {
        let id = KeyId(row.get(0)?);
        if id.0 as usize != keys.len() {
            return Err(damaged(format_args!("its key {} is missing", keys.len())));
        }
        keys.push((id, Key { instance: instances.of_row(row, 7)?, ..key(row)? }));
    }
    Ok(keys)
}

fn key(row: &Row<'_>) -> Result<Key, Fault> {
    let metric = row.get::<_, String>(1)?.parse().map_err(damaged)?;
    let outcome = row.get::<_, Option<String>>(5)?.map(|text| text.parse()).transpose().map_err(damaged)?;
    let tags = serde_json::from_str(&row.get::<_, String>(6)?)
        .map_err(|e| damaged(format_args!("the tags of a series cannot be read: {e}")))?;
    let (scenario, endpoint, phase) = (row.get(2)?, row.get(3)?, row.get(4)?);
    Ok(Key { metric, scenario, endpoint, phase, outcome, tags, instance: None })
}

/// Every series, with its number.
pub(crate) fn series(connection: &Connection, instances: &Instances) -> Result<Vec<(SeriesKey, i64)>, Fault> {
    let instance = instances.column();
    let mut statement = connection.prepare(&format!(
        "SELECT series, name, target, unit, part, {instance} FROM series ORDER BY series"
    ))?;
    let mut rows = statement.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let (name, target, unit, part) = (row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?);
        let instance = instances.of_row(row, 5)?;
        all.push((instances.series(SeriesKey { name, target, unit, part, instance }), row.get(0)?));
    }
    Ok(all)
}

/// One past the last second that was recorded: of the load, or where there was none, of what was watched.
pub(crate) fn seconds(connection: &Connection) -> Result<u32, Fault> {
    let last = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, Option<u32>>(0));
    let last = match last("SELECT max(second) FROM ticks")? {
        None => last("SELECT max(at_ns) / 1000000000 FROM samples")?,
        of_load => of_load,
    };
    match last {
        None => Ok(0),
        Some(last) if last < MAX_SECONDS => Ok(last + 1),
        Some(last) => Err(damaged(format_args!("it claims to have lasted {last} s"))),
    }
}

/// How long the load was recorded in a run of `seconds`.
pub(crate) fn recorded(connection: &Connection, seconds: u32) -> Result<Duration, Fault> {
    let by_loop = schema::as_of(schema::version(connection)?, "ticks", "instance");
    let of_a_loop = format!("SELECT total(covered_ns) AS covered_ns FROM ticks GROUP BY {by_loop}");
    let longest = format!("SELECT coalesce(max(covered_ns), 0) FROM ({of_a_loop})");
    let covered_ns: f64 = connection.query_row(&longest, [], |row| row.get(0))?;
    // Above 2^53 ns it is longer than any run, and a negative number becomes none.
    Ok(evidence::run::recorded(covered_ns as u64, seconds))
}

pub(crate) fn end(connection: &Connection) -> Result<Option<RunEnd>, Fault> {
    let mut statement = connection.prepare(
        "SELECT how, reason, last_second, requests_in_flight, iterations_in_flight, folded_endpoints,
         folded_ticks FROM run_end",
    )?;
    let mut rows = statement.query([])?;
    rows.next()?.map(run_end).transpose()
}

fn run_end(row: &Row<'_>) -> Result<RunEnd, Fault> {
    let how: String = row.get(0)?;
    let ending = match how.as_str() {
        "completed" => Ending::Completed,
        "interrupted" => Ending::Interrupted,
        "stopped" => Ending::Stopped(row.get::<_, Option<String>>(1)?.unwrap_or_default()),
        "decided" => Ending::Decided,
        "aborted" => Ending::Aborted(row.get::<_, Option<String>>(1)?.unwrap_or_default()),
        other => return Err(damaged(format_args!("`{other}` is no way for a run to end"))),
    };
    Ok(RunEnd {
        ending,
        last_second: row.get(2)?,
        requests_in_flight: positive(row, 3)?,
        iterations_in_flight: positive(row, 4)?,
        folded_endpoints: positive(row, 5)?,
        folded_ticks: positive(row, 6)?,
    })
}

/// The digest written at the seal; none when the file is not sealed.
pub(crate) fn sealed_digest(connection: &Connection) -> Result<Option<String>, Fault> {
    Ok(connection.query_row("SELECT sha256 FROM seal", [], |row| row.get(0)).optional()?)
}

pub(crate) fn sample(row: &Row<'_>) -> Result<Sample, Fault> {
    let value: f64 = row.get(1)?;
    if !value.is_finite() {
        return Err(damaged("a sample is not a number"));
    }
    Ok(Sample { at: evidence::Instant::from_nanos(positive(row, 0)?), value })
}

pub(crate) fn exemplars(connection: &Connection) -> Result<Vec<Exemplar>, Fault> {
    let mut statement = connection.prepare(
        "SELECT kind, scenario, endpoint, phase, outcome, due_ns, response_time_ns, service_time_ns, request,
         request_headers, request_body, status, response_headers, response_body, detail, trace_id
         FROM exemplars ORDER BY exemplar",
    )?;
    let mut rows = statement.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(exemplar(row)?);
    }
    Ok(all)
}

fn exemplar(row: &Row<'_>) -> Result<Exemplar, Fault> {
    let kind: String = row.get(0)?;
    Ok(Exemplar {
        kind: kind_named(&kind)?,
        scenario: row.get(1)?,
        endpoint: row.get(2)?,
        phase: row.get(3)?,
        outcome: row.get::<_, String>(4)?.parse().map_err(damaged)?,
        due: evidence::Instant::from_nanos(positive(row, 5)?),
        response_time_ns: positive(row, 6)?,
        service_time_ns: positive(row, 7)?,
        request: row.get(8)?,
        request_headers: headers(row, 9)?,
        request_body: row.get(10)?,
        status: row.get(11)?,
        response_headers: headers(row, 12)?,
        response_body: row.get(13)?,
        detail: row.get(14)?,
        trace_id: row.get(15)?,
    })
}

fn headers(row: &Row<'_>, column: usize) -> Result<Headers, Fault> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|e| damaged(format_args!("the headers of an exemplar: {e}")))
}

/// The name of a kind of exemplar in the file.
pub(crate) fn name_of(kind: ExemplarKind) -> &'static str {
    match kind {
        ExemplarKind::Failed => "failed",
        ExemplarKind::Slowest => "slowest",
    }
}

fn kind_named(name: &str) -> Result<ExemplarKind, Fault> {
    [ExemplarKind::Failed, ExemplarKind::Slowest]
        .into_iter()
        .find(|kind| name_of(*kind) == name)
        .ok_or_else(|| damaged(format_args!("`{name}` is not a kind of exemplar")))
}
