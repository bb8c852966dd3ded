//! The end of a run file: how the run ended, roll-ups over the whole run, the digest, one single file.

use std::time::Duration;

use evidence::{Ending, Histogram, RunEnd};
use rusqlite::{Connection, params};

use crate::digest;
use crate::error::Fault;
use crate::load::histogram_of;
use crate::schema;

/// Write how the run ended, roll up, store a SHA-256 digest and checkpoint the log into the one file.
pub(crate) fn seal(connection: &Connection, end: &RunEnd) -> Result<(), Fault> {
    schema::widen_cache(connection)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.execute_batch("BEGIN IMMEDIATE")?;
    write_end(connection, end)?;
    roll_up_histograms(connection)?;
    connection.execute_batch(
        "INSERT INTO rollups (key, first_second, last_second, total)
         SELECT key, min(second), max(second), sum(value) FROM counts GROUP BY key",
    )?;
    let sha256 = digest::of(connection)?;
    connection.execute("INSERT INTO seal (one, sha256) VALUES (1, ?1)", [sha256])?;
    connection.execute_batch("COMMIT")?;
    fold_into_one_file(connection)
}

fn write_end(connection: &Connection, end: &RunEnd) -> Result<(), Fault> {
    let (how, reason) = match &end.ending {
        Ending::Completed => ("completed", None),
        Ending::Interrupted => ("interrupted", None),
        Ending::Stopped(objective) => ("stopped", Some(objective)),
        Ending::Decided => ("decided", None),
        Ending::Aborted(reason) => ("aborted", Some(reason)),
    };
    connection.execute(
        "INSERT INTO run_end VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            how,
            reason,
            end.last_second,
            whole(end.requests_in_flight)?,
            whole(end.iterations_in_flight)?,
            whole(end.folded_endpoints)?,
            whole(end.folded_ticks)?
        ],
    )?;
    Ok(())
}

/// A number as SQLite holds it.
pub(crate) fn whole(value: u64) -> Result<i64, Fault> {
    i64::try_from(value).map_err(|_| Fault::Bug(format!("the number {value} is out of range")))
}

/// All histograms of one key, merged.
struct Merged {
    key: u32,
    first_second: u32,
    last_second: u32,
    histogram: Histogram,
}

fn roll_up_histograms(connection: &Connection) -> Result<(), Fault> {
    let mut statement = connection.prepare("SELECT key, second, v2 FROM histograms ORDER BY key, second")?;
    let mut rows = statement.query([])?;
    let mut current: Option<Merged> = None;
    while let Some(row) = rows.next()? {
        let (key, second, histogram) = (row.get(0)?, row.get(1)?, histogram_of(row.get_ref(2)?)?);
        match &mut current {
            Some(merged) if merged.key == key => {
                merged.last_second = second;
                merged.histogram.merge(&histogram);
            }
            _ => {
                let next = Merged { key, first_second: second, last_second: second, histogram };
                if let Some(done) = current.replace(next) {
                    write_rollup(connection, &done)?;
                }
            }
        }
    }
    current.map_or(Ok(()), |last| write_rollup(connection, &last))
}

fn write_rollup(connection: &Connection, merged: &Merged) -> Result<(), Fault> {
    let histogram = &merged.histogram;
    let quantile_us = |q| histogram.quantile(q).finite_us();
    let mut insert =
        connection.prepare_cached("INSERT INTO rollups VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?;
    insert.execute(params![
        merged.key,
        merged.first_second,
        merged.last_second,
        whole(histogram.count())?,
        histogram.mean_us(),
        quantile_us(0.5),
        quantile_us(0.95),
        quantile_us(0.99),
        histogram.max_us().map(whole).transpose()?,
        histogram.to_v2()
    ])?;
    Ok(())
}

/// How long readers may keep the file from becoming one before it is left as it is.
const PATIENCE: Duration = Duration::from_secs(1);

/// Leave one single file. A process that reads the run meanwhile keeps its write-ahead log in use; the seal is durable
/// nevertheless, and the last process to close the file checkpoints the log.
fn fold_into_one_file(connection: &Connection) -> Result<(), Fault> {
    connection.busy_timeout(PATIENCE)?;
    let busy = |error: &rusqlite::Error| {
        let code = error.sqlite_error_code();
        code == Some(rusqlite::ErrorCode::DatabaseBusy) || code == Some(rusqlite::ErrorCode::DatabaseLocked)
    };
    for pragma in ["PRAGMA wal_checkpoint(TRUNCATE)", "PRAGMA journal_mode = DELETE"] {
        match connection.query_row(pragma, [], |_| Ok(())) {
            Err(error) if !busy(&error) => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}
