//! Who gets the tasks: nobody, a file, or a list in Redis.

mod file;
mod list;

use crate::entry::Entry;
pub use file::{FileSink, Turn};
pub use list::{ListOptions, ListSink};
use std::path::PathBuf;
use std::time::Duration;

/// Where tasks go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SinkOptions {
    /// Nowhere: they are counted, and done.
    None,
    /// Into a file, a line each.
    File(PathBuf),
    /// Into a list in Redis.
    Redis(ListOptions),
}

/// Why a sink cannot be used at all.
#[derive(Debug, thiserror::Error)]
pub enum SinkOpenError {
    /// The file cannot be opened.
    #[error("{path} (SINK_FILE) cannot be appended to: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// No Redis is named.
    #[error("REDIS_URL cannot be used: {0}")]
    Redis(redis::RedisError),
}

/// Why tasks were not handed on. They may have been all the same, if what failed was the answer.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// The file.
    #[error("the file does not take them: {0}")]
    File(#[from] std::io::Error),
    /// Redis.
    #[error("Redis does not take them: {0}")]
    Redis(#[from] redis::RedisError),
    /// Nobody answers.
    #[error("no answer within {0:?}")]
    Late(Duration),
    /// The task that writes ended in a fault.
    #[error("the file's writer ended in a fault")]
    Fault,
}

/// A sink that is there, as far as is known.
#[derive(Debug)]
pub enum Sink {
    /// Nobody.
    None,
    /// A file.
    File(FileSink),
    /// A list in Redis.
    Redis(Box<ListSink>),
}

impl Sink {
    /// Opens it. A Redis that does not answer yet is waited for later.
    ///
    /// # Errors
    /// When it can never be used.
    pub fn open(options: &SinkOptions) -> Result<Self, SinkOpenError> {
        Ok(match options {
            SinkOptions::None => Self::None,
            SinkOptions::File(path) => Self::File(FileSink::open(path)?),
            SinkOptions::Redis(options) => Self::Redis(Box::new(ListSink::new(options)?)),
        })
    }

    /// Waits until a worker may hand something on: at a file there is one at a time. To be taken before the entries, so
    /// that what arrives meanwhile is handed on together.
    pub async fn turn(&self) -> Turn {
        match self {
            Self::File(file) => file.turn().await,
            Self::None | Self::Redis(_) => Turn::default(),
        }
    }

    /// Hands these on, in their order; returns when they are. `turn` is this sink's.
    ///
    /// # Errors
    /// When it is not known that all were.
    pub async fn hand_on(&self, entries: &[Entry], turn: Turn) -> Result<(), SinkError> {
        match self {
            Self::None => Ok(()),
            Self::File(file) => file.append(entries, turn).await,
            Self::Redis(list) => list.push(entries).await,
        }
    }
}
