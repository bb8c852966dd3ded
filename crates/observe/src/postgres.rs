//! Watches a PostgreSQL server: sessions, waits, locks, cache, commits, statements, tables.
//!
//! Each look is one transaction that only reads. What a role may not see is asked for once, told, and left out.

mod identity;
mod part;
mod session;
mod statements;
mod tls;

use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

use evidence::{NoticeKind, SeriesKey};

use crate::remote::{Look, Looked, Remote};
use crate::watch::Observer;
pub use identity::identify_postgres;
use part::{Database, Part};
use session::{AskError, Rows, Session};
use statements::Statements;

/// Watches the database of the server at `url`, and the tables named `tables` in it, as part of the target named
/// `target`, once in `every`.
///
/// # Errors
/// When no thread can be had.
pub fn postgres(
    target: &str,
    (url, tables): (&str, &[String]),
    every: Duration,
) -> io::Result<Box<dyn Observer>> {
    let look = PostgresLook {
        target: target.to_owned(),
        url: url.to_owned(),
        tables: tables.to_vec(),
        session: None,
        refused: BTreeSet::new(),
        statements: Statements::default(),
        base: None,
    };
    Ok(Box::new(Remote::start(&format!("{target} postgres"), every, look)?))
}

struct PostgresLook {
    target: String,
    /// May hold a password: never shown.
    url: String,
    tables: Vec<String>,
    session: Option<Session>,
    /// What the server will not answer.
    refused: BTreeSet<Part>,
    statements: Statements,
    base: Option<(Instant, Database)>,
}

impl Look for PostgresLook {
    fn look(&mut self) -> Result<Looked, String> {
        let looked = self.ask();
        if looked.is_err() {
            self.session = None;
        }
        looked.map_err(|error| error.to_string())
    }
}

impl PostgresLook {
    fn ask(&mut self) -> Result<Looked, AskError> {
        let mut looked = Looked::default();
        let session = match &mut self.session {
            Some(session) => session,
            none => none.insert(Session::connect(&self.url)?),
        };
        if session.statements_schema.is_none() && self.refused.insert(Part::Statements) {
            let text = "pg_stat_statements is not there in this database: no statements are seen".to_owned();
            looked.remarks.push((NoticeKind::Unreadable, text));
        }
        // Each turn either ends it or refuses one part more.
        loop {
            let parts = Part::ALL.into_iter().filter(|part| !self.refused.contains(part));
            let parts = parts.filter(|part| *part != Part::Tables || !self.tables.is_empty());
            let sql = |part: Part| (part, part.sql(&self.tables, session.statements_schema.as_deref()));
            let parts: Vec<(Part, String)> = parts.map(sql).collect();
            match session.transaction(&parts) {
                Ok(answers) => {
                    for (part, rows) in &answers {
                        self.take((*part, rows), &mut looked)?;
                    }
                    return Ok(looked);
                }
                Err(AskError::Refused { part, why }) => {
                    self.refused.insert(part);
                    let text = format!("{} cannot be seen: {why}", part.what());
                    looked.remarks.push((NoticeKind::Unreadable, text));
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn take(&mut self, (part, rows): (Part, &Rows), looked: &mut Looked) -> Result<(), AskError> {
        let now = Instant::now();
        match part {
            Part::Database => {
                let Some(database) = Database::read(rows) else { return Ok(()) };
                let base = self.base.replace((now, database.clone()));
                let Some((base_at, base)) = base else { return Ok(()) };
                let seconds = now.duration_since(base_at).as_secs_f64();
                match database.since(&base, seconds) {
                    Some(values) => self.push(values, looked),
                    None => {
                        self.statements.begin_anew();
                        let text = format!("counters began anew: the server runs since {}", database.started);
                        looked.remarks.push((NoticeKind::Restarted, text));
                    }
                }
            }
            Part::Statements => {
                let top = self.statements.take(now, rows);
                if let Some(session) = &mut self.session {
                    self.statements.learn(session)?;
                }
                if let Some(remark) = self.statements.take_remark() {
                    looked.remarks.push((NoticeKind::Unreadable, remark));
                }
                let values = self.statements.values(&top);
                self.push(values, looked);
            }
            Part::Sessions | Part::Locks | Part::Tables => {
                let (values, remark) = part::levels(part, rows, &self.tables);
                self.push(values, looked);
                looked.remarks.extend(remark.map(|text| (NoticeKind::Unreadable, text)));
            }
        }
        Ok(())
    }

    fn push(&self, values: Vec<part::Value>, looked: &mut Looked) {
        let key = |(name, unit, part, value): part::Value| {
            (SeriesKey::new(name, &self.target, unit).part(&part), value)
        };
        looked.values.extend(values.into_iter().map(key));
    }
}
