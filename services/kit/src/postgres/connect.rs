//! Connections: made with a bound on time, remade when they break, never shared between tasks.

use super::options::{Protection, ServerOptions};
use crate::store::StoreError;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::TlsStream;
use tokio_postgres::{CancelToken, Client, Connection, NoTls, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// After a connection failed, requests are refused at once for this long instead of each trying again.
const PAUSE: Duration = Duration::from_millis(250);
/// Past the server's own limit on a statement, an answer is not waited for much longer: the server may be frozen.
const GRACE: Duration = Duration::from_secs(1);

/// Why PostgreSQL cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// It refused, or could not be reached in time.
    #[error("PostgreSQL at {at} cannot be used: {why}")]
    Refused {
        /// Host, port and database.
        at: String,
        /// What the driver or the server said.
        why: String,
    },
    /// The server is older than what the statements need.
    #[error("PostgreSQL at {at} has version {found}; 15 or newer is needed")]
    Old {
        /// Host, port and database.
        at: String,
        /// What it says of itself.
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
    /// What a start says of an error.
    #[must_use]
    pub fn refused(&self, error: &tokio_postgres::Error) -> ConnectError {
        ConnectError::Refused { at: self.at(), why: told(error) }
    }
}

/// What went wrong, with what the server said of it.
fn told(error: &tokio_postgres::Error) -> String {
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

/// Connections are made with what was found at the start: the authorities are read once.
#[derive(Clone)]
pub struct Connector {
    options: ServerOptions,
    tls: Option<MakeRustlsConnect>,
}

impl Connector {
    /// A maker of connections.
    ///
    /// # Errors
    /// When TLS is asked for and there are no authorities.
    pub fn new(options: &ServerOptions) -> Result<Self, ConnectError> {
        let no_authorities = |error: crate::client::ClientError| ConnectError::Refused {
            at: options.at(),
            why: error.to_string(),
        };
        let tls = match options.protection {
            Protection::Plain => None,
            Protection::VerifiedTls => {
                Some(MakeRustlsConnect::new(crate::client::tls().map_err(no_authorities)?))
            }
        };
        Ok(Self { options: options.clone(), tls })
    }

    /// A new connection.
    ///
    /// # Errors
    /// What the driver or the server says.
    pub async fn connect(&self) -> Result<Connected, tokio_postgres::Error> {
        let mut config = self.options.config();
        config.connect_timeout(CONNECT_TIMEOUT);
        match self.tls.clone() {
            None => config.ssl_mode(SslMode::Disable).connect(NoTls).await.map(Connected::drive),
            Some(tls) => config.ssl_mode(SslMode::Require).connect(tls).await.map(Connected::drive),
        }
    }
}

impl Connector {
    /// Asks the server to end what a connection is doing. That it has ended is not told.
    pub async fn cancel(&self, token: CancelToken) {
        let asked = async {
            match self.tls.clone() {
                None => token.cancel_query(NoTls).await,
                Some(tls) => token.cancel_query(tls).await,
            }
        };
        let _asked_in_time = tokio::time::timeout(CONNECT_TIMEOUT, asked).await;
    }
}

impl Connected {
    fn drive<T>((client, connection): (Client, Connection<Socket, T>)) -> Self
    where
        T: TlsStream + Unpin + Send + 'static,
    {
        let driver = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::warn!(error = told(&error), "a connection to PostgreSQL broke");
            }
        });
        Self { client, driver }
    }
}

/// The first connection of a start: a server that is still starting, or has no connection free, is waited for.
///
/// # Errors
/// When it refuses for good, or does not answer in time.
pub async fn connect_with_retry(connector: &Connector) -> Result<Connected, ConnectError> {
    let options = &connector.options;
    let give_up_at = Instant::now() + options.start_within;
    loop {
        let error = match connector.connect().await {
            Ok(connected) => return Ok(connected),
            Err(error) => error,
        };
        if !is_passing(&error) || Instant::now() >= give_up_at {
            return Err(options.refused(&error));
        }
        tracing::warn!(at = options.at(), error = told(&error), "waiting for PostgreSQL");
        tokio::time::sleep(PAUSE).await;
    }
}

/// Whether trying again may help: nobody listens, the server is starting or stopping, or has too many clients.
fn is_passing(error: &tokio_postgres::Error) -> bool {
    error.code().is_none_or(|code| {
        [&SqlState::CANNOT_CONNECT_NOW, &SqlState::ADMIN_SHUTDOWN, &SqlState::TOO_MANY_CONNECTIONS]
            .contains(&code)
    })
}

/// What a connection is prepared for: the statements of one kind of task.
pub trait Prepared: Sized + Send {
    /// Prepares them on a new connection.
    fn prepare(client: &Client) -> impl Future<Output = Result<Self, tokio_postgres::Error>> + Send;
}

/// A connection with its statements.
pub struct Session<S> {
    connected: Connected,
    /// The statements.
    pub statements: S,
}

impl<S> Session<S> {
    /// Sends statements.
    pub fn client(&self) -> &Client {
        &self.connected.client
    }
}

/// A connection that is remade when it is broken.
pub struct Link<S> {
    connector: Connector,
    session: Option<Session<S>>,
    failed: Option<(Instant, StoreError)>,
}

impl<S: Prepared> Link<S> {
    /// A connection that is made when it is first needed.
    #[must_use]
    pub fn new(connector: Connector) -> Self {
        Self { connector, session: None, failed: None }
    }

    /// The session, made now if there is none that works.
    ///
    /// # Errors
    /// When none can be made, or could a moment ago.
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

    async fn make(&mut self) -> Result<Session<S>, StoreError> {
        if let Some((at, error)) = &self.failed
            && at.elapsed() < PAUSE
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
                self.failed = None;
                return Ok(session);
            }
            Ok(Err(error)) => told(&error),
            Err(_elapsed) => "no connection in time".to_owned(),
        };
        let error = StoreError::Unreachable(error.into());
        self.failed = Some((Instant::now(), error.clone()));
        Err(error)
    }

    /// After work that failed: a connection on which the server said no is made usable again, any other is given up,
    /// as what it may still be doing is not known.
    pub async fn recover(&mut self, error: &StoreError) {
        let rolled_back = match (&self.session, error) {
            (Some(session), StoreError::Failed(_)) => {
                within(GRACE, session.client().batch_execute("ROLLBACK")).await.is_ok()
            }
            _ => false,
        };
        if !rolled_back {
            self.session = None;
        }
    }

    /// The longest that an answer is waited for.
    #[must_use]
    pub fn answer_timeout(&self) -> Duration {
        self.connector.options.statement_timeout + GRACE
    }
}

/// Waits for the database within bounds.
///
/// # Errors
/// What became of the work, or that it took too long.
pub async fn within<T>(
    patience: Duration,
    work: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, StoreError> {
    match tokio::time::timeout(patience, work).await {
        Ok(Err(error)) if is_lost(&error) => Err(StoreError::Unreachable(told(&error).into())),
        Ok(outcome) => outcome.map_err(|error| StoreError::Failed(told(&error).into())),
        Err(_elapsed) => Err(StoreError::Slow),
    }
}

/// Whether the connection is gone, or the server has said that it is going.
fn is_lost(error: &tokio_postgres::Error) -> bool {
    let is_going = |code: &SqlState| code.code().starts_with("57P") || code.code().starts_with("08");
    error.is_closed() || error.code().is_some_and(is_going)
}
