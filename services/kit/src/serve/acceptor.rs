//! Accepting connections: as they come, and only a few at a time during an overload.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};

use super::Gate;

/// Connections that the kernel keeps until they are accepted: a thousand clients may connect at the same moment.
pub(super) const BACKLOG: u32 = 4096;
/// The same during an overload: the clients of more connections would give up before theirs is accepted. A connection
/// attempt beyond it is dropped by the kernel, which costs nothing, and the client's kernel tries again by itself.
const OVERLOAD_BACKLOG: u32 = 64;

/// A listening socket.
#[derive(Debug)]
pub(super) struct Acceptor {
    socket: TcpListener,
    is_backlog_reduced: bool,
}

impl Acceptor {
    pub(super) fn new(socket: TcpListener) -> Self {
        Self { socket, is_backlog_reduced: false }
    }

    /// The next connection, accepted when the gate permits it.
    pub(super) async fn accept(&mut self, gate: Option<&Gate>) -> io::Result<(TcpStream, SocketAddr)> {
        let is_overloaded = gate.is_some_and(Gate::is_overloaded);
        if is_overloaded != self.is_backlog_reduced {
            let backlog = if is_overloaded { OVERLOAD_BACKLOG } else { BACKLOG };
            // A second `listen` sets the backlog from now on; connections that are in it stay.
            rustix::net::listen(&self.socket, backlog.cast_signed())?;
            self.is_backlog_reduced = is_overloaded;
        }
        if let Some(gate) = gate {
            gate.connection_permit().await;
        }
        self.socket.accept().await
    }
}
