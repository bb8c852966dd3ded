//! Tasks in a list in Redis, by `RPUSH`: whoever works on them takes them from its other end.

use super::{SinkError, SinkOpenError};
use crate::entry::Entry;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client};
use std::fmt;
use std::time::Duration;
use tokio::sync::Mutex;

/// Which list.
#[derive(Clone, PartialEq, Eq)]
pub struct ListOptions {
    /// `redis://[user:password@]host:port/database`
    pub url: String,
    /// The list's key.
    pub key: String,
    /// How long connecting, and an answer, may take.
    pub within: Duration,
}

/// The URL may hold a password.
impl fmt::Debug for ListOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListOptions")
            .field("key", &self.key)
            .field("within", &self.within)
            .finish_non_exhaustive()
    }
}

/// A list, and the connection to it while there is one. Workers share it: their commands follow one another on it
/// without waiting.
pub struct ListSink {
    client: Client,
    key: String,
    within: Duration,
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
        let (key, within) = (options.key.clone(), options.within);
        Ok(Self { client, key, within, connection: Mutex::default() })
    }

    pub(super) async fn push(&self, entries: &[Entry]) -> Result<(), SinkError> {
        let mut connection = self.connected().await?;
        let mut command = redis::cmd("RPUSH");
        command.arg(&self.key);
        entries.iter().for_each(|entry| {
            command.arg(&entry.task[..]);
        });
        let pushed = tokio::time::timeout(self.within, command.query_async::<u64>(&mut connection)).await;
        let outcome =
            pushed.map_err(|_| SinkError::Late(self.within)).and_then(|pushed| Ok(pushed.map(drop)?));
        if outcome.is_err() {
            // Whatever is on its way on it is not waited for.
            *self.connection.lock().await = None;
        }
        outcome
    }

    async fn connected(&self) -> Result<MultiplexedConnection, SinkError> {
        let mut held = self.connection.lock().await;
        if let Some(connection) = held.as_ref() {
            return Ok(connection.clone());
        }
        let limits = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.within))
            .set_response_timeout(Some(self.within));
        let connecting = self.client.get_multiplexed_async_connection_with_config(&limits);
        let connection = tokio::time::timeout(self.within, connecting).await;
        let connection = connection.map_err(|_| SinkError::Late(self.within))??;
        Ok(held.insert(connection).clone())
    }
}
