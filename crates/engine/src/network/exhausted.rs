//! Errors of the operating system when a connection cannot be opened.

use std::io;
use std::net::IpAddr;

use evidence::Outcome;

/// The generator has run out of a resource that it needs to open connections.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Exhausted {
    /// No file descriptor is left.
    #[error("no file descriptor is left for another connection; raise `ulimit -n` or lower the load")]
    Descriptors,
    /// Connections are to come from an address that this machine does not have.
    #[error("{0} is not an address of this machine: no connection can be made from it")]
    LocalAddress(IpAddr),
    /// No thread can be started to look up an address.
    #[error("cannot start a thread to look up an address: {0}")]
    Thread(String),
    /// The operating system refuses a socket for another reason.
    #[error("cannot open a socket: {0}")]
    Socket(String),
}

/// An error when the generator lacks a resource; `Ok` when it is the target that fails.
pub(super) fn check_exhausted(error: &io::Error) -> Result<(), Exhausted> {
    const EMFILE: i32 = 24;
    const ENFILE: i32 = 23;
    if let Some(NotOfThisMachine(address)) = error.get_ref().and_then(|error| error.downcast_ref()) {
        return Err(Exhausted::LocalAddress(*address));
    }
    match (error.raw_os_error(), error.kind()) {
        (Some(EMFILE | ENFILE), _) => Err(Exhausted::Descriptors),
        (_, io::ErrorKind::PermissionDenied | io::ErrorKind::OutOfMemory) => {
            Err(Exhausted::Socket(error.to_string()))
        }
        _ => Ok(()),
    }
}

/// Whether a connection was not begun because each local port is in use, by another connection to the same address or by one that
/// was closed less than a minute ago.
pub(super) fn is_port_shortage(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrNotAvailable
}

/// An address that connections are to come from, and that this machine does not have.
#[derive(Debug, thiserror::Error)]
#[error("{0} is not an address of this machine")]
pub(super) struct NotOfThisMachine(pub(super) IpAddr);

/// The outcome of requests that fail with an error of the operating system.
pub(super) fn outcome_of(error: &io::Error) -> Outcome {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Outcome::Refused,
        io::ErrorKind::TimedOut => Outcome::Timeout,
        // The path of a Unix socket does not exist.
        io::ErrorKind::NotFound => Outcome::Refused,
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => Outcome::Refused,
        _ => Outcome::Reset,
    }
}
