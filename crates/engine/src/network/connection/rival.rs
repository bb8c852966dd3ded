//! The second socket of a connection whose address does not answer at once: to an address of the other IP version, as in RFC 8305
//! ("Happy Eyeballs"). The one that is connected first is the connection's.

use std::io;

use mio::Registry;

use super::{Connection, ConnectionState, Registration};
use crate::network::transport::Transport;

/// A socket that connects beside the connection's own.
#[derive(Debug)]
pub(super) struct Rival {
    pub(super) transport: Transport,
    /// The number of its address.
    address: usize,
}

/// Which socket of a connection is connected.
pub(super) enum ConnectedSocket {
    None,
    First,
    /// The rival of the one to the address of this number, which is given up.
    RivalOf(usize),
}

impl Connection {
    /// Whether it may get a rival.
    pub(in crate::network) fn has_rival_address(&self) -> bool {
        self.route.rival(self.address).is_some()
    }

    /// Begin to connect to an address of the other IP version, too, while it is not connected.
    pub(in crate::network) fn add_rival(&mut self, registration: Registration<'_>) {
        if self.state != ConnectionState::Connecting || self.rival.is_some() || self.tries > 1 {
            return;
        }
        let Some(address) = self.route.rival(self.address) else { return };
        let opened = Transport::open(&self.route, address, self.local);
        // Where it cannot be opened, the first one continues alone.
        if let Ok(transport) = opened.and_then(|transport| registration.register(transport)) {
            self.rival = Some(Box::new(Rival { transport, address }));
        }
    }

    /// Which of its sockets is connected now; an error when none can be.
    pub(super) fn connected_socket(&mut self, registry: &Registry) -> io::Result<ConnectedSocket> {
        let first = self.transport.is_connected();
        let Some(rival) = &mut self.rival else {
            return first.map(|is| if is { ConnectedSocket::First } else { ConnectedSocket::None });
        };
        let second = rival.transport.is_connected();
        match (first, second) {
            (Ok(true), _) => {
                self.end_rival(registry);
                Ok(ConnectedSocket::First)
            }
            (Ok(false), Ok(false)) => Ok(ConnectedSocket::None),
            (Ok(false), Err(_)) => {
                self.end_rival(registry);
                Ok(ConnectedSocket::None)
            }
            (Ok(false), Ok(true)) => {
                let number = self.address;
                self.replace_by_rival(registry);
                Ok(ConnectedSocket::RivalOf(number))
            }
            (Err(_), second) => {
                self.replace_by_rival(registry);
                second.map(|is| if is { ConnectedSocket::First } else { ConnectedSocket::None })
            }
        }
    }

    fn end_rival(&mut self, registry: &Registry) {
        if let Some(mut rival) = self.rival.take() {
            rival.transport.deregister(registry);
        }
    }

    fn replace_by_rival(&mut self, registry: &Registry) {
        if let Some(rival) = self.rival.take() {
            let mut first = std::mem::replace(&mut self.transport, rival.transport);
            self.address = rival.address;
            first.deregister(registry);
        }
    }
}
