//! Locust's CSV files: the summary `_stats.csv`, the history `_stats_history.csv` and the failures `_failures.csv`.
//! Locust keeps no single requests.

use std::io::BufRead;

use evidence::manifest::RequestSummary;

use crate::ImportError;
use crate::csv::{CsvRecord, CsvShape, for_each_record};
use crate::event::{Event, Receive};
use crate::figure::{Quantity, StatedFigure, StatedFigures};
use crate::limits::MAX_RECORD_COUNT;
use crate::lines::{LineError, Reading};
use crate::parse::{first_characters, quoted};
use crate::totals::StatedTotal;

/// Locust's name of the row for all endpoints.
const AGGREGATED: &str = "Aggregated";
const ALL: &str = "all requests";
/// Times in percentiles are rounded to two digits above 100 ms and to milliseconds below: half of 10 in 100.
const ROUNDING: f64 = 0.05;
const SECOND_NS: i64 = 1_000_000_000;
const MAX_NAME: usize = 200;

/// `PREFIX_stats.csv`: figures of each endpoint and of all.
pub(crate) fn stats(input: &mut dyn BufRead, receiver: &mut dyn Receive) -> Result<Reading, ImportError> {
    let mut figures = StatedFigures::default();
    let shape = CsvShape::quoted(|record| is_count(record.get("Request Count")));
    let reading = for_each_record(input, shape, |record| {
        let of = subject(record, "Type");
        for (column, text) in record.fields() {
            let Some((name, quantity)) = figure_of(column) else { continue };
            if matches!(text, "" | "N/A") {
                continue;
            }
            let figure = StatedFigure { of: &of, name: &name, quantity, value: text.parse().ok() };
            figures.put(figure, receiver)?;
        }
        Ok(())
    })?;
    for of in figures.subjects() {
        receiver.receive(Event::Summary(summary(&figures, of)))?;
    }
    let rows = || figures.subjects().filter(|of| *of != ALL);
    let sum = |name| rows().map(|of| figures.count(of, name)).sum::<Option<u64>>();
    if rows().next().is_some() {
        let (requests, failed) = (sum("count"), sum("failed"));
        let what = "The sum of the endpoints".to_owned();
        receiver.receive(Event::Total(StatedTotal { what, requests, failed, ..StatedTotal::default() }))?;
    }
    Ok(reading)
}

fn is_count(text: &str) -> bool {
    text.parse::<u64>().is_ok()
}

/// `POST buy`, or all requests.
fn subject(record: &CsvRecord<'_>, method_column: &str) -> String {
    match (record.get(method_column), record.get("Name")) {
        ("", AGGREGATED) => ALL.to_owned(),
        ("", name) => first_characters(name, MAX_NAME),
        (method, name) => first_characters(&format!("{method} {name}"), MAX_NAME),
    }
}

/// The name and the quantity of a column.
fn figure_of(column: &str) -> Option<(String, Quantity)> {
    let (name, quantity) = match column {
        "Request Count" => ("count", Quantity::Count),
        "Failure Count" => ("failed", Quantity::Count),
        "Average Response Time" => ("avg", Quantity::Time),
        // Not rounded, unlike the percentiles, which may therefore be beyond them.
        "Min Response Time" => ("fastest", Quantity::Time),
        "Max Response Time" => ("slowest", Quantity::Time),
        "100%" => ("max", Quantity::Time),
        "Average Content Size" => ("mean size", Quantity::Bytes),
        "Requests/s" => ("rate", Quantity::Rate),
        "Failures/s" => ("failure rate", Quantity::Rate),
        column => {
            let percent = column.strip_suffix('%').filter(|percent| percent.parse::<f64>().is_ok())?;
            return Some((format!("p{percent}"), Quantity::Time));
        }
    };
    Some((name.to_owned(), quantity))
}

