//! A run read back from its file.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use evidence::key::KeyId;
use evidence::metric::{MetricId, MetricKey, MetricSums};
use evidence::run::{ReadError, Run, Seconds};
use evidence::{Exemplar, Histogram, Key, Manifest, Notice, Profile, Provenance, RunEnd, Sample, SeriesKey};
use rusqlite::{Connection, params};

use crate::error::{ArchiveError, Fault, READ};
use crate::instances::Instances;
use crate::judgements::{self, Judged};
use crate::metric_values::MetricRows;
use crate::open;
use crate::readable::Readable;
use crate::schema::{CountLimits, MAX_A_SECOND, count_limits};
use crate::{digest, load, metrics, observed};

/// A run file, opened. Keys, series and manifest are in memory; the rest is read when asked for.
#[derive(Debug)]
pub struct Stored {
    connection: Connection,
    manifest: Manifest,
    end: Option<RunEnd>,
    seconds: u32,
    recorded: Duration,
    keys: Vec<(KeyId, Key)>,
    metrics: Vec<(MetricId, MetricKey)>,
    metric_rows: MetricRows,
    series: Vec<SeriesKey>,
    series_numbers: HashMap<SeriesKey, i64>,
    digest: Option<String>,
    source: Readable,
}

impl Stored {
    /// Open a run file, sealed or not; see [`Readable::at`] and [`Stored::read`].
    ///
    /// # Errors
    /// [`ArchiveError`]: no such file, no run file, of a newer version, damaged, or not readable.
    pub fn open(path: &Path) -> Result<Stored, ArchiveError> {
        Self::read(Readable::at(path)?)
    }

    /// What the run file at `path`, which this process is writing, has by now: everything up to one flush, as long as this is
    /// kept. The file cannot be sealed to a single file meanwhile.
    ///
    /// # Errors
    /// [`ArchiveError`]: damaged, or not readable.
    pub fn so_far(path: &Path) -> Result<Stored, ArchiveError> {
        let connection = open::to_look(path)?;
        Self::load(connection, Readable::written_here(path)).map_err(|fault| fault.at(path, READ))
    }

    /// Read a run file. Nothing is written but in the folder of a private copy, which is gone when this returns.
    ///
    /// # Errors
    /// [`ArchiveError`]: damaged, or not readable.
    pub fn read(mut source: Readable) -> Result<Stored, ArchiveError> {
        let connection = open::to_read(&source)?;
        source.delete_copy();
        let path = source.path().to_owned();
        Self::load(connection, source).map_err(|fault| fault.at(&path, READ))
    }

    fn load(connection: Connection, source: Readable) -> Result<Stored, Fault> {
        let instances = Instances::read(&connection)?;
        let series = load::series(&connection, &instances)?;
        let seconds = load::seconds(&connection)?;
        Ok(Stored {
            manifest: load::manifest(&connection)?,
            end: load::end(&connection)?,
            seconds,
            recorded: load::recorded(&connection, seconds)?,
            keys: load::keys(&connection, &instances)?,
            metrics: metrics::all(&connection)?,
            metric_rows: MetricRows::default(),
            series: series.iter().map(|(key, _)| key.clone()).collect(),
            series_numbers: series.into_iter().collect(),
            digest: load::sealed_digest(&connection)?,
            connection,
            source,
        })
    }

    /// The file as it was named.
    pub fn path(&self) -> &Path {
        self.source.path()
    }

    /// Whether the run was brought to its end; if not it was killed, or is still going on.
    pub fn is_sealed(&self) -> bool {
        self.digest.is_some()
    }

    /// Whether the evidence is as it was sealed. Reads the whole file.
    ///
    /// # Errors
    /// [`ArchiveError`] when the file cannot be read.
    pub fn verify_digest(&self) -> Result<Provenance, ArchiveError> {
        let Some(expected) = &self.digest else {
            // How a run ended is written in one transaction with its seal: one without the other was removed.
            return Ok(if self.end.is_some() { Provenance::Changed } else { Provenance::Unsealed });
        };
        let found = digest::of(&self.connection).map_err(|e| Fault::from(e).at(self.source.path(), READ))?;
        Ok(if found == *expected { Provenance::Intact } else { Provenance::Changed })
    }

    /// What was judged of the run, the oldest first.
    ///
    /// # Errors
    /// [`ArchiveError`] when the file cannot be read.
    pub fn judgements(&self) -> Result<Vec<Judged>, ArchiveError> {
        judgements::read(&self.connection).map_err(|fault| fault.at(self.source.path(), READ))
    }

    fn ask<T>(&self, answer: impl FnOnce(&Connection) -> Result<T, Fault>) -> Result<T, ReadError> {
        answer(&self.connection).map_err(|fault| ReadError(fault.at(self.source.path(), READ).to_string()))
    }
}

