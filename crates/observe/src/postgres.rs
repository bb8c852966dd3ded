//! Watches a PostgreSQL server: sessions, waits, locks, cache, commits, statements, tables.
//!
//! Each sample is one read-only transaction. What a role may not see is queried once, reported, and left out.

mod blockers;
mod connection;
mod identity;
mod own;
mod part;
mod rows;
mod session;
mod sessions;
mod statements;
#[cfg(test)]
mod testing;
mod tls;

use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

use evidence::{NoticeKind, SeriesKey};

use crate::observer::Observer;
use crate::remote::{Query, QueryResult, Remote};
use blockers::Blockers;
pub use identity::identify_postgres;
use own::OwnTransactions;
use part::{Anew, Database, Part, Tables};
use rows::Rows;
use session::{QueryError, Session};
use sessions::Sessions;
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
        tables: Tables { names: tables.to_vec(), were_reset: false },
        sessions: Sessions::default(),
        blockers: Blockers::default(),
        session: None,
        own: OwnTransactions::default(),
        refused: BTreeSet::new(),
        statements: Statements::default(),
        resets: 0,
        base: None,
    };
    Ok(Box::new(Remote::start(&format!("{target} postgres"), every, query)?))
}

struct PostgresQuery {
    target: String,
    /// May hold a password: never shown.
    url: String,
    tables: Tables,
    sessions: Sessions,
    blockers: Blockers,
    session: Option<Session>,
    /// What former sessions did.
    own: OwnTransactions,
    /// What the server refused.
    refused: BTreeSet<Part>,
    statements: Statements,
    resets: usize,
    base: Option<(Instant, Database)>,
}

impl Query for PostgresQuery {
    fn query(&mut self) -> Result<QueryResult, String> {
        let result = self.read();
        if result.is_err()
            && let Some(session) = self.session.take()
        {
            self.own = session.own;
        }
        result.map_err(|error| error.to_string())
    }
}

impl PostgresQuery {
    fn read(&mut self) -> Result<QueryResult, QueryError> {
        let mut result = QueryResult::default();
        if let Some(session) = self.session.take_if(|session| session.is_used_up()) {
            self.own = session.own;
        }
        let session = match &mut self.session {
            Some(session) => session,
            none => none.insert(Session::connect(&self.url, self.own)?),
        };
        if session.statements.is_none() && self.refused.insert(Part::Statements) {
            let text =
                "pg_stat_statements is not installed in this database: no statements are observed".to_owned();
            result.remarks.push((NoticeKind::Unreadable, text));
        }
        // Each round either succeeds or adds one refused part.
        loop {
            let parts = Part::ALL.into_iter().filter(|part| !self.refused.contains(part));
            let parts = parts.filter(|part| *part != Part::Tables || !self.tables.names.is_empty());
            let sql = |part: Part| (part, part.sql(&self.tables.names, session.statements.as_ref()));
            let parts: Vec<(Part, String)> = parts.map(sql).collect();
            let own = session.own;
            match session.transaction(&parts) {
                Ok(answers) => {
                    for (part, rows) in &answers {
                        match part {
                            Part::Database => self.take_database(Database::read(rows, own), &mut result),
                            Part::Statements => self.take_statements(rows, &mut result)?,
                            Part::Blockers => {
                                let values = self.blockers.levels(rows, &self.statements);
                                self.push(values, &mut result);
                            }
                            Part::Sessions | Part::Locks | Part::Tables => {
                                let (values, remark) = match part {
                                    Part::Sessions => self.sessions.levels(rows),
                                    _ => part::levels(*part, rows, &self.tables),
                                };
                                self.push(values, &mut result);
                                result.remarks.extend(remark.map(|text| (NoticeKind::Unreadable, text)));
                            }
                        }
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

    fn take_database(&mut self, database: Option<Database>, result: &mut QueryResult) {
        let Some(database) = database else { return };
        let now = Instant::now();
        let base = self.base.replace((now, database.clone()));
        let Some((base_at, base)) = base else { return };
        self.tables.were_reset |= database.is_reset_since(&base);
        let text = match database.since(&base, now.duration_since(base_at).as_secs_f64()) {
            Ok(values) => return self.push(values, result),
            Err(Anew::Restarted) => {
                self.statements.forget();
                format!("counters were reset: the server runs since {}", database.started)
            }
            Err(Anew::Reset) => {
                self.resets += 1;
                // Numbered, so that each is reported.
                format!(
                    "reset {}: the counters of the database began anew; their rates have a gap",
                    self.resets
                )
            }
        };
        result.remarks.push((NoticeKind::Restarted, text));
    }

    fn take_statements(&mut self, rows: &Rows, result: &mut QueryResult) -> Result<(), QueryError> {
        let grown = self.statements.take(Instant::now(), rows);
        if let Some(session) = &mut self.session {
            self.statements.learn(session)?;
        }
        result.remarks.extend(self.statements.take_remark());
        let values = self.statements.values(&grown);
        self.push(values, result);
        Ok(())
    }

    fn push(&self, values: Vec<part::Value>, result: &mut QueryResult) {
        let key = |(name, unit, part, value): part::Value| {
            (SeriesKey::new(name, &self.target, unit).part(&part), value)
        };
        result.values.extend(values.into_iter().map(key));
    }
}
