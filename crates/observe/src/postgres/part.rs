//! The queries to a server, part by part, and what their rows contain.

use super::own::{OwnTransactions, StatementsView};
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
    Blockers,
}

/// Tables that are watched.
const MOST_TABLES: usize = 50;

impl Part {
    pub(super) const ALL: [Part; 6] =
        [Part::Database, Part::Sessions, Part::Locks, Part::Tables, Part::Statements, Part::Blockers];

    /// Its subject, for messages.
    pub(super) fn what(self) -> &'static str {
        match self {
            Part::Database => "the database's counters",
            Part::Sessions => "sessions",
            Part::Locks => "locks",
            Part::Tables => "the tables",
            Part::Statements => "statements",
            Part::Blockers => "the sessions that block others",
        }
    }

    pub(super) fn sql(self, tables: &[String], statements: Option<&StatementsView>) -> String {
        match self {
            Part::Database => "SELECT pg_postmaster_start_time(), stats_reset, xact_commit, xact_rollback, blks_hit, \
                 blks_read, deadlocks, temp_bytes FROM pg_stat_database WHERE datname = current_database()"
                .to_owned(),
            // Without rights, rows of other roles are there too, but empty. Events of files that are synced are called WALSync, DataFileSync, SLRUSync.
            Part::Sessions => "SELECT coalesce(state, 'unknown'), CASE WHEN state = 'active' AND wait_event_type = 'IO' AND \
                 wait_event ~* 'sync$' THEN 'fsync' WHEN state = 'active' THEN wait_event_type END, count(*), current_setting('max_connections') FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND \
                 (backend_type = 'client backend' OR (backend_type IS NULL AND datid IS NOT NULL)) GROUP BY 1, 2 \
                 UNION ALL SELECT '', NULL, 0, current_setting('max_connections')"
                .to_owned(),
            // Only of sessions that wait: the server stops its lock table for each. Of a statement the first word alone, which is not a value.
            Part::Blockers => "SELECT coalesce(h.state, 'unknown'), h.query_id, upper(left(split_part(ltrim(h.query), ' ', 1), 20)), \
                 count(*) FROM pg_stat_activity w CROSS JOIN LATERAL unnest(pg_blocking_pids(w.pid)) b(pid) JOIN pg_stat_activity h \
                 ON h.pid = b.pid WHERE w.wait_event_type = 'Lock' GROUP BY 1, 2, 3"
                .to_owned(),
            Part::Locks => "SELECT count(*) FROM pg_locks WHERE NOT granted".to_owned(),
            Part::Tables => {
                let names = tables.iter().take(MOST_TABLES).enumerate();
                let names: Vec<String> = names.map(|(at, name)| format!("({at}, {})", literal(name))).collect();
                format!(
                    "SELECT v.at, s.n_live_tup, s.n_dead_tup, pg_total_relation_size(s.relid), \
                     coalesce(s.last_vacuum, s.last_autovacuum, s.last_analyze, s.last_autoanalyze) \
                     FROM (VALUES {}) v(at, name) JOIN pg_stat_all_tables s ON s.relid = to_regclass(v.name)",
                    names.join(", ")
                )
            }
            Part::Statements => {
                let schema = statements.map_or("public", |view| view.schema.as_str());
                let reset = match statements {
                    Some(view) if view.has_info => format!("(SELECT stats_reset FROM {schema}.pg_stat_statements_info)"),
                    Some(_) | None => "(SELECT NULL AS stats_reset)".to_owned(),
                };
                // A row of nulls where there are no statements.
                format!(
                    "SELECT s.queryid, s.calls, s.time, r.stats_reset FROM {reset} r LEFT JOIN (SELECT queryid, \
                     sum(calls) AS calls, sum(total_exec_time) AS time FROM {schema}.pg_stat_statements(false) WHERE \
                     dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) GROUP BY queryid) s ON true"
                )
            }
        }
    }
}

/// A string constant that does not depend on the session's `standard_conforming_strings`.
fn literal(text: &str) -> String {
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// The tables that are watched.
#[derive(Debug, Clone, Default)]
pub(super) struct Tables {
    pub(super) names: Vec<String>,
    /// Whether the server's statistics were reset, so that it knows no rows of a table until that is analyzed.
    pub(super) were_reset: bool,
}

/// Values at the moment, and a remark about what is missing.
pub(super) fn levels(part: Part, rows: &Rows, tables: &Tables) -> (Vec<Value>, Option<String>) {
    match part {
        Part::Tables => watched(rows, tables),
        Part::Locks => {
            let waiting = rows.first().and_then(|row| number(row, 0));
            (waiting.map(|count| ("pg_locks_waiting", "1", String::new(), count)).into_iter().collect(), None)
        }
        Part::Database | Part::Sessions | Part::Statements | Part::Blockers => (Vec::new(), None),
    }
}

fn watched(rows: &Rows, tables: &Tables) -> (Vec<Value>, Option<String>) {
    const SERIES: [(&str, &str); 3] =
        [("pg_table_rows", "1"), ("pg_table_dead_rows", "1"), ("pg_table_size", "bytes")];
    let mut values = Vec::new();
    let mut missing: Vec<&str> = tables.names.iter().map(String::as_str).collect();
    let mut unknown = Vec::new();
    for row in rows.iter().take(tables.names.len()) {
        let Some(name) = text(row, 0).parse().ok().and_then(|at: usize| tables.names.get(at)) else {
            continue;
        };
        missing.retain(|table| table != name);
        // The size is not a statistic.
        let is_known =
            |series: &str| series == "pg_table_size" || !tables.were_reset || !text(row, 4).is_empty();
        for (column, (series, unit)) in SERIES.iter().enumerate().filter(|(_, (series, _))| is_known(series))
        {
            values.extend(number(row, column + 1).map(|value| (*series, *unit, name.clone(), value)));
        }
        if !is_known("pg_table_rows") {
            unknown.push(name.as_str());
        }
    }
    let remark = match (missing.is_empty(), unknown.is_empty()) {
        (false, _) => Some(format!("no table is named {}", missing.join(", "))),
        (true, false) => Some(format!(
            "the statistics were reset: the rows of {} are not known until it is analyzed",
            unknown.join(", ")
        )),
        (true, true) => None,
    };
    (values, remark)
}

/// Counters of the database since the server started or they were reset.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Database {
    pub(super) started: String,
    reset: String,
    counters: [f64; 6],
    /// Transactions of the observer that are among them.
    own: OwnTransactions,
}

