//! How connections are taken in: as they come, and few at a time under overload.

use super::Gate;
use std::io;
use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpStream};

/// Connections that the kernel keeps until they are accepted: a thousand clients may come at the same moment.
pub(super) const BACKLOG: u32 = 4096;
/// The same under overload: the clients of more than these would have given up before it was their turn.
/// Who comes meanwhile is not heard, which costs nothing, and tries again by itself.
const NARROW: u32 = 64;

/// A listening socket.
#[derive(Debug)]
pub(super) struct Door {
    socket: TcpListener,
    is_narrow: bool,
}

impl Door {
    pub(super) fn new(socket: TcpListener) -> Self {
        Self { socket, is_narrow: false }
    }

    /// The next connection, when there is time for it.
    pub(super) async fn next(&mut self, gate: Option<&Gate>) -> io::Result<(TcpStream, SocketAddr)> {
        let is_overloaded = gate.is_some_and(Gate::is_overloaded);
        if is_overloaded != self.is_narrow {
            let backlog = if is_overloaded { NARROW } else { BACKLOG };
            // Listening again says how many are kept from now on; those that are there stay.
            rustix::net::listen(&self.socket, backlog.cast_signed())?;
            self.is_narrow = is_overloaded;
        }
        if let Some(gate) = gate {
            gate.has_time_for_a_connection().await;
        }
        self.socket.accept().await
    }
}
