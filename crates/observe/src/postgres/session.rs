//! A connection of the observer's own, within bounds of time.

use std::time::Duration;

use ::postgres::{Client, Config, Error, SimpleQueryMessage};

use super::part::Part;
use super::tls::Asked;

/// How long connecting and each statement may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// Statements of this observer begin with it, so that they are told from those of the target.
pub(super) const MARK: &str = "/* plimsoll */";

/// Rows of text; none where a value is null.
pub(super) type Rows = Vec<Vec<Option<String>>>;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum AskError {
    #[error("PostgreSQL cannot be asked: its URL cannot be understood")]
    Url,
    #[error("PostgreSQL cannot be asked: {0}")]
    Broken(String),
    /// The server will not answer this, now or later.
    #[error("{why}")]
    Refused { part: Part, why: String },
}

pub(super) struct Session {
    client: Client,
    /// Where `pg_stat_statements` lies, quoted, if it is there.
    pub(super) statements_schema: Option<String>,
}

impl Session {
    pub(super) fn connect(url: &str) -> Result<Session, AskError> {
        // Its own words may show parts of the URL.
        let asked = Asked::of(url);
        let mut config: Config = asked.url.parse().map_err(|_| AskError::Url)?;
        config.connect_timeout(PATIENCE).tcp_user_timeout(PATIENCE).application_name("plimsoll");
        let client =
            config.connect(asked.connector().map_err(AskError::Broken)?).map_err(|error| broken(&error))?;
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

    /// What each of `parts` answers, at one moment.
    pub(super) fn transaction(&mut self, parts: &[(Part, String)]) -> Result<Vec<(Part, Rows)>, AskError> {
        self.rows("BEGIN TRANSACTION READ ONLY")?;
        let mut answers = Vec::with_capacity(parts.len());
        for (part, sql) in parts {
            match self.try_rows(&format!("{MARK} {sql}")) {
                Ok(rows) => answers.push((*part, rows)),
                Err(error) if is_refusal(&error) => {
                    self.rows("ROLLBACK")?;
                    return Err(AskError::Refused { part: *part, why: words(&error) });
                }
                Err(error) => return Err(broken(&error)),
            }
        }
        self.rows("COMMIT")?;
        Ok(answers)
    }

    pub(super) fn rows(&mut self, sql: &str) -> Result<Rows, AskError> {
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

/// Whether asking again is of no use: missing rights, missing names, a module that is not loaded, names that are none.
fn is_refusal(error: &Error) -> bool {
    error.code().is_some_and(|state| {
        let state = state.code();
        state.starts_with("42") || state.starts_with("22") || state == "55000"
    })
}

fn broken(error: &Error) -> AskError {
    AskError::Broken(words(error))
}

fn words(error: &Error) -> String {
    match error.as_db_error() {
        Some(told) => told.message().to_owned(),
        None => {
            let source = std::error::Error::source(error).map(|source| format!(": {source}"));
            format!("{error}{}", source.unwrap_or_default())
        }
    }
}
