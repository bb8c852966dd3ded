//! The observer's own connection, with time limits.

use std::time::Duration;

use ::postgres::{Client, Config, Error, SimpleQueryMessage};

use super::part::Part;
use super::rows::Rows;
use super::tls::TlsRequest;

/// How long connecting and each statement may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// Every statement of this observer begins with it, which distinguishes them from the target's.
pub(super) const MARK: &str = "/* plimsoll */";

/// Why a query failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum QueryError {
    #[error("PostgreSQL cannot be queried: its URL is invalid")]
    Url,
    #[error("PostgreSQL cannot be queried: {0}")]
    Broken(String),
    /// The server refuses this query, and will refuse it again.
    #[error("{why}")]
    Refused { part: Part, why: String },
}

pub(super) struct Session {
    client: Client,
    /// The schema of `pg_stat_statements`, quoted, if it is installed.
    pub(super) statements_schema: Option<String>,
}

impl Session {
    pub(super) fn connect(url: &str) -> Result<Session, QueryError> {
        // The parser's own message may show parts of the URL.
        let request = TlsRequest::of(url);
        let mut config: Config = request.url.parse().map_err(|_| QueryError::Url)?;
        config.connect_timeout(PATIENCE).tcp_user_timeout(PATIENCE).application_name("plimsoll");
        let client = config
            .connect(request.connector().map_err(QueryError::Broken)?)
            .map_err(|error| broken(&error))?;
        let mut session = Session { client, statements_schema: None };
        session.rows(&format!(
            "SET statement_timeout = {}; SET standard_conforming_strings = on",
            PATIENCE.as_millis()
        ))?;
        let schema = session.rows(&format!(
            "{MARK} SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace \
             WHERE e.extname = 'pg_stat_statements'"
        ))?;
        session.statements_schema = schema.into_iter().next().and_then(|row| row.into_iter().next()?);
        Ok(session)
    }

    /// The rows of each of `parts`, in one transaction.
    pub(super) fn transaction(&mut self, parts: &[(Part, String)]) -> Result<Vec<(Part, Rows)>, QueryError> {
        self.rows("BEGIN TRANSACTION READ ONLY")?;
        let mut answers = Vec::with_capacity(parts.len());
        for (part, sql) in parts {
            match self.try_rows(&format!("{MARK} {sql}")) {
                Ok(rows) => answers.push((*part, rows)),
                Err(error) if is_refusal(&error) => {
                    self.rows("ROLLBACK")?;
                    return Err(QueryError::Refused { part: *part, why: words(&error) });
                }
                Err(error) => return Err(broken(&error)),
            }
        }
        self.rows("COMMIT")?;
        Ok(answers)
    }

    pub(super) fn rows(&mut self, sql: &str) -> Result<Rows, QueryError> {
        self.try_rows(sql).map_err(|error| broken(&error))
    }

    fn try_rows(&mut self, sql: &str) -> Result<Rows, Error> {
        let messages = self.client.simple_query(sql)?;
        let rows = messages.into_iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|column| row.get(column).map(str::to_owned)).collect())
            }
            _ => None,
        });
        Ok(rows.collect())
    }
}

/// Whether a retry is of no use: missing rights, missing or invalid names, a module that is not loaded.
fn is_refusal(error: &Error) -> bool {
    error.code().is_some_and(|state| {
        let state = state.code();
        state.starts_with("42") || state.starts_with("22") || state == "55000"
    })
}

fn broken(error: &Error) -> QueryError {
    QueryError::Broken(words(error))
}

fn words(error: &Error) -> String {
    match error.as_db_error() {
        Some(from_server) => from_server.message().to_owned(),
        None => {
            let source = std::error::Error::source(error).map(|source| format!(": {source}"));
            format!("{error}{}", source.unwrap_or_default())
        }
    }
}