/// Why counters cannot be compared with what they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anew {
    /// The server was restarted.
    Restarted,
    /// They were reset, or the server lost them in a crash.
    Reset,
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
    /// From a row that was read when the observer had done `own` transactions.
    pub(super) fn read(rows: &Rows, own: OwnTransactions) -> Option<Database> {
        let row = rows.first()?;
        let mut counters = [0.0; 6];
        for (at, counter) in counters.iter_mut().enumerate() {
            *counter = number(row, at + 2)?;
        }
        Some(Database { started: text(row, 0).to_owned(), reset: text(row, 1).to_owned(), counters, own })
    }

    /// Whether the server's statistics were reset, or lost in a crash.
    pub(super) fn is_reset_since(&self, base: &Database) -> bool {
        self.reset != base.reset || self.counters.iter().zip(base.counters).any(|(now, before)| *now < before)
    }

    /// Rates since `base`, which was `seconds` ago, without the observer's own transactions.
    pub(super) fn since(&self, base: &Database, seconds: f64) -> Result<Vec<Value>, Anew> {
        let mut grown: Vec<f64> =
            self.counters.iter().zip(base.counters).map(|(now, before)| now - before).collect();
        if self.started != base.started {
            return Err(Anew::Restarted);
        }
        if self.is_reset_since(base) {
            return Err(Anew::Reset);
        }
        if seconds <= 0.0 {
            return Ok(Vec::new());
        }
        // Before PostgreSQL 15 the server may count one a moment after it ended.
        let own = [self.own.commits - base.own.commits, self.own.rollbacks - base.own.rollbacks];
        for (grown, own) in grown.iter_mut().zip(own) {
            *grown = (*grown - own as f64).max(0.0);
        }
        let mut values: Vec<Value> = (RATES.iter().zip(&grown))
            .map(|((name, unit), grown)| (*name, *unit, String::new(), grown / seconds))
            .collect();
        let asked = grown[2] + grown[3];
        if asked > 0.0 {
            values.push(("pg_cache_hit_ratio", "1", String::new(), grown[2] / asked));
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::testing::{rows, shown};

    #[test]
    fn counters_that_began_anew_give_no_rates() {
        let database = |text: &str| Database::read(&rows(text), OwnTransactions::default()).unwrap();
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
        let restarted = database("tuesday|-|900|9|9000|90|0|9999").since(&base, 2.0);
        assert_eq!(restarted, Err(Anew::Restarted));
        assert_eq!(database("monday|noon|900|9|9000|90|0|9999").since(&base, 2.0), Err(Anew::Reset));
        assert_eq!(base.since(&now, 2.0), Err(Anew::Reset));
    }

    #[test]
    fn own_transactions_are_not_counted() {
        let database = |text: &str, commits, rollbacks| {
            Database::read(&rows(text), OwnTransactions { commits, rollbacks }).unwrap()
        };
        let base = database("monday|-|100|1|0|0|0|0", 3, 0);
        let rates = |now: &Database| -> Vec<f64> {
            now.since(&base, 1.000_142).unwrap()[..2].iter().map(|value| value.3 * 1.000_142).collect()
        };
        assert_eq!(rates(&database("monday|-|107|3|0|0|0|0", 5, 1)), [5.0, 1.0]);
        assert_eq!(rates(&database("monday|-|101|1|0|0|0|0", 5, 1)), [0.0, 0.0], "not yet counted");
    }

    #[test]
    fn names_of_tables_stay_text() {
        let names = ["orders".to_owned(), r"o\'neill'); DROP TABLE x; --".to_owned()];
        let sql = Part::Tables.sql(&names, None);
        assert!(sql.contains(r"(VALUES (0, E'orders'), (1, E'o\\''neill''); DROP TABLE x; --'))"), "{sql}");
        let tables = Tables { names: names[..1].to_vec(), were_reset: false };
        let (values, remark) = levels(Part::Tables, &rows("0|5|1|8192|-"), &tables);
        assert_eq!((values.len(), remark), (3, None));
        let remark = levels(Part::Tables, &rows(""), &tables).1;
        assert_eq!(remark, Some("no table is named orders".to_owned()));
    }

    #[test]
    fn rows_of_tables_are_not_known_after_a_reset() {
        let tables = Tables { names: vec!["orders".to_owned()], were_reset: true };
        let (values, remark) = levels(Part::Tables, &rows("0|0|0|8192|-"), &tables);
        assert_eq!(shown(&values), "pg_table_size{orders} 8192\n");
        assert!(remark.unwrap().contains("the rows of orders are not known until it is analyzed"));
        let (values, remark) = levels(Part::Tables, &rows("0|5|1|8192|2026-11-22 10:11:12+00"), &tables);
        assert_eq!((values.len(), remark), (3, None));
    }
}