/// The roll-up of `key` if all its seconds lie in `window`.
fn rolled_up(connection: &Connection, key: KeyId, window: &Seconds) -> Result<Option<Histogram>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT v2 FROM rollups
         WHERE key = ?1 AND first_second >= ?2 AND last_second < ?3 AND v2 IS NOT NULL",
    )?;
    let mut rows = statement.query(params![key.0, window.start, window.end])?;
    rows.next()?.map(|row| load::histogram_of(row.get_ref(0)?)).transpose()
}

fn histograms(
    connection: &Connection,
    key: KeyId,
    window: &Seconds,
    mut each: impl FnMut(u32, Histogram),
) -> Result<(), Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT second, v2 FROM histograms WHERE key = ?1 AND second >= ?2 AND second < ?3 ORDER BY second",
    )?;
    let mut rows = statement.query(params![key.0, window.start, window.end])?;
    while let Some(row) = rows.next()? {
        let histogram = load::histogram_of(row.get_ref(1)?)?;
        if histogram.count() > MAX_A_SECOND {
            return Err(Fault::Damaged("a second has more values than any second".to_owned()));
        }
        each(row.get(0)?, histogram);
    }
    Ok(())
}

fn counts(
    connection: &Connection,
    key: KeyId,
    window: &Seconds,
    limits: CountLimits,
) -> Result<Vec<(u32, u64)>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT second, value FROM counts WHERE key = ?1 AND second >= ?2 AND second < ?3 ORDER BY second",
    )?;
    let mut rows = statement.query(params![key.0, window.start, window.end])?;
    let mut found = Vec::new();
    let mut total = 0;
    while let Some(row) = rows.next()? {
        let value = load::positive(row, 1)?;
        total += value.min(limits.in_run);
        if value > limits.in_second || total > limits.in_run {
            return Err(Fault::Damaged(format!("its key {} counts more than any run", key.0)));
        }
        found.push((row.get(0)?, value));
    }
    Ok(found)
}

impl Run for Stored {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn end(&self) -> Option<&RunEnd> {
        self.end.as_ref()
    }

    fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    fn seconds(&self) -> u32 {
        self.seconds
    }

    fn recorded(&self) -> Duration {
        self.recorded
    }

    fn keys(&self) -> &[(KeyId, Key)] {
        &self.keys
    }

    fn histogram(&self, key: KeyId, window: Seconds) -> Result<Histogram, ReadError> {
        self.ask(|connection| {
            if let Some(merged) = rolled_up(connection, key, &window)? {
                return Ok(merged);
            }
            let mut merged = Histogram::new();
            histograms(connection, key, &window, |_, histogram| merged.merge(&histogram))?;
            Ok(merged)
        })
    }

    fn histograms(&self, key: KeyId, window: Seconds) -> Result<Vec<(u32, Histogram)>, ReadError> {
        self.ask(|connection| {
            let mut found = Vec::new();
            histograms(connection, key, &window, |second, histogram| found.push((second, histogram)))?;
            Ok(found)
        })
    }

    fn counts(&self, key: KeyId, window: Seconds) -> Result<Vec<(u32, u64)>, ReadError> {
        let named = usize::try_from(key.0).ok().and_then(|place| self.keys.get(place));
        let Some((_, Key { metric, .. })) = named else { return Ok(Vec::new()) };
        self.ask(|connection| counts(connection, key, &window, count_limits(*metric)))
    }

    fn metrics(&self) -> &[(MetricId, MetricKey)] {
        &self.metrics
    }

    fn metric(&self, metric: MetricId, window: Seconds) -> Result<MetricSums, ReadError> {
        self.ask(|connection| self.metric_rows.sum(connection, metric, &window))
    }

    fn metric_intervals(
        &self,
        metric: MetricId,
        window: Seconds,
    ) -> Result<Vec<(Seconds, MetricSums)>, ReadError> {
        self.ask(|connection| self.metric_rows.intervals(connection, metric, &window))
    }

    fn series(&self) -> &[SeriesKey] {
        &self.series
    }

    fn samples(&self, series: &SeriesKey, window: Seconds) -> Result<Vec<Sample>, ReadError> {
        let Some(number) = self.series_numbers.get(series) else { return Ok(Vec::new()) };
        let ns = |second: u32| i64::from(second) * 1_000_000_000;
        let from_ns = ns(window.start);
        // The closing samples are taken when the last second is over.
        let to_ns = if window.end >= self.seconds() { i64::MAX } else { ns(window.end) };
        self.ask(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT at_ns, value FROM samples WHERE series = ?1 AND at_ns >= ?2 AND at_ns < ?3
                 ORDER BY at_ns",
            )?;
            let mut rows = statement.query(params![number, from_ns, to_ns])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(load::sample(row)?);
            }
            Ok(found)
        })
    }

    fn exemplars(&self) -> Result<Vec<Exemplar>, ReadError> {
        self.ask(load::exemplars)
    }

    fn notices(&self) -> Result<Vec<Notice>, ReadError> {
        self.ask(observed::notices)
    }

    fn profiles(&self) -> Result<Vec<Profile>, ReadError> {
        self.ask(observed::profiles)
    }
}
