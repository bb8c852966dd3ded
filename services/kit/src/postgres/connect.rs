//! Connections: made within a timeout, made again when they break, never shared between tasks.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::TlsStream;
use tokio_postgres::{CancelToken, Client, Connection, NoTls, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::options::{Protection, ServerOptions};
use super::tls;
use crate::store::StoreError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// After a connection attempt failed, requests are refused at once for this long instead of each trying again.
const RETRY_PAUSE: Duration = Duration::from_millis(250);
/// Added to the server's own limit on a statement: past it, the server may be frozen.
const ANSWER_GRACE: Duration = Duration::from_secs(1);

/// Why PostgreSQL cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// It refused, or could not be reached in time.
    #[error("PostgreSQL at {at} cannot be used: {why}")]
    Refused {
        /// Host, port and database.
        at: String,
        /// The error of the driver or the server.
        why: String,
    },
    /// The server is too old for the statements.
    #[error("PostgreSQL at {at} has version {found}; 15 or newer is needed")]
    Old {
        /// Host, port and database.
        at: String,
        /// The server's version.
        found: String,
    },
    /// A newer version of this program wrote the schema.
    #[error("the database at {at} has schema version {found}, this program knows up to {known}")]
    Newer {
        /// Host, port and database.
        at: String,
        /// The database's version.
        found: i32,
        /// The newest version known here.
        known: i32,
    },
}

impl ServerOptions {
    /// The error as a start reports it.
    #[must_use]
    pub fn refused(&self, error: &tokio_postgres::Error) -> ConnectError {
        ConnectError::Refused { at: self.at(), why: describe(error) }
    }
}

/// The error with the server's message and code.
fn describe(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(server) => format!("{} ({})", server.message(), server.code().code()),
        None => std::error::Error::source(error)
            .map_or_else(|| error.to_string(), |why| format!("{error}: {why}")),
    }
}

/// One connection and the task that moves its bytes, which ends with it.
pub struct Connected {
    /// Sends statements.
    pub client: Client,
    driver: JoinHandle<()>,
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// Makes connections. The certificate authorities are read once, at the start.
#[derive(Clone)]
pub struct Connector {
    options: ServerOptions,
    tls: Option<MakeRustlsConnect>,
}

impl Connector {
    /// A connector for this server.
    ///
    /// # Errors
    /// When TLS is configured and the system has no certificate authorities.
    pub fn new(options: &ServerOptions) -> Result<Self, ConnectError> {
        let refused = |error: &dyn std::error::Error| ConnectError::Refused {
            at: options.at(),
            why: error.to_string(),
        };
        let tls = match options.protection {
            Protection::Plain => None,
            Protection::UnverifiedTls => {
                tracing::warn!(
                    at = options.at(),
                    "DB_SSLMODE=require: any server with any certificate is accepted"
                );
                Some(tls::unverified().map_err(|error| refused(&error))?)
            }
            Protection::VerifiedTls => {
                Some(crate::client::connector::tls().map_err(|error| refused(&error))?)
            }
        };
        let tls = tls.map(MakeRustlsConnect::new);
        Ok(Self { options: options.clone(), tls })
    }

    /// A connector for the same server, for statements whose plan depends on the values of their filters; each is ended
    /// after `timeout`.
    #[must_use]
    pub fn for_filters(&self, timeout: Duration) -> Self {
        Self { options: self.options.for_filters(timeout), tls: self.tls.clone() }
    }

    /// A new connection.
    ///
    /// # Errors
    /// The error of the driver or the server.
    pub async fn connect(&self) -> Result<Connected, tokio_postgres::Error> {
        let connected = self.connect_without_settings().await?;
        connected.client.batch_execute(&self.options.session()).await?;
        Ok(connected)
    }

    async fn connect_without_settings(&self) -> Result<Connected, tokio_postgres::Error> {
        let mut config = self.options.config();
        config.connect_timeout(CONNECT_TIMEOUT);
        match self.tls.clone() {
            None => {
                let (client, connection) = config.ssl_mode(SslMode::Disable).connect(NoTls).await?;
                Ok(Connected::drive(client, connection))
            }
            Some(tls) => {
                let (client, connection) = config.ssl_mode(SslMode::Require).connect(tls).await?;
                Ok(Connected::drive(client, connection))
            }
        }
    }

    /// Sends a request to cancel the statement of a connection. PostgreSQL does not confirm the cancellation.
    pub async fn cancel(&self, token: CancelToken) {
        let request = async {
            match self.tls.clone() {
                None => token.cancel_query(NoTls).await,
                Some(tls) => token.cancel_query(tls).await,
            }
        };
        let _sent_in_time = tokio::time::timeout(CONNECT_TIMEOUT, request).await;
    }
}

impl Connected {
    fn drive<T>(client: Client, connection: Connection<Socket, T>) -> Self
    where
        T: TlsStream + Unpin + Send + 'static,
    {
        let driver = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::warn!(error = describe(&error), "a connection to PostgreSQL broke");
            }
        });
        Self { client, driver }
    }
}

/// The first connection of a start; retries while the server is starting, or has no free connection.
///
/// # Errors
/// When the server refuses for another reason, or no connection was made in time.
pub async fn connect_with_retry(connector: &Connector) -> Result<Connected, ConnectError> {
    let options = &connector.options;
    let give_up_at = Instant::now() + options.start_within;
    loop {
        let error = match connector.connect().await {
            Ok(connected) => return Ok(connected),
            Err(error) => error,
        };
        if !is_transient(&error) || Instant::now() >= give_up_at {
            return Err(options.refused(&error));
        }
        tracing::warn!(at = options.at(), error = describe(&error), "waiting for PostgreSQL");
        tokio::time::sleep(RETRY_PAUSE).await;
    }
}

