//! Which callers a process serves.

/// What a process serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Players and publishers.
    All,
    /// Players: HTTP and gRPC.
    Api,
    /// Publishers.
    Events,
}

impl Role {
    pub(crate) fn serves_players(self) -> bool {
        self != Self::Events
    }

    pub(crate) fn serves_publishers(self) -> bool {
        self != Self::Api
    }
}
