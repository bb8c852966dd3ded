//! Tables of a run: each key over the whole run and second by second, and what observers saw.

use ::csv::Writer;
use evidence::key::Shape;
use evidence::{Histogram, Key, Metric, Run};

use super::{ExportError, RunStart};

/// The tables, by the names of their files.
pub const CSV_FILES: [&str; 4] = ["summary.csv", "seconds.csv", "counts.csv", "series.csv"];

const KEY: [&str; 7] = ["metric", "scenario", "endpoint", "phase", "outcome", "tags", "instance"];
const TIMES: [&str; 7] = ["count", "mean_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "max_ms"];
const QUANTILES: [f64; 4] = [0.5, 0.9, 0.95, 0.99];

/// The content of each of [`CSV_FILES`]: each key over the whole run, each histogram and each counter in each second, and
/// every sample of every series. Times are in milliseconds; `unix_s` is the end of the second, in seconds since 1970, and
/// empty where it is not known when the run was.
///
/// # Errors
/// [`ExportError`] when the evidence cannot be read.
pub fn csv(run: &dyn Run, start: Option<RunStart>) -> Result<Vec<(&'static str, String)>, ExportError> {
    let contents = [summary(run)?, seconds(run, start)?, counts(run, start)?, series(run, start)?];
    Ok(CSV_FILES.into_iter().zip(contents).collect())
}

/// A table that is being written.
struct Table(Writer<Vec<u8>>);

impl Table {
    fn with(head: &[&[&str]]) -> Result<Table, ExportError> {
        let mut table = Table(Writer::from_writer(Vec::new()));
        table.row(head.concat().into_iter().map(str::to_owned))?;
        Ok(table)
    }

    fn row(&mut self, fields: impl IntoIterator<Item = String>) -> Result<(), ExportError> {
        let fields: Vec<String> = fields.into_iter().collect();
        self.0.write_record(&fields).map_err(|error| ExportError::Table(error.to_string()))
    }

    fn text(self) -> Result<String, ExportError> {
        let bytes = self.0.into_inner().map_err(|error| ExportError::Table(error.to_string()))?;
        String::from_utf8(bytes).map_err(|error| ExportError::Table(error.to_string()))
    }
}

fn summary(run: &dyn Run) -> Result<String, ExportError> {
    let mut table = Table::with(&[&KEY, &["total"], &TIMES[1..]])?;
    for (id, key) in run.keys() {
        let numbers = match key.metric.shape() {
            Shape::Histogram => times(&run.histogram(*id, run.whole())?),
            Shape::Counter => {
                let total = run.total(*id)?.to_string();
                std::iter::once(total).chain(vec![String::new(); TIMES.len() - 1]).collect()
            }
        };
        table.row(key_fields(key).into_iter().chain(numbers))?;
    }
    table.text()
}

fn seconds(run: &dyn Run, start: Option<RunStart>) -> Result<String, ExportError> {
    let mut table = Table::with(&[&["unix_s", "second"], &KEY, &TIMES])?;
    for (id, key) in run.keys().iter().filter(|(_, key)| key.metric.shape() == Shape::Histogram) {
        for (second, histogram) in run.histograms(*id, run.whole())? {
            table.row(dated(start, second).into_iter().chain(key_fields(key)).chain(times(&histogram)))?;
        }
    }
    table.text()
}

fn counts(run: &dyn Run, start: Option<RunStart>) -> Result<String, ExportError> {
    let mut table = Table::with(&[&["unix_s", "second"], &KEY, &["value"]])?;
    for (id, key) in run.keys().iter().filter(|(_, key)| key.metric.shape() == Shape::Counter) {
        for (second, value) in run.counts(*id, run.whole())? {
            table.row(dated(start, second).into_iter().chain(key_fields(key)).chain([value.to_string()]))?;
        }
    }
    table.text()
}

fn series(run: &dyn Run, start: Option<RunStart>) -> Result<String, ExportError> {
    let head = ["unix_s", "at_s", "target", "name", "part", "instance", "unit", "value"];
    let mut table = Table::with(&[&head])?;
    for key in run.series() {
        for sample in run.samples(key, run.whole())? {
            let ns = sample.at.as_nanos();
            table.row([
                start.map(|start| start.after_ms(ns / 1_000_000)).unwrap_or_default(),
                format!("{:.6}", ns as f64 / 1e9),
                key.target.to_string(),
                key.name.to_string(),
                key.part.to_string(),
                key.instance.map(|instance| instance.to_string()).unwrap_or_default(),
                key.unit.to_string(),
                sample.value.to_string(),
            ])?;
        }
    }
    table.text()
}

fn dated(start: Option<RunStart>, second: u32) -> [String; 2] {
    [start.map(|start| start.end_of(second)).unwrap_or_default(), second.to_string()]
}

fn key_fields(key: &Key) -> [String; 7] {
    let tags: Vec<_> = key.tags.iter().map(|(name, value)| format!("{name}={value}")).collect();
    [
        Metric::name(key.metric).to_owned(),
        key.scenario.to_string(),
        key.endpoint.to_string(),
        key.phase.to_string(),
        key.outcome.map(|outcome| outcome.to_string()).unwrap_or_default(),
        tags.join(" "),
        key.instance.map(|instance| instance.to_string()).unwrap_or_default(),
    ]
}

fn times(histogram: &Histogram) -> Vec<String> {
    let ms = |us: Option<f64>| us.map(|us| format!("{:.3}", us / 1e3)).unwrap_or_default();
    let quantiles = QUANTILES.map(|q| ms(histogram.quantile(q).finite_us()));
    let ends = [histogram.count().to_string(), ms(histogram.mean_us())];
    let longest = ms(histogram.max_us().map(|us| us as f64));
    ends.into_iter().chain(quantiles).chain([longest]).collect()
}
