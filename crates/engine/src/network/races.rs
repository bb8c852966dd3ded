//! When connections that are not open yet begin to connect to a second address.

use std::time::Duration;

use evidence::Instant;

use super::connection::Registration;
use super::{Network, token_of};
use crate::index::ConnectionIndex;

/// After so long an address of the other IP version is tried, too: the delay that RFC 8305 recommends.
pub(super) const RIVAL_AFTER: Duration = Duration::from_millis(250);

/// A connection that gets a rival if it is not open by then.
#[derive(Debug, Clone, Copy)]
pub(super) struct Race {
    pub(super) at: Instant,
    pub(super) index: ConnectionIndex,
    /// Of the connection: another one may have its index by then.
    pub(super) serial: u32,
}

impl Network {
    /// When a connection gets a rival next.
    pub(super) fn next_race(&self) -> Instant {
        self.races.front().map_or(Instant::NEVER, |race| race.at)
    }

    /// Open the rivals that are due.
    pub(super) fn begin_races(&mut self, now: Instant) {
        while let Some(race) = self.races.pop_front_if(|race| race.at <= now) {
            let connection = self.connections.get_mut(race.index.0);
            if let Some(connection) = connection.filter(|connection| connection.serial == race.serial) {
                connection.add_rival(Registration { registry: &self.registry, token: token_of(race.index) });
            }
        }
    }
}
