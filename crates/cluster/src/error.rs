//! What can go wrong between a coordinator and a worker.

use std::io;

/// What to do where the two sides do not have the same keys.
const SAME_KEYS: &str = "give the same file to the run (`plimsoll run --worker-keys FILE`) and to each worker (`plimsoll worker --keys FILE`)";

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
    /// A server of HTTP answered.
    #[error(
        "it is an HTTP server and not a worker: start a worker on a port of its own (`plimsoll worker --listen ADDRESS:PORT`), or correct the address"
    )]
    HttpServer,
    /// A client of HTTP called a worker.
    #[error("it is an HTTP client, and a worker serves only `plimsoll run PLAN --worker HOST:PORT`")]
    HttpClient,
    /// The coordinator went before the load began.
    #[error("the run was not started")]
    NotStarted,
    /// Nothing listens at the address of a worker.
    #[error(
        "nothing listens there: start a worker there first (`plimsoll worker --listen ADDRESS:PORT`), or correct the address"
    )]
    NothingListens,
    /// This side cannot listen.
    #[error("a worker cannot listen at {address}: {}", listening(.source))]
    Listen { address: String, source: io::Error },
    /// The peer has not proved that it belongs to the run.
    #[error(
        "its token is not that of this side: give the run and each worker the same one (PLIMSOLL_WORKER_TOKEN, or \
         `--worker-token-file FILE` of `plimsoll run` and `--token-file FILE` of `plimsoll worker`)"
    )]
    OtherToken,
    /// The peer's certificate is not signed by the authority of this side's keys, or the other way round.
    #[error("its keys are not those of this side: {SAME_KEYS}")]
    OtherKeys,
    #[error("it has no keys, and this side has: {SAME_KEYS}")]
    KeysHereOnly,
    #[error("it has keys, and this side has a token: {SAME_KEYS}")]
    KeysThereOnly,
    #[error("this is not a key file of a run: make one with `plimsoll worker --make-keys run.pem`")]
    NotKeys,
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

/// Why nothing can listen at an address, and what to do.
fn listening(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "the port is in use: end what listens there, or choose another port with `--listen`".to_owned()
        }
        io::ErrorKind::AddrNotAvailable => {
            "it is not an address of this machine: choose one that is, or 0.0.0.0 for all, with `--listen`"
                .to_owned()
        }
        _ => error.to_string(),
    }
}
