//! The tables of a run file. `docs/archive.md` explains each; a test holds the two together.

use evidence::Metric;
use rusqlite::Connection;

/// What marks an SQLite file as ours, in its header: `Plim` in ASCII.
pub const APPLICATION_ID: u32 = 0x506c_696d;

/// The longest run that a file can hold, in seconds: 31 days. A reader makes tables of that many rows at most.
pub(crate) const MAX_SECONDS: u32 = 31 * 86_400;

/// The most that one key can count in one second. Together with [`MAX_A_RUN`] it keeps the sums that are
/// formed of a hostile file from 64 bits.
pub(crate) const MAX_A_SECOND: u64 = 1 << 48;

/// The most that one key can count in a run.
pub(crate) const MAX_A_RUN: u64 = 1 << 54;

/// The most nanoseconds that the requests of one second can have spent in a phase: all of those that end in it
/// count there, so these are 20,000 requests that waited for an hour.
pub(crate) const MAX_NS_A_SECOND: u64 = 1 << 56;

/// The most nanoseconds that the requests of a run can have spent in a phase: 10,000 at once for 32 hours.
pub(crate) const MAX_NS_A_RUN: u64 = 1 << 60;

/// The most that one key can count.
#[derive(Clone, Copy)]
pub(crate) struct CountLimits {
    pub(crate) in_second: u64,
    pub(crate) in_run: u64,
}

/// The limits of a key of this metric.
pub(crate) fn count_limits(metric: Metric) -> CountLimits {
    match metric.is_in_ns() {
        true => CountLimits { in_second: MAX_NS_A_SECOND, in_run: MAX_NS_A_RUN },
        false => CountLimits { in_second: MAX_A_SECOND, in_run: MAX_A_RUN },
    }
}

