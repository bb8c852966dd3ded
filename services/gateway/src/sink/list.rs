//! Tasks in a list in Redis, appended by `RPUSH`: a consumer takes them from its other end.

use std::fmt;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client};
use tokio::sync::Mutex;

use super::{SinkError, SinkOpenError};
use crate::entry::QueueEntry;

/// The list, and the timeout of its use.
#[derive(Clone, PartialEq, Eq)]
pub struct ListOptions {
    /// `redis://[user:password@]host:port/database`
    pub url: String,
    pub key: String,
    /// Timeout of connecting, and of a response.
    pub timeout: Duration,
}

/// The URL may hold a password.
impl fmt::Debug for ListOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListOptions")
            .field("key", &self.key)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// A list, and the connection to its Redis while there is one. Workers share the connection: their commands are
/// pipelined on it.
pub struct ListSink {
    client: Client,
    key: String,
    timeout: Duration,
    connection: Mutex<Option<MultiplexedConnection>>,
}

impl fmt::Debug for ListSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListSink").field("key", &self.key).finish_non_exhaustive()
    }
}

impl ListSink {
    pub(super) fn new(options: &ListOptions) -> Result<Self, SinkOpenError> {
        let client = Client::open(options.url.as_str()).map_err(SinkOpenError::Redis)?;
        let (key, timeout) = (options.key.clone(), options.timeout);
        Ok(Self { client, key, timeout, connection: Mutex::default() })
    }

    pub(super) async fn push(&self, entries: &[QueueEntry]) -> Result<(), SinkError> {
        let mut connection = self.connected().await?;
        let mut command = redis::cmd("RPUSH");
        command.arg(&self.key);
        entries.iter().for_each(|entry| {
            command.arg(&entry.task[..]);
        });
        let pushed = tokio::time::timeout(self.timeout, command.query_async::<u64>(&mut connection)).await;
        let outcome =
            pushed.map_err(|_| SinkError::TimedOut(self.timeout)).and_then(|pushed| Ok(pushed.map(drop)?));
        if outcome.is_err() {
            // Commands in flight on it are not waited for.
            *self.connection.lock().await = None;
        }
        outcome
    }

    async fn connected(&self) -> Result<MultiplexedConnection, SinkError> {
        let mut current = self.connection.lock().await;
        if let Some(connection) = current.as_ref() {
            return Ok(connection.clone());
        }
        let limits = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.timeout))
            .set_response_timeout(Some(self.timeout));
        let connecting = self.client.get_multiplexed_async_connection_with_config(&limits);
        let connection = tokio::time::timeout(self.timeout, connecting).await;
        let connection = connection.map_err(|_| SinkError::TimedOut(self.timeout))??;
        Ok(current.insert(connection).clone())
    }
}
