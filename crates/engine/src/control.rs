//! How a run is stopped from outside: first gently, then at once.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use mio::Waker;

const RUNNING: u8 = 0;
const DRAINING: u8 = 1;
const ABANDONED: u8 = 2;

/// Shared by the loops of a run and the code that may stop it.
#[derive(Debug, Clone, Default)]
pub struct Control {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    state: AtomicU8,
    wakers: Mutex<Vec<Arc<Waker>>>,
}

/// What the loops are to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Offer the load.
    Run,
    /// Start no further arrivals; let iterations under way finish within their graceful stop.
    Drain,
    /// Cancel what is under way and end.
    Abandon,
}

impl Control {
    /// A control that lets the run continue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stop arrivals and drain.
    pub fn drain(&self) {
        self.set(DRAINING);
    }

    /// End at once.
    pub fn abandon(&self) {
        self.set(ABANDONED);
    }

    /// The command in force.
    pub fn command(&self) -> Command {
        match self.inner.state.load(Ordering::Relaxed) {
            RUNNING => Command::Run,
            DRAINING => Command::Drain,
            _ => Command::Abandon,
        }
    }

    pub(crate) fn register(&self, waker: Arc<Waker>) {
        self.inner.wakers.lock().unwrap_or_else(PoisonError::into_inner).push(waker);
    }

    fn set(&self, state: u8) {
        self.inner.state.fetch_max(state, Ordering::Relaxed);
        for waker in self.inner.wakers.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            // A loop that has ended needs no waking.
            let _ = waker.wake();
        }
    }
}
