//! What can go wrong between a coordinator and a worker.

use std::io;

/// Why a coordinator and a worker cannot work together, or no longer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// Input or output of the connection.
    #[error("the connection: {0}")]
    Io(#[from] io::Error),
    /// The peer ended the connection.
    #[error("the connection was closed{}", if *.in_mid_message { " in the middle of a message" } else { "" })]
    Closed {
        /// Whether a message had begun.
        in_mid_message: bool,
    },
    /// Nothing was received for so long.
    #[error("nothing was received for {0} s")]
    Silent(u64),
    /// What was received is not a message of this protocol.
    #[error("what it sent is not understood: {0}")]
    Malformed(String),
    /// The peer has not proved that it belongs to the run.
    #[error("it does not know the token of this run: give coordinator and workers the same one")]
    Stranger,
    /// Another version of the program.
    #[error("it is plimsoll {theirs}, and this is {ours}: use one version for all")]
    Version {
        /// This side's.
        ours: String,
        /// The peer's.
        theirs: String,
    },
    /// The peer's reason why it does not take part.
    #[error("{0}")]
    Refused(String),
    #[error("TLS: {0}")]
    Tls(String),
    /// The worker at this address is not usable.
    #[error("worker {worker} ({address}): {source}; the run was not started")]
    Worker {
        /// Its number, from 1.
        worker: usize,
        address: String,
        source: Box<ClusterError>,
    },
}

impl ClusterError {
    pub(crate) fn malformed(what: impl Into<String>) -> ClusterError {
        ClusterError::Malformed(what.into())
    }

    pub(crate) fn of_worker(self, index: usize, address: &str) -> ClusterError {
        ClusterError::Worker { worker: index + 1, address: address.to_owned(), source: Box::new(self) }
    }
}