/// Every table with the statement that creates it. A reader takes only files whose tables were created by
/// these very statements, so that no view, trigger or generated column of a hostile file is ever run.
pub const TABLES: [(&str, &str); 17] = [
    (
        "manifest",
        "CREATE TABLE manifest (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID",
    ),
    (
        "instances",
        "CREATE TABLE instances (
  instance INTEGER PRIMARY KEY,
  machine INTEGER NOT NULL,
  process INTEGER NOT NULL,
  loop INTEGER NOT NULL
) STRICT",
    ),
    (
        "keys",
        "CREATE TABLE keys (
  key INTEGER PRIMARY KEY,
  metric TEXT NOT NULL,
  scenario TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  phase TEXT NOT NULL,
  outcome TEXT,
  tags TEXT NOT NULL,
  instance INTEGER
) STRICT",
    ),
    (
        "ticks",
        "CREATE TABLE ticks (
  instance INTEGER NOT NULL,
  second INTEGER NOT NULL,
  covered_ns INTEGER NOT NULL,
  in_flight INTEGER NOT NULL,
  folded INTEGER NOT NULL,
  PRIMARY KEY (instance, second)
) STRICT, WITHOUT ROWID",
    ),
    // Rows are appended in the order of time and found through the index: clustering them by key would
    // leave pages half empty, a third more file for a little less reading.
    (
        "histograms",
        "CREATE TABLE histograms (
  key INTEGER NOT NULL,
  second INTEGER NOT NULL,
  count INTEGER NOT NULL,
  v2 BLOB NOT NULL,
  PRIMARY KEY (key, second)
) STRICT",
    ),
    (
        "counts",
        "CREATE TABLE counts (
  key INTEGER NOT NULL,
  second INTEGER NOT NULL,
  value INTEGER NOT NULL,
  PRIMARY KEY (key, second)
) STRICT, WITHOUT ROWID",
    ),
    (
        "metrics",
        "CREATE TABLE metrics (
  metric INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  tags TEXT NOT NULL,
  phase TEXT NOT NULL
) STRICT",
    ),
    (
        "metric_values",
        "CREATE TABLE metric_values (
  place INTEGER PRIMARY KEY,
  metric INTEGER NOT NULL GENERATED ALWAYS AS (place & 1048575) VIRTUAL,
  second INTEGER NOT NULL GENERATED ALWAYS AS (place >> 20) VIRTUAL,
  seconds INTEGER NOT NULL,
  count INTEGER NOT NULL,
  nonzero INTEGER NOT NULL,
  sum REAL NOT NULL,
  min REAL NOT NULL,
  max REAL NOT NULL,
  last REAL,
  last_at_ns INTEGER,
  buckets BLOB
) STRICT",
    ),
    (
        "series",
        "CREATE TABLE series (
  series INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  target TEXT NOT NULL,
  unit TEXT NOT NULL,
  part TEXT NOT NULL,
  instance INTEGER
) STRICT",
    ),
    (
        "samples",
        "CREATE TABLE samples (
  series INTEGER NOT NULL,
  at_ns INTEGER NOT NULL,
  value REAL NOT NULL,
  PRIMARY KEY (series, at_ns)
) STRICT, WITHOUT ROWID",
    ),
    (
        "exemplars",
        "CREATE TABLE exemplars (
  exemplar INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  scenario TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  phase TEXT NOT NULL,
  outcome TEXT NOT NULL,
  due_ns INTEGER NOT NULL,
  response_time_ns INTEGER NOT NULL,
  service_time_ns INTEGER NOT NULL,
  request TEXT NOT NULL,
  request_headers TEXT NOT NULL,
  request_body TEXT NOT NULL,
  status INTEGER,
  response_headers TEXT NOT NULL,
  response_body TEXT NOT NULL,
  detail TEXT NOT NULL,
  trace_id TEXT
) STRICT",
    ),
    (
        "rollups",
        "CREATE TABLE rollups (
  key INTEGER PRIMARY KEY,
  first_second INTEGER NOT NULL,
  last_second INTEGER NOT NULL,
  total INTEGER NOT NULL,
  mean_us REAL,
  p50_us REAL,
  p95_us REAL,
  p99_us REAL,
  max_us INTEGER,
  v2 BLOB
) STRICT",
    ),
    (
        "run_end",
        "CREATE TABLE run_end (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  how TEXT NOT NULL,
  reason TEXT,
  last_second INTEGER NOT NULL,
  requests_in_flight INTEGER NOT NULL,
  iterations_in_flight INTEGER NOT NULL,
  folded_endpoints INTEGER NOT NULL,
  folded_ticks INTEGER NOT NULL
) STRICT",
    ),
    (
        "notices",
        "CREATE TABLE notices (
  notice INTEGER PRIMARY KEY,
  at_ns INTEGER NOT NULL,
  observer TEXT NOT NULL,
  kind TEXT NOT NULL,
  text TEXT NOT NULL,
  instance INTEGER
) STRICT",
    ),
    (
        "profiles",
        "CREATE TABLE profiles (
  profile INTEGER PRIMARY KEY,
  target TEXT NOT NULL,
  kind TEXT NOT NULL,
  mark TEXT NOT NULL,
  begin_ns INTEGER NOT NULL,
  end_ns INTEGER NOT NULL,
  sampling TEXT NOT NULL,
  pprof BLOB NOT NULL
) STRICT",
    ),
    (
        "seal",
        "CREATE TABLE seal (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  sha256 TEXT NOT NULL
) STRICT",
    ),
    (
        "judgements",
        "CREATE TABLE judgements (
  judgement INTEGER PRIMARY KEY,
  judged_at TEXT NOT NULL,
  rules_version INTEGER NOT NULL,
  verdict TEXT NOT NULL,
  because TEXT NOT NULL,
  claims TEXT NOT NULL,
  findings TEXT NOT NULL
) STRICT",
    ),
];

/// The tables that a file of an earlier version lacks, with the version that brought them. A reader takes them as empty.
const LATER_TABLES: [(&str, u32); 5] =
    [("notices", 2), ("profiles", 2), ("instances", 3), ("metrics", 3), ("metric_values", 3)];

/// The version from which on rows name the instance that they are about.
const SINCE_INSTANCES: u32 = 3;

/// The version from which on metrics have a phase.
const SINCE_METRIC_PHASES: u32 = 4;

/// The version from which on rows of `metric_values` are numbered by metric and second.
const SINCE_METRIC_ROW_NUMBERS: u32 = 7;

/// The statement, the order and the columns of `metric_values` as files of earlier versions have them.
const EARLIER_METRIC_VALUES: [&str; 3] = [
    "CREATE TABLE metric_values (
  metric INTEGER NOT NULL,
  second INTEGER NOT NULL,
  count INTEGER NOT NULL,
  nonzero INTEGER NOT NULL,
  sum REAL NOT NULL,
  min REAL NOT NULL,
  max REAL NOT NULL,
  last REAL NOT NULL,
  last_at_ns INTEGER NOT NULL,
  buckets TEXT,
  PRIMARY KEY (metric, second)
) STRICT, WITHOUT ROWID",
    "metric, second",
    "metric, second, count, nonzero, sum, min, max, last, last_at_ns, buckets",
];

