//! What keeps an observer from seeing.

use std::io;

/// Why something could not be observed.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// This operating system does not show what is needed.
    #[error("not available here: watching a process needs Linux's /proc")]
    NotAvailable,
    /// Nothing listens there.
    #[error("no process listens on TCP port {port}")]
    NoListener { port: u16 },
    /// Something listens there, and its process may not be looked at.
    #[error(
        "the process that listens on TCP port {port} belongs to another user or another process space; \
         run as that user, or name the process by its pid"
    )]
    HiddenListener { port: u16 },
    /// The process has ended.
    #[error("process {pid} is gone")]
    Gone {
        /// Its number.
        pid: u32,
    },
    /// The process with this number is another one than before.
    #[error("process {pid} is gone, and its number is another process's now")]
    Replaced {
        /// The number.
        pid: u32,
    },
    /// A file of /proc could not be read.
    #[error("cannot read {path}: {source}")]
    Read {
        path: String,
        /// The system's words.
        source: io::Error,
    },
    /// A file of /proc is not as its documentation says.
    #[error("cannot understand {path}: {what}")]
    Malformed {
        path: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A limit could not be changed.
    #[error("cannot raise the limit of open files: {0}")]
    Limit(io::Error),
}
