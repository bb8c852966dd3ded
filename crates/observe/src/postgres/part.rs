//! The queries to a server, part by part, and what their rows contain.

use super::rows::{Rows, number, text};

/// Name, unit, part and value.
pub(super) type Value = (&'static str, &'static str, String, f64);

/// One query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Database,
    Sessions,
    Locks,
    Tables,
    Statements,
}

/// States of sessions that always have a series, if only with 0.
const STATES: [&str; 3] = ["active", "idle", "idle in transaction"];
/// Classes of wait events, likewise.
const WAITS: [&str; 4] = ["Client", "IO", "LWLock", "Lock"];
/// Tables that are watched.
const MOST_TABLES: usize = 50;

impl Part {
    pub(super) const ALL: [Part; 5] =
        [Part::Database, Part::Sessions, Part::Locks, Part::Tables, Part::Statements];

    /// Its subject, for messages.
    pub(super) fn what(self) -> &'static str {
        match self {
            Part::Database => "the database's counters",
            Part::Sessions => "sessions",
            Part::Locks => "locks",
            Part::Tables => "the tables",
            Part::Statements => "statements",
        }
    }

    pub(super) fn sql(self, tables: &[String], statements_schema: Option<&str>) -> String {
        match self {
            Part::Database => "SELECT pg_postmaster_start_time(), stats_reset, xact_commit, xact_rollback, blks_hit, \
                 blks_read, deadlocks, temp_bytes FROM pg_stat_database WHERE datname = current_database()"
                .to_owned(),
            // Without rights, rows of other roles are there too, but empty.
            Part::Sessions => "SELECT coalesce(state, 'unknown'), CASE WHEN state = 'active' THEN wait_event_type END, \
                 count(*), current_setting('max_connections') FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND \
                 (backend_type = 'client backend' OR (backend_type IS NULL AND datid IS NOT NULL)) GROUP BY 1, 2 \
                 UNION ALL SELECT '', NULL, 0, current_setting('max_connections')"
                .to_owned(),
            Part::Locks => "SELECT count(*) FROM pg_locks WHERE NOT granted".to_owned(),
            Part::Tables => {
                let names = tables.iter().take(MOST_TABLES).enumerate();
                let names: Vec<String> =
                    names.map(|(at, name)| format!("({at}, '{}')", name.replace('\'', "''"))).collect();
                format!(
                    "SELECT v.at, s.n_live_tup, s.n_dead_tup, pg_total_relation_size(s.relid) FROM (VALUES {}) \
                     v(at, name) JOIN pg_stat_all_tables s ON s.relid = to_regclass(v.name)",
                    names.join(", ")
                )
            }
            Part::Statements => {
                let schema = statements_schema.unwrap_or("public");
                format!(
                    "SELECT queryid, sum(calls), sum(total_exec_time) FROM {schema}.pg_stat_statements(false) WHERE dbid = \
                     (SELECT oid FROM pg_database WHERE datname = current_database()) GROUP BY queryid"
                )
            }
        }
    }
}

/// Values at the moment, and a remark about what is missing.
pub(super) fn levels(part: Part, rows: &Rows, tables: &[String]) -> (Vec<Value>, Option<String>) {
    match part {
        Part::Sessions => sessions(rows),
        Part::Tables => watched(rows, tables),
        Part::Locks => {
            let waiting = rows.first().and_then(|row| number(row, 0));
            (waiting.map(|count| ("pg_locks_waiting", "1", String::new(), count)).into_iter().collect(), None)
        }
        Part::Database | Part::Statements => (Vec::new(), None),
    }
}

fn sessions(rows: &Rows) -> (Vec<Value>, Option<String>) {
    let mut states: Vec<(String, f64)> = STATES.map(|state| (state.to_owned(), 0.0)).to_vec();
    let mut waits: Vec<(String, f64)> = WAITS.map(|class| (class.to_owned(), 0.0)).to_vec();
    let mut add = |to: usize, name: &str, count: f64| {
        let counts = if to == 0 { &mut states } else { &mut waits };
        match counts.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += count,
            None => counts.push((name.to_owned(), count)),
        }
    };
    let mut limit = None;
    for row in rows {
        limit = number(row, 3);
        let Some(count) = number(row, 2).filter(|count| *count > 0.0) else { continue };
        add(0, text(row, 0), count);
        if !text(row, 1).is_empty() {
            add(1, text(row, 1), count);
        }
    }
    let hidden = states.iter().any(|(state, _)| state == "unknown");
    let hidden = hidden.then(|| {
        "sessions of other roles are counted, and what they do is hidden: grant pg_monitor to the observer's role".to_owned()
    });
    let states = states.into_iter().map(|(state, count)| ("pg_connections", "1", state, count));
    let waits = waits.into_iter().map(|(class, count)| ("pg_waits", "1", class, count));
    let limit = limit.map(|limit| ("pg_connections_limit", "1", String::new(), limit));
    (states.chain(waits).chain(limit).collect(), hidden)
}

