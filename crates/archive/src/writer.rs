//! The run file during the run: one transaction a second, readable at every moment.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use evidence::key::{KeyId, Shape};
use evidence::manifest::SCHEMA_VERSION;
use evidence::sink::{Sink, SinkError};
use evidence::tick::{Count, Tick};
use evidence::{Histogram, Instance, Key, Manifest, Notice, Observed, RunEnd, Sample, SeriesKey};
use rusqlite::{Connection, OpenFlags, params};

use crate::beside::beside;
use crate::error::{ArchiveError, Fault, WRITE};
use crate::exemplars::Shortlist;
use crate::instances::InstanceNumbers;
use crate::load::histogram_of;
use crate::metrics::MetricNumbers;
use crate::observed::{put_notice, put_profile};
use crate::private::private_file;
use crate::replace::remove;
use crate::schema::{self, MAX_NS_A_SECOND, MAX_SECONDS};
use crate::seal::{seal, whole};

/// What to do when the file is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// Leave it and fail.
    Refuse,
    /// Replace it, if it is a run file or empty. Anything else is left alone even then.
    Replace,
}

/// Writes one run into one file. Dropped before [`Sink::end`] it leaves the file as a killed run does:
/// readable up to the last flush.
#[derive(Debug)]
pub struct Writer {
    connection: Connection,
    path: PathBuf,
    keys: HashMap<Key, KeyId>,
    loop_keys: HashMap<(Instance, KeyId), (KeyId, Shape)>,
    series: HashMap<SeriesKey, i64>,
    metrics: MetricNumbers,
    instances: InstanceNumbers,
    exemplars: Shortlist,
    is_sealed: bool,
}

/// The log is folded into the file after so many pages, a megabyte: what folding takes in memory follows the log's length.
const CHECKPOINT_PAGES: i64 = 256;
/// SQLite's page cache of a run without keys, and for each key.
const CACHE_KIB: i64 = 256;
const CACHE_KIB_A_KEY: i64 = 8;
/// The cache grows with every so many keys.
const KEYS_A_STEP: usize = 16;