/// Whether trying again may help: the port refuses, the server is starting or stopping, or has too many clients.
fn is_transient(error: &tokio_postgres::Error) -> bool {
    error.code().is_none_or(|code| {
        [&SqlState::CANNOT_CONNECT_NOW, &SqlState::ADMIN_SHUTDOWN, &SqlState::TOO_MANY_CONNECTIONS]
            .contains(&code)
    })
}

/// The prepared statements of one kind of task.
pub trait Prepared: Sized + Send {
    /// Prepares the statements on a new connection.
    fn prepare(client: &Client) -> impl Future<Output = Result<Self, tokio_postgres::Error>> + Send;
}

/// A connection with its prepared statements.
pub struct Session<S> {
    connected: Connected,
    /// The prepared statements.
    pub statements: S,
}

impl<S> Session<S> {
    /// Sends statements.
    pub fn client(&self) -> &Client {
        &self.connected.client
    }
}

/// A session that is made again when its connection breaks.
pub struct Link<S> {
    connector: Connector,
    session: Option<Session<S>>,
    last_failure: Option<FailedAttempt>,
}

struct FailedAttempt {
    at: Instant,
    error: StoreError,
}

impl<S: Prepared> Link<S> {
    /// A link whose session is made when it is first needed.
    #[must_use]
    pub fn new(connector: Connector) -> Self {
        Self { connector, session: None, last_failure: None }
    }

    /// The session, made now if there is none with an open connection.
    ///
    /// # Errors
    /// When no session can be made, or none could be made a moment ago.
    pub async fn session(&mut self) -> Result<&Session<S>, StoreError> {
        if self.session.as_ref().is_some_and(|session| session.client().is_closed()) {
            self.session = None;
        }
        if self.session.is_none() {
            self.session = Some(self.make().await?);
        }
        // Made just above when it was missing.
        self.session.as_ref().ok_or(StoreError::Closed)
    }

    /// Runs `work` on the session for no longer than `patience`, and recovers the connection when it fails.
    ///
    /// # Errors
    /// The work's error, or that there is no session.
    pub async fn run<T>(
        &mut self,
        patience: Duration,
        work: impl AsyncFnOnce(&Session<S>) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, StoreError> {
        let outcome = within(patience, work(self.session().await?)).await;
        if let Err(error) = &outcome {
            self.recover(error).await;
        }
        outcome
    }

    /// The session on which a transaction was begun.
    ///
    /// # Errors
    /// When its connection broke since: on a new one, the statements would run outside the transaction.
    pub fn same_session(&self) -> Result<&Session<S>, StoreError> {
        let open = self.session.as_ref().filter(|session| !session.client().is_closed());
        open.ok_or_else(|| StoreError::Unreachable("the connection broke during a transaction".into()))
    }

    async fn make(&mut self) -> Result<Session<S>, StoreError> {
        if let Some(FailedAttempt { at, error }) = &self.last_failure
            && at.elapsed() < RETRY_PAUSE
        {
            return Err(error.clone());
        }
        let made = async {
            let connected = self.connector.connect().await?;
            let statements = S::prepare(&connected.client).await?;
            Ok(Session { connected, statements })
        };
        let error = match tokio::time::timeout(CONNECT_TIMEOUT, made).await {
            Ok(Ok(session)) => {
                self.last_failure = None;
                return Ok(session);
            }
            Ok(Err(error)) => describe(&error),
            Err(_elapsed) => "no connection in time".to_owned(),
        };
        let error = StoreError::Unreachable(error.into());
        self.last_failure = Some(FailedAttempt { at: Instant::now(), error: error.clone() });
        Err(error)
    }

    /// After work that failed: a connection on which the server reported an error is rolled back and used again. Any
    /// other is closed, as the state of its transaction is unknown.
    pub async fn recover(&mut self, error: &StoreError) {
        let rolled_back = match (&self.session, error) {
            (Some(session), error) if error.is_rolled_back() => {
                within(ANSWER_GRACE, session.client().batch_execute("ROLLBACK")).await.is_ok()
            }
            _ => false,
        };
        if !rolled_back {
            self.session = None;
        }
    }

    /// How long an answer is waited for.
    #[must_use]
    pub fn answer_timeout(&self) -> Duration {
        self.connector.options.statement_timeout + ANSWER_GRACE
    }
}

/// Waits for the database, for no longer than `patience`.
///
/// # Errors
/// The work's error, or [`StoreError::Slow`] when it took too long.
pub async fn within<T>(
    patience: Duration,
    work: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, StoreError> {
    match tokio::time::timeout(patience, work).await {
        Ok(Err(error)) if is_lost(&error) => Err(StoreError::Unreachable(describe(&error).into())),
        Ok(Err(error)) if error.code() == Some(&SqlState::QUERY_CANCELED) => Err(StoreError::Ended),
        Ok(Err(error)) if is_of_the_data(&error) => Err(StoreError::Rejected(describe(&error).into())),
        Ok(outcome) => outcome.map_err(|error| StoreError::Failed(describe(&error).into())),
        Err(_elapsed) => Err(StoreError::Slow),
    }
}

/// Whether the connection is lost, or the server reported that it ends it.
fn is_lost(error: &tokio_postgres::Error) -> bool {
    let is_ending = |code: &SqlState| code.code().starts_with("57P") || code.code().starts_with("08");
    error.is_closed() || error.code().is_some_and(is_ending)
}

/// Whether the values of a statement are the cause: invalid, against a constraint, or too large.
fn is_of_the_data(error: &tokio_postgres::Error) -> bool {
    let classes = ["22", "23", "54"];
    error.code().is_some_and(|code| classes.iter().any(|class| code.code().starts_with(class)))
}
