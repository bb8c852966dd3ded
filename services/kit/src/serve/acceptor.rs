//! Accepting connections: as they come, and as many as there may be while the process is behind.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};

use super::Gate;
use crate::backlog::OpenConnection;

/// Connections that the kernel keeps until they are accepted: a thousand clients may connect at the same moment.
pub(super) const BACKLOG: u32 = 4096;
/// The same while the process is behind: the clients of more connections would give up before theirs is accepted. A
/// connection attempt beyond it is dropped by the kernel, which costs nothing, and the client's kernel tries again by
/// itself.
const REDUCED_BACKLOG: u32 = 64;

/// A connection.
#[derive(Debug)]
pub(super) struct Accepted {
    pub(super) stream: TcpStream,
    pub(super) peer: SocketAddr,
    /// Its part of the connections that are limited while the process is behind.
    pub(super) open: Option<OpenConnection>,
}

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
    pub(super) async fn accept(&mut self, gate: Option<&Gate>) -> io::Result<Accepted> {
        let is_behind = gate.is_some_and(Gate::is_behind);
        if is_behind != self.is_backlog_reduced {
            let backlog = if is_behind { REDUCED_BACKLOG } else { BACKLOG };
            // A second `listen` sets the backlog from now on; connections that are in it stay.
            rustix::net::listen(&self.socket, backlog.cast_signed())?;
            self.is_backlog_reduced = is_behind;
        }
        let open = match gate {
            Some(gate) => Some(gate.connection().await),
            None => None,
        };
        let (stream, peer) = self.socket.accept().await?;
        stream.set_nodelay(true)?;
        Ok(Accepted { stream, peer, open })
    }
}