fn watched(rows: &Rows, tables: &[String]) -> (Vec<Value>, Option<String>) {
    const SERIES: [(&str, &str); 3] =
        [("pg_table_rows", "1"), ("pg_table_dead_rows", "1"), ("pg_table_size", "bytes")];
    let mut values = Vec::new();
    let mut missing: Vec<&str> = tables.iter().map(String::as_str).collect();
    for row in rows {
        let Some(name) = text(row, 0).parse().ok().and_then(|at: usize| tables.get(at)) else { continue };
        missing.retain(|table| table != name);
        for (column, (series, unit)) in SERIES.iter().enumerate() {
            values.extend(number(row, column + 1).map(|value| (*series, *unit, name.clone(), value)));
        }
    }
    let remark = (!missing.is_empty()).then(|| format!("no table is named {}", missing.join(", ")));
    (values, remark)
}

/// Counters of the database since the server started or they were reset.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Database {
    pub(super) started: String,
    reset: String,
    counters: [f64; 6],
}

/// Counters, as rates a second.
const RATES: [(&str, &str); 6] = [
    ("pg_commits", "1/s"),
    ("pg_rollbacks", "1/s"),
    ("pg_cache_hits", "1/s"),
    ("pg_cache_misses", "1/s"),
    ("pg_deadlocks", "1/s"),
    ("pg_temp_bytes", "bytes/s"),
];

impl Database {
    pub(super) fn read(rows: &Rows) -> Option<Database> {
        let row = rows.first()?;
        let mut counters = [0.0; 6];
        for (at, counter) in counters.iter_mut().enumerate() {
            *counter = number(row, at + 2)?;
        }
        Some(Database { started: text(row, 0).to_owned(), reset: text(row, 1).to_owned(), counters })
    }

    /// Rates since `base`, which was `seconds` ago; none when the counters were reset in between.
    pub(super) fn since(&self, base: &Database, seconds: f64) -> Option<Vec<Value>> {
        let grown: Vec<f64> =
            self.counters.iter().zip(base.counters).map(|(now, before)| now - before).collect();
        let is_same = self.started == base.started && self.reset == base.reset;
        if !is_same || seconds <= 0.0 || grown.iter().any(|grown| *grown < 0.0) {
            return None;
        }
        let mut values: Vec<Value> = (RATES.iter().zip(&grown))
            .map(|((name, unit), grown)| (*name, *unit, String::new(), grown / seconds))
            .collect();
        let asked = grown[2] + grown[3];
        if asked > 0.0 {
            values.push(("pg_cache_hit_ratio", "1", String::new(), grown[2] / asked));
        }
        Some(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Rows {
        let value = |field: &str| (field != "-").then(|| field.to_owned());
        text.lines().map(|line| line.split('|').map(value).collect()).collect()
    }

    fn shown(values: &[Value]) -> String {
        values.iter().map(|(name, _, part, value)| format!("{name}{{{part}}} {value}\n")).collect()
    }

    #[test]
    fn sessions_are_counted_by_state_and_by_what_active_ones_wait_for() {
        let (values, remark) = levels(
            Part::Sessions,
            &rows(
                "active|Lock|3|100\nactive|-|2|100\nidle|-|7|100\nidle in transaction (aborted)|-|1|100\n|-|0|100",
            ),
            &[],
        );
        insta::assert_snapshot!(shown(&values), @r"
        pg_connections{active} 5
        pg_connections{idle} 7
        pg_connections{idle in transaction} 0
        pg_connections{idle in transaction (aborted)} 1
        pg_waits{Client} 0
        pg_waits{IO} 0
        pg_waits{LWLock} 0
        pg_waits{Lock} 3
        pg_connections_limit{} 100
        ");
        assert_eq!(remark, None);
        assert!(levels(Part::Sessions, &rows("unknown|-|3|100"), &[]).1.is_some());
    }

    #[test]
    fn counters_that_began_anew_give_no_rates() {
        let database = |text: &str| Database::read(&rows(text)).unwrap();
        let base = database("monday|-|100|1|1000|10|0|0");
        let now = database("monday|-|120|1|1090|20|0|4096");
        insta::assert_snapshot!(shown(&now.since(&base, 2.0).unwrap()), @r"
        pg_commits{} 10
        pg_rollbacks{} 0
        pg_cache_hits{} 45
        pg_cache_misses{} 5
        pg_deadlocks{} 0
        pg_temp_bytes{} 2048
        pg_cache_hit_ratio{} 0.9
        ");
        assert_eq!(database("tuesday|-|900|9|9000|90|0|9999").since(&base, 2.0), None);
        assert_eq!(database("monday|noon|900|9|9000|90|0|9999").since(&base, 2.0), None);
        assert_eq!(base.since(&now, 2.0), None);
    }

    #[test]
    fn names_of_tables_stay_text() {
        let tables = ["orders".to_owned(), "o'neill'); DROP TABLE x; --".to_owned()];
        let sql = Part::Tables.sql(&tables, None);
        assert!(sql.contains("(VALUES (0, 'orders'), (1, 'o''neill''); DROP TABLE x; --'))"), "{sql}");
        let (values, remark) = levels(Part::Tables, &rows("0|5|1|8192"), &tables[..1]);
        assert_eq!((values.len(), remark), (3, None));
        assert_eq!(
            levels(Part::Tables, &rows(""), &tables[..1]).1,
            Some("no table is named orders".to_owned())
        );
    }
}
