//! What the threads of one target share: its log, its clock's start, its connections, its end.

use std::collections::HashMap;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use crate::clock::now_ns;
use crate::freeze::Freeze;
use crate::log::Log;

/// Longest wait of a stopping target for its connections' threads.
const FAREWELL_LIMIT: Duration = Duration::from_secs(5);

/// A target that was asked to stop.
#[derive(Debug)]
pub(crate) struct Stopped;

/// A flag that a thread can wait beside until an instant.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    set: AtomicBool,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Stop {
    pub(crate) fn set(&self) {
        let _guard = lock(&self.lock);
        self.set.store(true, Ordering::Release);
        self.changed.notify_all();
    }

    pub(crate) fn is_set(&self) -> bool {
        self.set.load(Ordering::Acquire)
    }

    /// Waits until the instant `until_ns` has passed, never less.
    pub(crate) fn wait_until(&self, until_ns: u64) -> Result<(), Stopped> {
        if self.is_set() {
            return Err(Stopped);
        }
        if now_ns() >= until_ns {
            return Ok(());
        }
        let mut guard = lock(&self.lock);
        loop {
            if self.is_set() {
                return Err(Stopped);
            }
            let left_ns = until_ns.saturating_sub(now_ns());
            if left_ns == 0 {
                return Ok(());
            }
            let waited = self.changed.wait_timeout(guard, Duration::from_nanos(left_ns));
            guard = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The state of one target.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) log: Log,
    pub(crate) stop: Stop,
    freeze: Option<Freeze>,
    first_request_ns: OnceLock<u64>,
    accepted: AtomicU64,
    open: Mutex<HashMap<u64, Weak<TcpStream>>>,
    closed: Condvar,
}

impl Shared {
    pub(crate) fn new(freeze: Option<Freeze>) -> Arc<Self> {
        Arc::new(Shared { freeze, ..Shared::default() })
    }

    /// The instant at or after `at_ns` at which the target is not frozen. The first call of all, made for
    /// the first request, starts the clock of the freezes.
    pub(crate) fn unfreeze_at_ns(&self, at_ns: u64) -> u64 {
        let Some(freeze) = self.freeze else { return at_ns };
        let start_ns = *self.first_request_ns.get_or_init(|| at_ns);
        start_ns.saturating_add(freeze.unfreeze_at_ns(at_ns.saturating_sub(start_ns)))
    }

    /// Counts a connection and gives it its number.
    pub(crate) fn accept(&self) -> u64 {
        self.accepted.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Remembers a connection so that stopping can end it.
    pub(crate) fn opened(&self, connection: u64, stream: &Arc<TcpStream>) {
        lock(&self.open).insert(connection, Arc::downgrade(stream));
    }

    pub(crate) fn closed(&self, connection: u64) {
        lock(&self.open).remove(&connection);
        self.closed.notify_all();
    }

    /// Ends every connection and waits for their threads, so that the log is final.
    pub(crate) fn close_connections(&self) {
        let mut open = lock(&self.open);
        for stream in open.values().filter_map(Weak::upgrade) {
            // A connection that is closed already needs no closing.
            let _ = stream.shutdown(Shutdown::Both);
        }
        while !open.is_empty() {
            let waited = self.closed.wait_timeout(open, FAREWELL_LIMIT);
            let (guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            if timeout.timed_out() {
                return;
            }
            open = guard;
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
