//! Why a peer cannot be had.

use std::path::PathBuf;

/// Why a peer could not be started, asked or ended.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// Its programs are not on this machine.
    #[error("{program} is missing: looked in {looked}; install the Debian package `{package}`")]
    Missing {
        /// What was looked for.
        program: &'static str,
        /// Every place that was looked at.
        looked: String,
        /// What brings it.
        package: &'static str,
    },
    /// It refuses to run as root, and there is nobody else to run it as.
    #[error("{program} does not run as root, and /etc/passwd has no user `{account}` to run it as")]
    NoAccount {
        /// What would be run.
        program: &'static str,
        /// Who was looked for.
        account: &'static str,
    },
    /// A file, a folder or a process could not be used.
    #[error("cannot {what}: {source}")]
    System {
        /// What was tried, with its path.
        what: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// One of its programs ended with a failure.
    #[error("{program} failed with {status}: {said}")]
    Failed {
        /// The program.
        program: PathBuf,
        /// How it ended.
        status: std::process::ExitStatus,
        /// What it wrote to standard error, or the end of it.
        said: String,
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

/// Says what was tried when the system refuses it.
pub(crate) trait Tried<T> {
    fn tried(self, what: impl FnOnce() -> String) -> Result<T, PeerError>;
}

impl<T, E: Into<std::io::Error>> Tried<T> for Result<T, E> {
    fn tried(self, what: impl FnOnce() -> String) -> Result<T, PeerError> {
        self.map_err(|source| PeerError::System { what: what(), source: source.into() })
    }
}
