//! The observer's own connection, with time limits.
//!
//! Behind a pooler the server's session is another client's a moment later. So nothing outlives a transaction: each is one
//! message of several statements, which the server makes one transaction of, and its settings are local to it. It has no
//! `BEGIN` and no `COMMIT`, which could not be distinguished from the application's in `pg_stat_statements`.

use std::time::Duration;

use tokio_postgres::{Config, Error};

use super::connection::{AnswerError, BoundedConnection};
use super::own::{OwnTransactions, StatementsView};
use super::part::Part;
use super::rows::Rows;
use super::tls::TlsRequest;

/// How long connecting, beginning a session and each statement may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// Each statement of this observer contains it, which distinguishes them from the target's.
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
    connection: BoundedConnection,
    pub(super) statements: Option<StatementsView>,
    pub(super) own: OwnTransactions,
    /// The first statement of every transaction.
    local_settings: String,
}

impl Session {
    /// Connects; `own` is what former sessions of the observer did.
    pub(super) fn connect(url: &str, own: OwnTransactions) -> Result<Session, QueryError> {
        // The parser's own message may show parts of the URL.
        let request = TlsRequest::from_url(url);
        let mut config: Config = request.url.parse().map_err(|_| QueryError::Url)?;
        config.application_name("plimsoll");
        let tls = request.connector().map_err(QueryError::Broken)?;
        let connection = BoundedConnection::open(&config, tls, PATIENCE).map_err(|error| broken(&error))?;
        // To begin a session is a transaction, too.
        let own = OwnTransactions { commits: own.commits + 1, ..own };
        let mut session = Session { connection, statements: None, own, local_settings: local_settings("") };
        session.learn()?;
        Ok(session)
    }

    /// Whether another session should take its place.
    pub(super) fn is_used_up(&self) -> bool {
        self.connection.is_used_up()
    }

    fn learn(&mut self) -> Result<(), QueryError> {
        let found = self.rows(
            "SELECT to_regproc('pg_catalog.pg_stat_force_next_flush') IS NOT NULL, quote_ident(n.nspname), \
             EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = n.oid AND c.relname = 'pg_stat_statements_info') \
             FROM (VALUES (0)) v LEFT JOIN pg_extension e ON e.extname = 'pg_stat_statements' \
             LEFT JOIN pg_namespace n ON n.oid = e.extnamespace",
        )?;
        let column = |at: usize| found.first().and_then(|row| row.get(at)?.clone());
        let is_true = |at: usize| column(at).as_deref() == Some("t");
        self.statements = column(1).map(|schema| StatementsView { schema, has_info: is_true(2) });
        if is_true(0) {
            // Since PostgreSQL 15: the transaction is counted when it ends, and not up to ten seconds later.
            self.local_settings = local_settings(", pg_stat_force_next_flush()");
            // Those so far, too.
            self.rows("SELECT 1")?;
        }
        Ok(())
    }

    /// The rows of each of `parts`, in one transaction.
    pub(super) fn transaction(&mut self, parts: &[(Part, String)]) -> Result<Vec<(Part, Rows)>, QueryError> {
        let statements: Vec<&str> = parts.iter().map(|(_, sql)| sql.as_str()).collect();
        match self.run(&statements) {
            Ok(answers) => Ok(parts.iter().map(|(part, _)| *part).zip(answers).collect()),
            Err(error) if is_refusal(&error) => Err(self.refusal(parts, &error)),
            Err(error) => Err(broken(&error)),
        }
    }

    /// Which of `parts` the server refused with `error`: each is tried by itself.
    fn refusal(&mut self, parts: &[(Part, String)], error: &AnswerError) -> QueryError {
        for (part, sql) in parts {
            match self.run(&[sql]) {
                Ok(_) => {}
                Err(error) if is_refusal(&error) => {
                    return QueryError::Refused { part: *part, why: words(&error) };
                }
                Err(error) => return broken(&error),
            }
        }
        broken(error)
    }

    /// The rows of one statement, in a transaction of its own.
    pub(super) fn rows(&mut self, sql: &str) -> Result<Rows, QueryError> {
        let answers = self.run(&[sql]).map_err(|error| broken(&error))?;
        Ok(answers.into_iter().next().unwrap_or_default())
    }

    /// The rows of each of `statements`, in one transaction that only reads.
    fn run(&mut self, statements: &[&str]) -> Result<Vec<Rows>, AnswerError> {
        let statements: Vec<String> =
            [self.local_settings.as_str()].iter().chain(statements).map(|sql| marked(sql)).collect();
        let answers = self.connection.query(&statements.join("; "));
        match &answers {
            Ok(_) => self.own.commits += 1,
            Err(_) => self.own.rollbacks += 1,
        }
        // The first are those of the settings.
        Ok(answers?.into_iter().skip(1).collect())
    }
}

/// The mark is inside the statement: PostgreSQL 18 keeps no comment that comes before one.
fn marked(sql: &str) -> String {
    match sql.strip_prefix("SELECT") {
        Some(rest) => format!("SELECT {MARK}{rest}"),
        None => format!("{MARK} {sql}"),
    }
}

/// A statement that makes settings which end with its transaction, as `SET LOCAL` does.
fn local_settings(besides: &str) -> String {
    let timeout_ms = PATIENCE.as_millis();
    format!(
        "SELECT set_config('transaction_read_only', 'on', true), \
         set_config('statement_timeout', '{timeout_ms}', true){besides}"
    )
}

/// Whether a retry is of no use: missing rights, missing or invalid names, a module that is not loaded.
fn is_refusal(error: &AnswerError) -> bool {
    let AnswerError::Driver(error) = error else { return false };
    error.code().is_some_and(|state| {
        let state = state.code();
        state.starts_with("42") || state.starts_with("22") || state == "55000"
    })
}

fn broken(error: &AnswerError) -> QueryError {
    QueryError::Broken(words(error))
}

fn words(error: &AnswerError) -> String {
    match error {
        AnswerError::Driver(error) => words_of_driver(error),
        AnswerError::Connect(_) | AnswerError::Late(_) | AnswerError::TooManyRows => error.to_string(),
    }
}

fn words_of_driver(error: &Error) -> String {
    match error.as_db_error() {
        Some(from_server) => from_server.message().to_owned(),
        None => {
            let source = std::error::Error::source(error).map(|source| format!(": {source}"));
            format!("{error}{}", source.unwrap_or_default())
        }
    }
}
