//! Why a peer cannot be started or used.

use std::path::PathBuf;

/// Why a peer could not be started, used or ended.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// Its programs are not on this machine.
    #[error("{program} is missing: looked in {looked}; install the Debian package `{package}`")]
    Missing {
        /// What was looked for.
        program: &'static str,
        /// Every path that was searched.
        looked: String,
        /// The package that contains it.
        package: &'static str,
    },
    /// It refuses to run as root, and there is no other user to run it as.
    #[error("{program} does not run as root, and /etc/passwd has no user `{account}` to run it as")]
    NoAccount {
        /// The program to run.
        program: &'static str,
        /// The user that was looked for.
        account: &'static str,
    },
    /// A file, a folder or a process could not be used.
    #[error("cannot {what}: {source}")]
    System {
        /// What was tried, with its path.
        what: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// One of its programs ended with a failure.
    #[error("{program} failed with {status}: {stderr}")]
    Failed {
        program: PathBuf,
        status: std::process::ExitStatus,
        /// What it wrote to standard error, or the end of it.
        stderr: String,
    },
    /// The server ended before it was ready, or does not end.
    #[error("{what}; the end of its log:\n{log}")]
    Server {
        /// What was waited for.
        what: String,
        /// The last lines of its log.
        log: String,
    },
}

/// Adds what was tried to an error of the system.
pub(crate) trait Tried<T> {
    fn tried(self, what: impl FnOnce() -> String) -> Result<T, PeerError>;
}

impl<T, E: Into<std::io::Error>> Tried<T> for Result<T, E> {
    fn tried(self, what: impl FnOnce() -> String) -> Result<T, PeerError> {
        self.map_err(|source| PeerError::System { what: what(), source: source.into() })
    }
}
