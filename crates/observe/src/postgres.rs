//! Watches a PostgreSQL server: sessions, waits, locks, cache, commits, statements, tables.
//!
//! Each sample is one read-only transaction. What a role may not see is queried once, reported, and left out.

mod identity;
mod part;
mod rows;
mod session;
mod statements;
mod tls;

use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

use evidence::{NoticeKind, SeriesKey};

use crate::observer::Observer;
use crate::remote::{Query, QueryResult, Remote};
pub use identity::identify_postgres;
use part::{Database, Part};
use rows::Rows;
use session::{QueryError, Session};
use statements::Statements;

/// Watches the database of the server at `url`, and the tables named `tables` in it, as part of the target named
/// `target`, once in `every`.
///
/// # Errors
/// When the system gives no thread.
pub fn postgres(
    target: &str,
    url: &str,
    tables: &[String],
    every: Duration,
) -> io::Result<Box<dyn Observer>> {
    let query = PostgresQuery {
        target: target.to_owned(),
        url: url.to_owned(),
        tables: tables.to_vec(),
        session: None,
        refused: BTreeSet::new(),
        statements: Statements::default(),
        base: None,
    };
    Ok(Box::new(Remote::start(&format!("{target} postgres"), every, query)?))
}

struct PostgresQuery {
    target: String,
    /// May hold a password: never shown.
    url: String,
    tables: Vec<String>,
    session: Option<Session>,
    /// What the server refused.
    refused: BTreeSet<Part>,
    statements: Statements,
    base: Option<(Instant, Database)>,
}

impl Query for PostgresQuery {
    fn query(&mut self) -> Result<QueryResult, String> {
        let result = self.read();
        if result.is_err() {
            self.session = None;
        }
        result.map_err(|error| error.to_string())
    }
}

impl PostgresQuery {
    fn read(&mut self) -> Result<QueryResult, QueryError> {
        let mut result = QueryResult::default();
        let session = match &mut self.session {
            Some(session) => session,
            none => none.insert(Session::connect(&self.url)?),
        };
        if session.statements_schema.is_none() && self.refused.insert(Part::Statements) {
            let text =
                "pg_stat_statements is not installed in this database: no statements are observed".to_owned();
            result.remarks.push((NoticeKind::Unreadable, text));
        }
        // Each round either succeeds or adds one refused part.
        loop {
            let parts = Part::ALL.into_iter().filter(|part| !self.refused.contains(part));
            let parts = parts.filter(|part| *part != Part::Tables || !self.tables.is_empty());
            let sql = |part: Part| (part, part.sql(&self.tables, session.statements_schema.as_deref()));
            let parts: Vec<(Part, String)> = parts.map(sql).collect();
            match session.transaction(&parts) {
                Ok(answers) => {
                    for (part, rows) in &answers {
                        self.take(*part, rows, &mut result)?;
                    }
                    return Ok(result);
                }
                Err(QueryError::Refused { part, why }) => {
                    self.refused.insert(part);
                    let text = format!("{} cannot be observed: {why}", part.what());
                    result.remarks.push((NoticeKind::Unreadable, text));
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn take(&mut self, part: Part, rows: &Rows, result: &mut QueryResult) -> Result<(), QueryError> {
        let now = Instant::now();
        match part {
            Part::Database => {
                let Some(database) = Database::read(rows) else { return Ok(()) };
                let base = self.base.replace((now, database.clone()));
                let Some((base_at, base)) = base else { return Ok(()) };
                let seconds = now.duration_since(base_at).as_secs_f64();
                match database.since(&base, seconds) {
                    Some(values) => self.push(values, result),
                    None => {
                        self.statements.reset();
                        let text = format!("counters were reset: the server runs since {}", database.started);
                        result.remarks.push((NoticeKind::Restarted, text));
                    }
                }
            }
            Part::Statements => {
                let top = self.statements.take(now, rows);
                if let Some(session) = &mut self.session {
                    self.statements.learn(session)?;
                }
                if let Some(remark) = self.statements.take_remark() {
                    result.remarks.push((NoticeKind::Unreadable, remark));
                }
                let values = self.statements.values(&top);
                self.push(values, result);
            }
            Part::Sessions | Part::Locks | Part::Tables => {
                let (values, remark) = part::levels(part, rows, &self.tables);
                self.push(values, result);
                result.remarks.extend(remark.map(|text| (NoticeKind::Unreadable, text)));
            }
        }
        Ok(())
    }

    fn push(&self, values: Vec<part::Value>, result: &mut QueryResult) {
        let key = |(name, unit, part, value): part::Value| {
            (SeriesKey::new(name, &self.target, unit).part(&part), value)
        };
        result.values.extend(values.into_iter().map(key));
    }
}
