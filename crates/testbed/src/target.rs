//! A running target: where it listens, what it saw, and its end.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::log::Served;
use crate::refusal::Refusal;
use crate::shared::Shared;

/// A target that runs until it is stopped or dropped.
pub struct Target {
    addr: SocketAddr,
    shared: Arc<Shared>,
    wake: Box<dyn Fn() + Send + Sync>,
    thread: Option<JoinHandle<()>>,
    _port: Option<Refusal>,
}

impl Target {
    pub(crate) fn new(
        addr: SocketAddr,
        shared: Arc<Shared>,
        wake: Box<dyn Fn() + Send + Sync>,
        thread: JoinHandle<()>,
        port: Option<Refusal>,
    ) -> Self {
        Target { addr, shared, wake, thread: Some(thread), _port: port }
    }

    /// The address it listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Every request read so far, in the order in which they were read, up to [`crate::LOG_LIMIT`].
    ///
    /// It is a copy, made while the target waits: ask when the load is over, or use [`Target::requests`].
    pub fn log(&self) -> Vec<Served> {
        self.shared.log.served()
    }

    /// Requests read so far, whether the log had space for them or not.
    pub fn requests(&self) -> u64 {
        self.shared.log.read()
    }

    /// Connections accepted so far.
    pub fn connections(&self) -> u64 {
        self.shared.accepted()
    }

    /// Waits until the log satisfies `enough`; false when `limit` passed first.
    pub fn wait_for(&self, limit: Duration, enough: impl Fn(&[Served]) -> bool) -> bool {
        self.shared.log.wait(limit, enough)
    }

    /// Stops as a killed process would: closes the port and every connection. The log stays readable, and no
    /// other process gets a port that the kernel chose until the target is dropped.
    pub fn stop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.shared.stop.set();
            (self.wake)();
            // A target that panicked has shown its message already, and the log is still worth reading.
            let _ = thread.join();
            self.shared.close_connections();
        }
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.stop();
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("addr", &self.addr).finish_non_exhaustive()
    }
}
