//! Requests for whose connection no local port is free: they wait, and connections are tried again every so often.

use std::time::Duration;

use evidence::Instant;

use super::{Exhausted, Network};
use crate::index::{OperationIndex, PoolIndex};
use crate::operation::{OperationPlace, Operations};

/// Between two attempts: each one that fails has searched all ports.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

impl Network {
    /// No local port is free for a connection of this pool: what was to be sent on it waits.
    pub(super) fn note_port_shortage(&mut self, pool: PoolIndex, now: Instant) {
        let entry = self.pools.get_mut(pool);
        entry.lacks_port = true;
        entry.note_limit(now, &self.connections);
        self.lack_ports.push(pool);
        self.ports_tried_at = now + RETRY_INTERVAL;
    }

    /// Whether requests wait for a local port.
    pub(crate) fn lacks_ports(&self) -> bool {
        !self.lack_ports.is_empty()
    }

    /// Whether this request waits for a local port.
    pub(crate) fn waits_for_port(&self, operation: OperationIndex, operations: &Operations) -> bool {
        match operations.get(operation).place {
            OperationPlace::Waiting(place) => self.pools.get(place.pool).lacks_port,
            _ => false,
        }
    }

    /// Try again to open the connections that had no local port, when that is due.
    pub(super) fn retry_ports(&mut self, now: Instant, operations: &mut Operations) -> Result<(), Exhausted> {
        if now < self.ports_tried_at {
            return Ok(());
        }
        self.ports_tried_at = Instant::NEVER;
        for pool in std::mem::take(&mut self.lack_ports) {
            self.pools.get_mut(pool).lacks_port = false;
            self.grow(pool, operations)?;
        }
        Ok(())
    }
}
