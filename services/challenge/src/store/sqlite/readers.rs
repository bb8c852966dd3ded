//! A few connections that only read. In WAL mode they neither wait for the writer nor hold it up.

use super::schema::{OpenError, Place, open_reader};
use crate::store::StoreError;
use rusqlite::Connection;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

pub(super) struct Readers {
    connections: Vec<Mutex<Connection>>,
    next: AtomicUsize,
}

impl Readers {
    pub(super) fn open(place: &Place, count: usize) -> Result<Self, OpenError> {
        let open = || open_reader(place).map(Mutex::new);
        let connections = std::iter::repeat_with(open).take(count.max(1)).collect::<Result<_, _>>()?;
        Ok(Self { connections, next: AtomicUsize::new(0) })
    }

    /// Runs `read` on a free connection, or waits for one: at most as long as another read takes.
    pub(super) fn with<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let free = self.connections.iter().find_map(|connection| connection.try_lock().ok());
        let connection = free.unwrap_or_else(|| {
            let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.connections.len();
            self.connections[turn].lock().unwrap_or_else(PoisonError::into_inner)
        });
        Ok(read(&connection)?)
    }
}