impl Writer {
    /// Create the run file at `path`, with its tables and manifest on disk before this returns.
    ///
    /// # Errors
    /// [`ArchiveError::Exists`] when it is there and not to be replaced, [`ArchiveError::NotAnArchive`]
    /// when it is to be replaced and is something else, or whatever the file system says.
    pub fn create(path: &Path, manifest: &Manifest, overwrite: Overwrite) -> Result<Writer, ArchiveError> {
        if overwrite == Overwrite::Replace {
            remove(path)?;
        }
        // A log without its file is the end of another run's evidence, which must not be destroyed. A journal must not
        // be played.
        for path in ["-wal", "-journal"].map(|suffix| beside(path, suffix)) {
            if fs::symlink_metadata(&path).is_ok() {
                return Err(ArchiveError::Exists { path });
            }
        }
        private_file(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => ArchiveError::Exists { path: path.to_owned() },
            _ => ArchiveError::io(path, "create", error),
        })?;
        let connection = begin(path, manifest).map_err(|fault| {
            // An empty or incomplete file is of no use; the error below reports what happened.
            let _ = fs::remove_file(path);
            fault.at(path, "create")
        })?;
        Ok(Writer {
            connection,
            path: path.to_owned(),
            keys: HashMap::new(),
            loop_keys: HashMap::new(),
            series: HashMap::new(),
            metrics: MetricNumbers::default(),
            instances: InstanceNumbers::default(),
            exemplars: Shortlist::default(),
            is_sealed: false,
        })
    }

    /// Say when the run begins, in place of the manifest's time, which is that of the file. It takes no time of the disk's: it is
    /// durable with the first second.
    ///
    /// # Errors
    /// [`SinkError`] when the file cannot be written.
    pub fn date(&mut self, started_at: &str) -> Result<(), SinkError> {
        self.write(|writer| {
            let value = serde_json::Value::from(started_at).to_string();
            let update = "UPDATE manifest SET value = ?1 WHERE name = 'started_at'";
            Ok(writer.connection.execute(update, [value]).map(drop)?)
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Do `work` inside the current transaction, begun now if there is none.
    fn write(&mut self, work: impl FnOnce(&mut Self) -> Result<(), Fault>) -> Result<(), SinkError> {
        let in_transaction = |writer: &mut Self| {
            if writer.is_sealed {
                return Err(Fault::Bug("the run is sealed already".to_owned()));
            }
            if writer.connection.is_autocommit() {
                writer.connection.execute_batch("BEGIN IMMEDIATE")?;
            }
            work(writer)
        };
        in_transaction(self).map_err(|fault| self.sink_error(fault))
    }

    fn sink_error(&self, fault: Fault) -> SinkError {
        SinkError(fault.at(&self.path, WRITE).to_string())
    }

    fn put_tick(&mut self, tick: &Tick) -> Result<(), Fault> {
        if tick.second >= MAX_SECONDS {
            return Err(Fault::Bug(format!("second {} is past the longest run", tick.second)));
        }
        for (local, key) in &tick.new_keys {
            let id = self.number_of(key)?;
            self.loop_keys.insert((tick.instance, *local), (id, key.metric.shape()));
        }
        for (local, histogram) in tick.histograms() {
            let key = self.place_of((tick.instance, local), Shape::Histogram)?;
            self.put_histogram(key, tick.second, histogram)?;
        }
        for count in tick.counts() {
            let key = self.place_of((tick.instance, count.key), Shape::Counter)?;
            self.put_count(Count { key, ..*count })?;
        }
        self.metrics.put(&self.connection, tick)?;
        for (series, sample) in tick.own_samples() {
            self.put_sample(&series, sample)?;
        }
        for exemplar in &tick.exemplars {
            self.exemplars.put(&self.connection, exemplar)?;
        }
        self.put_state(tick)
    }

    /// The file's number of `key`, given now if it is new.
    fn number_of(&mut self, key: &Key) -> Result<KeyId, Fault> {
        if let Some(id) = self.keys.get(key) {
            return Ok(*id);
        }
        if self.keys.len().is_multiple_of(KEYS_A_STEP) {
            bound_cache(&self.connection, self.keys.len() + KEYS_A_STEP)?;
        }
        let id = KeyId(u32::try_from(self.keys.len()).map_err(|_| Fault::Bug("too many keys".to_owned()))?);
        let tags = serde_json::to_string(&key.tags).map_err(|e| Fault::Bug(e.to_string()))?;
        let instance = self.instances.number_of_any(&self.connection, key.instance)?;
        let mut insert =
            self.connection.prepare_cached("INSERT INTO keys VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
        insert.execute(params![
            id.0,
            key.metric.name(),
            key.scenario,
            key.endpoint,
            key.phase,
            key.outcome.map(|outcome| outcome.to_string()),
            tags,
            instance
        ])?;
        self.keys.insert(key.clone(), id);
        Ok(id)
    }

    fn place_of(&self, local: (Instance, KeyId), used_as: Shape) -> Result<KeyId, Fault> {
        match self.loop_keys.get(&local) {
            Some((id, shape)) if *shape == used_as => Ok(*id),
            Some(_) => Err(Fault::Bug(format!("key {} was used against its metric's shape", local.1.0))),
            None => Err(Fault::Bug(format!(
                "a value was recorded for series {}, which was never registered",
                local.1.0
            ))),
        }
    }

    /// Several loops may each have a histogram of the same key and second: they are merged.
    fn put_histogram(&self, key: KeyId, second: u32, histogram: &Histogram) -> Result<(), Fault> {
        let mut insert = self
            .connection
            .prepare_cached("INSERT INTO histograms VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING")?;
        let count = whole(histogram.count())?;
        if insert.execute(params![key.0, second, count, histogram.to_v2()])? == 1 {
            return Ok(());
        }
        let mut select =
            self.connection.prepare_cached("SELECT v2 FROM histograms WHERE key = ?1 AND second = ?2")?;
        let mut merged =
            select.query_row(params![key.0, second], |row| Ok(histogram_of(row.get_ref(0)?)))??;
        merged.merge(histogram);
        let mut update = self
            .connection
            .prepare_cached("UPDATE histograms SET count = ?3, v2 = ?4 WHERE key = ?1 AND second = ?2")?;
        update.execute(params![key.0, second, whole(merged.count())?, merged.to_v2()])?;
        Ok(())
    }

    fn put_count(&self, count: Count) -> Result<(), Fault> {
        if count.value > MAX_NS_A_SECOND {
            return Err(Fault::Bug(format!("a count of {} in one second", count.value)));
        }
        let mut upsert = self.connection.prepare_cached(
            "INSERT INTO counts VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET value = value + excluded.value",
        )?;
        upsert.execute(params![count.key.0, count.second, whole(count.value)?])?;
        Ok(())
    }

    /// A value that is not a finite number is a gap: it is not kept.
    fn put_sample(&mut self, series: &SeriesKey, sample: Sample) -> Result<(), Fault> {
        if !sample.value.is_finite() {
            return Ok(());
        }
        let number = match self.series.get(series) {
            Some(number) => *number,
            None => self.begin_series(series)?,
        };
        let mut insert =
            self.connection.prepare_cached("INSERT OR REPLACE INTO samples VALUES (?1, ?2, ?3)")?;
        insert.execute(params![number, whole(sample.at.as_nanos())?, sample.value])?;
        Ok(())
    }

    fn begin_series(&mut self, series: &SeriesKey) -> Result<i64, Fault> {
        let number = self.series.len() as i64;
        let instance = self.instances.number_of_any(&self.connection, series.instance)?;
        let mut insert =
            self.connection.prepare_cached("INSERT INTO series VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
        insert.execute(params![number, series.name, series.target, series.unit, series.part, instance])?;
        self.series.insert(series.clone(), number);
        Ok(number)
    }

    fn put_notice(&mut self, notice: &Notice) -> Result<(), Fault> {
        let instance = self.instances.number_of_any(&self.connection, notice.instance)?;
        put_notice(&self.connection, notice, instance)
    }

    fn put_state(&mut self, tick: &Tick) -> Result<(), Fault> {
        let instance = self.instances.number_of(&self.connection, tick.instance)?;
        // Two ticks may be of one second where a worker's clock drifts.
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO ticks VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO UPDATE SET
             covered_ns = covered_ns + excluded.covered_ns, in_flight = excluded.in_flight,
             folded = folded + excluded.folded",
        )?;
        insert.execute(params![
            instance,
            tick.second,
            whole(tick.state.covered_ns)?,
            tick.state.in_flight,
            tick.state.folded
        ])?;
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Fault> {
        if !self.connection.is_autocommit() {
            self.metrics.write(&self.connection)?;
            self.connection.execute_batch("COMMIT")?;
        }
        Ok(())
    }
}

impl Sink for Writer {
    fn tick(&mut self, tick: &Tick) -> Result<(), SinkError> {
        self.write(|writer| writer.put_tick(tick))
    }

    fn observed(&mut self, observed: &Observed) -> Result<(), SinkError> {
        self.write(|writer| {
            observed.samples.iter().try_for_each(|(series, sample)| writer.put_sample(series, *sample))?;
            observed.notices.iter().try_for_each(|notice| writer.put_notice(notice))?;
            observed.profiles.iter().try_for_each(|profile| put_profile(&writer.connection, profile))
        })
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        self.commit().map_err(|fault| self.sink_error(fault))
    }

    fn end(&mut self, end: &RunEnd) -> Result<(), SinkError> {
        if self.is_sealed {
            return Ok(());
        }
        self.flush()?;
        seal(&self.connection, end).map_err(|fault| self.sink_error(fault))?;
        self.is_sealed = true;
        Ok(())
    }
}

/// Tables and manifest are made durable in the file itself before the log takes over, so that the file
/// says what it is even if it is found without its log.
fn begin(path: &Path, manifest: &Manifest) -> Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.set_prepared_statement_cache_capacity(32);
    connection.execute_batch("BEGIN IMMEDIATE")?;
    schema::create(&connection, SCHEMA_VERSION)?;
    write_manifest(&connection, manifest)?;
    connection.execute_batch("COMMIT")?;
    // Where the file system cannot share memory SQLite keeps its rollback journal: slower, as safe.
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    bound_cache(&connection, 0)?;
    Ok(connection)
}

/// Each key is written to in a place of its own, a page or two a table; more of the file need not stay in memory. What
/// SQLite takes by itself grows with the file for the first minutes of a run, and looks like a leak.
fn bound_cache(connection: &Connection, keys: usize) -> rusqlite::Result<()> {
    let kib = CACHE_KIB + CACHE_KIB_A_KEY * i64::try_from(keys).unwrap_or(i64::MAX / CACHE_KIB_A_KEY / 2);
    connection.pragma_update(None, "cache_size", -kib)
}

fn write_manifest(connection: &Connection, manifest: &Manifest) -> Result<(), Fault> {
    let bug = |what: String| Fault::Bug(what);
    let value = serde_json::to_value(manifest).map_err(|e| bug(e.to_string()))?;
    let fields = value.as_object().ok_or_else(|| bug("a manifest without fields".to_owned()))?;
    let mut insert = connection.prepare("INSERT INTO manifest VALUES (?1, ?2)")?;
    for (name, value) in fields {
        insert.execute(params![name, value.to_string()])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use evidence::{Metric, Run};

    #[test]
    fn a_run_is_dated_after_its_file_was_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.plimsoll");
        let mut writer = Writer::create(&path, &manifest(), Overwrite::Refuse).unwrap();
        writer.date("2026-11-21T10:00:00Z").unwrap();
        writer.flush().unwrap();
        drop(writer);
        let stored = crate::Stored::open(&path).unwrap();
        assert_eq!(stored.manifest().started_at, "2026-11-21T10:00:00Z");
    }

    fn manifest() -> Manifest {
        Manifest::named("demo")
    }

    /// A file that may take no further page answers as a full disk does.
    #[test]
    fn a_full_disk_is_reported_and_the_last_commit_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.plimsoll");
        let mut writer = Writer::create(&path, &manifest(), Overwrite::Refuse).unwrap();
        writer.connection.pragma_update(None, "max_page_count", 40).unwrap();
        let mut tick = Tick::default();
        tick.new_keys.push((KeyId(0), Key::of(Metric::LoopStall)));
        let error = loop {
            (0..100).for_each(|i| tick.record_ns(KeyId(0), i * 10_000_000));
            if let Err(error) = writer.tick(&tick).and_then(|()| writer.flush()) {
                break error.to_string();
            }
            let next = tick.second + 1;
            tick.clear();
            tick.second = next;
        };
        assert!(error.contains("no space left to write") && error.contains("run.plimsoll"), "{error}");
        drop(writer);
        assert!(tick.second > 0);
        assert_eq!(crate::Stored::open(&path).unwrap().seconds(), tick.second);
    }
}