fn summary(figures: &StatedFigures, of: &str) -> RequestSummary {
    let requests = figures.count(of, "count");
    let failed = figures.count(of, "failed").filter(|failed| requests.is_some_and(|all| *failed <= all));
    let mut times = figures.times(of, requests.unwrap_or(0), failed);
    if let Some(times) = &mut times {
        times.rounding = ROUNDING;
    }
    RequestSummary {
        endpoint: if of == ALL { String::new() } else { endpoint(figures, of).to_owned() },
        requests,
        failed,
        per_s: figures.get(of, "rate"),
        times: times.into_iter().collect(),
        ..RequestSummary::default()
    }
}

/// The name in `POST buy`, unless requests of another method have the same name.
fn endpoint<'s>(figures: &StatedFigures, of: &'s str) -> &'s str {
    let name = |of: &'s str| of.split_once(' ').map_or(of, |(_, name)| name);
    let is_unique =
        figures.subjects().filter(|other| other.ends_with(&format!(" {}", name(of)))).count() == 1;
    if is_unique { name(of) } else { of }
}

/// `PREFIX_stats_history.csv`: a row a second for all endpoints, and with `--csv-full-history` for each. Its percentiles
/// are of the last ten seconds, which are not figures of the run.
pub(crate) fn history(input: &mut dyn BufRead, receiver: &mut dyn Receive) -> Result<Reading, ImportError> {
    let shape = CsvShape::quoted(|record| is_count(record.get("Timestamp")));
    // Counts of the run so far: the last row may be up to a second before its end.
    let (mut requests, mut failed) = (None, None);
    let reading = for_each_record(input, shape, |record| {
        if record.get("Name") != AGGREGATED {
            return Ok(());
        }
        let total = |column| record.find(column).and_then(|text| text.parse::<u64>().ok());
        requests = total("Total Request Count").or(requests);
        failed = total("Total Failure Count").or(failed);
        let text = record.get("Timestamp");
        let at = text.parse::<i64>().ok().and_then(|seconds| seconds.checked_mul(SECOND_NS));
        let at =
            at.ok_or_else(|| LineError::Malformed(format!("{} is not a time in seconds", quoted(text))))?;
        for (column, name) in
            [("User Count", "virtual_users"), ("Requests/s", "request_rate"), ("Failures/s", "failure_rate")]
        {
            let text = record.get(column);
            let level =
                text.parse::<f64>().ok().filter(|level| (0.0..=MAX_RECORD_COUNT as f64).contains(level));
            let value = level
                .ok_or_else(|| LineError::Malformed(format!("`{column}` {} is not a count", quoted(text))))?;
            receiver.receive(Event::Level { name, at, value })?;
        }
        Ok(())
    })?;
    if requests.is_some() || failed.is_some() {
        let what = "The history".to_owned();
        let total = StatedTotal { what, requests, failed, is_lower_limit: true, ..StatedTotal::default() };
        receiver.receive(Event::Total(total))?;
    }
    Ok(reading)
}

/// `PREFIX_failures.csv`: how often each error occurred.
pub(crate) fn failures(input: &mut dyn BufRead, receiver: &mut dyn Receive) -> Result<Reading, ImportError> {
    let shape = CsvShape::quoted(|record| is_count(record.get("Occurrences")));
    let mut all = 0;
    let reading = for_each_record(input, shape, |record| {
        let name = format!("error: {}", first_characters(record.get("Error"), MAX_NAME));
        let (of, value) = (subject(record, "Method"), record.get("Occurrences").parse().ok());
        let event = StatedFigure { of: &of, name: &name, quantity: Quantity::Count, value }.event();
        if let Event::Figure(figure) = &event {
            all += figure.value as u64;
        }
        Ok(receiver.receive(event)?)
    })?;
    let what = "The file of failures".to_owned();
    receiver.receive(Event::Total(StatedTotal { what, failed: Some(all), ..StatedTotal::default() }))?;
    Ok(reading)
}
