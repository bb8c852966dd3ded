//! The destination of tasks: none, a file, or a list in Redis.

mod file;
mod list;

use std::path::PathBuf;
use std::time::Duration;

use crate::entry::QueueEntry;
pub use file::{FileSink, SinkPermit};
pub use list::{ListOptions, ListSink};

/// Where tasks go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SinkOptions {
    /// Nowhere: they are only counted.
    None,
    /// Into a file, one line each.
    File(PathBuf),
    /// Into a list in Redis.
    Redis(ListOptions),
}

/// Why a sink cannot be used at all.
#[derive(Debug, thiserror::Error)]
pub enum SinkOpenError {
    /// The file cannot be opened.
    #[error("{path} (SINK_FILE) cannot be appended to: {source}")]
    File { path: PathBuf, source: std::io::Error },
    /// The URL names no Redis.
    #[error("REDIS_URL cannot be used: {0}")]
    Redis(redis::RedisError),
}

/// Why tasks were not handed on. If only the response failed, the sink may have them all the same.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// The file cannot be written.
    #[error("the file cannot be written: {0}")]
    File(#[from] std::io::Error),
    /// Redis cannot be reached, or refuses.
    #[error("Redis failed: {0}")]
    Redis(#[from] redis::RedisError),
    /// Redis does not respond in time.
    #[error("no response from Redis within {0:?}")]
    TimedOut(Duration),
    /// The thread that writes the file panicked.
    #[error("the thread that writes the file panicked")]
    WriterPanicked,
}

/// The sink of a process.
#[derive(Debug)]
pub enum Sink {
    /// None: tasks are only counted.
    None,
    File(FileSink),
    Redis(Box<ListSink>),
}

impl Sink {
    /// Opens the sink. Redis need not respond yet: it is connected when the first task is handed on.
    ///
    /// # Errors
    /// When the file cannot be opened, or the URL names no Redis.
    pub fn open(options: &SinkOptions) -> Result<Self, SinkOpenError> {
        Ok(match options {
            SinkOptions::None => Self::None,
            SinkOptions::File(path) => Self::File(FileSink::open(path)?),
            SinkOptions::Redis(options) => Self::Redis(Box::new(ListSink::new(options)?)),
        })
    }

    /// Waits until a worker may hand tasks on: a file is written by one worker at a time. It must be acquired before
    /// the entries are taken, so that entries that arrive meanwhile are handed on together.
    pub async fn permit(&self) -> SinkPermit {
        match self {
            Self::File(file) => file.permit().await,
            Self::None | Self::Redis(_) => SinkPermit::default(),
        }
    }

    /// Hands these entries on, in their order; returns when the sink has them. `permit` is this sink's.
    ///
    /// # Errors
    /// When it is not certain that the sink has all of them.
    pub async fn hand_on(&self, entries: &[QueueEntry], permit: SinkPermit) -> Result<(), SinkError> {
        match self {
            Self::None => Ok(()),
            Self::File(file) => file.append(entries, permit).await,
            Self::Redis(list) => list.push(entries).await,
        }
    }
}
