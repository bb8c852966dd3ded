//! A few connections that only read. In WAL mode they neither wait for the writer nor block it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;

use super::{DatabaseFile, OpenError, open_reader};

/// Connections that only read. `with` blocks the caller, so its closure must be short.
#[derive(Debug)]
pub struct Readers {
    connections: Vec<Mutex<Connection>>,
    next: AtomicUsize,
}

impl Readers {
    /// Opens `count` connections, at least one.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn open(file: &DatabaseFile, count: usize) -> Result<Self, OpenError> {
        let open = || open_reader(file).map(Mutex::new);
        let connections = std::iter::repeat_with(open).take(count.max(1)).collect::<Result<_, _>>()?;
        Ok(Self { connections, next: AtomicUsize::new(0) })
    }

    /// Runs `read` on a free connection, or waits for one: at most as long as another read takes.
    ///
    /// # Errors
    /// The error of `read`.
    pub fn with<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        let free = self.connections.iter().find_map(|connection| connection.try_lock().ok());
        let connection = free.unwrap_or_else(|| {
            let index = self.next.fetch_add(1, Ordering::Relaxed) % self.connections.len();
            self.connections[index].lock().unwrap_or_else(PoisonError::into_inner)
        });
        read(&connection)
    }
}