/// Whether files of `version` have `table`.
pub(crate) fn has(version: u32, table: &str) -> bool {
    LATER_TABLES.iter().all(|(later, since)| *later != table || version >= *since)
}

/// Whether rows of files of `version` name the instance that they are about.
pub(crate) fn names_instances(version: u32) -> bool {
    version >= SINCE_INSTANCES
}

/// Whether the metrics in files of `version` have a phase.
pub(crate) fn has_metric_phases(version: u32) -> bool {
    version >= SINCE_METRIC_PHASES
}

/// Whether rows of `metric_values` in files of `version` are numbered by metric and second.
pub(crate) fn numbers_metric_rows(version: u32) -> bool {
    version >= SINCE_METRIC_ROW_NUMBERS
}

/// A statement, or a list of columns, as files of `version` have it. Earlier ones lack the column `instance`, or the `phase`
/// of `metrics`, which was always the last one, and `ticks` had the number of a loop instead.
pub(crate) fn as_of(version: u32, table: &str, text: &str) -> String {
    match table {
        "metrics" if !has_metric_phases(version) => {
            text.replace(",\n  phase TEXT NOT NULL", "").replace(", phase", "")
        }
        "metric_values" if !numbers_metric_rows(version) => {
            let [statement, order, columns] = EARLIER_METRIC_VALUES;
            let earlier = match text {
                "place" => order,
                _ if text.starts_with("CREATE") => statement,
                _ => columns,
            };
            earlier.to_owned()
        }
        _ if names_instances(version) => text.to_owned(),
        "ticks" => text.replace("instance", "loop"),
        _ => text.replace(",\n  instance INTEGER", "").replace(", instance", ""),
    }
}

/// The version of an opened file, which its header said before.
pub(crate) fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// The evidence tables in the order in which the digest runs over them: name, primary key by which the
/// rows are ordered, columns in order.
pub const DIGEST_TABLES: [(&str, &str, &str); 15] = [
    ("manifest", "name", "name, value"),
    ("instances", "instance", "instance, machine, process, loop"),
    ("keys", "key", "key, metric, scenario, endpoint, phase, outcome, tags, instance"),
    ("ticks", "instance, second", "instance, second, covered_ns, in_flight, folded"),
    ("histograms", "key, second", "key, second, count, v2"),
    ("counts", "key, second", "key, second, value"),
    ("metrics", "metric", "metric, kind, name, tags, phase"),
    ("metric_values", "place", "place, seconds, count, nonzero, sum, min, max, last, last_at_ns, buckets"),
    ("series", "series", "series, name, target, unit, part, instance"),
    ("samples", "series, at_ns", "series, at_ns, value"),
    (
        "exemplars",
        "exemplar",
        "exemplar, kind, scenario, endpoint, phase, outcome, due_ns, response_time_ns, service_time_ns, \
         request, request_headers, request_body, status, response_headers, response_body, detail, trace_id",
    ),
    ("rollups", "key", "key, first_second, last_second, total, mean_us, p50_us, p95_us, p99_us, max_us, v2"),
    (
        "run_end",
        "one",
        "one, how, reason, last_second, requests_in_flight, iterations_in_flight, folded_endpoints, \
         folded_ticks",
    ),
    ("notices", "notice", "notice, at_ns, observer, kind, text, instance"),
    ("profiles", "profile", "profile, target, kind, mark, begin_ns, end_ns, sampling, pprof"),
];

/// Create every table in an empty file and mark it as ours.
pub(crate) fn create(connection: &Connection, version: u32) -> rusqlite::Result<()> {
    for (_, statement) in TABLES {
        connection.execute_batch(statement)?;
    }
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", version)
}

/// Rows lie in the order of time and are read by key, across the whole file: let 64 MB of it stay in memory.
pub(crate) fn widen_cache(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "cache_size", -65_536)
}

/// What of the file's tables is not as [`create`] makes it; none when all is.
pub(crate) fn deviation(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let version = version(connection)?;
    let mut statement =
        connection.prepare("SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?1")?;
    for (table, expected) in TABLES.into_iter().filter(|(table, _)| has(version, table)) {
        let mut rows = statement.query([table])?;
        let found: Option<String> = match rows.next()? {
            Some(row) => row.get(0)?,
            None => return Ok(Some(format!("its table `{table}` is missing"))),
        };
        if found != Some(as_of(version, table, expected)) {
            return Ok(Some(format!(
                "its table `{table}` is not built as schema version {version} builds it"
            )));
        }
    }
    Ok(None)
}
