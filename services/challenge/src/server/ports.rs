//! The ports of a role, and their addresses.

use std::fmt;
use std::net::SocketAddr;

use kit::serve::{BindError, Listener, listen};

use crate::role::Role;
use crate::settings::Ports;

/// Where a running process listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// Players' HTTP.
    pub http: Option<SocketAddr>,
    /// Players' gRPC.
    pub grpc: Option<SocketAddr>,
    /// Publishers' gRPC.
    pub events: Option<SocketAddr>,
    /// Operators' HTTP.
    pub admin: SocketAddr,
}

impl fmt::Display for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, address) in [("http", self.http), ("grpc", self.grpc), ("events", self.events)] {
            if let Some(address) = address {
                write!(f, "{name}={address} ")?;
            }
        }
        write!(f, "admin={}", self.admin)
    }
}

/// The players' two ports.
pub(super) struct PlayerListeners {
    pub(super) http: Listener,
    pub(super) grpc: Listener,
}

/// The ports of a role, bound.
pub(super) struct Listeners {
    pub(super) players: Option<PlayerListeners>,
    pub(super) events: Option<Listener>,
    pub(super) admin: Listener,
}

impl Listeners {
    pub(super) async fn bind(ports: &Ports, role: Role) -> Result<Self, BindError> {
        let mut listeners =
            Self { players: None, events: None, admin: listen("admin (ADMIN_PORT)", ports.admin).await? };
        if role.serves_players() {
            let http = listen("HTTP (HTTP_PORT)", ports.http).await?;
            let grpc = listen("gRPC (GRPC_PORT)", ports.grpc).await?;
            listeners.players = Some(PlayerListeners { http, grpc });
        }
        if role.serves_publishers() {
            listeners.events = Some(listen("events (EVENTS_PORT)", ports.events).await?);
        }
        Ok(listeners)
    }

    pub(super) fn addresses(&self) -> Addresses {
        let players = self.players.as_ref();
        Addresses {
            http: players.map(|players| players.http.address),
            grpc: players.map(|players| players.grpc.address),
            events: self.events.as_ref().map(|events| events.address),
            admin: self.admin.address,
        }
    }
}
