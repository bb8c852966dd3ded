//! Liveness and readiness. Ready means: warmed up, not draining, and the store answers now.

use std::sync::atomic::{AtomicU8, Ordering};

const STARTING: u8 = 0;
const READY: u8 = 1;
const DRAINING: u8 = 2;

/// Whether the store that a service needs responds; `Err` is the reason why not.
type Probe = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

/// A service's health.
pub struct Health {
    state: AtomicU8,
    probe: Probe,
}

impl Health {
    /// A service that is starting. `probe` must return within milliseconds.
    #[must_use]
    pub fn new(probe: impl Fn() -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self { state: AtomicU8::new(STARTING), probe: Box::new(probe) }
    }

    /// Called when the service is warmed up.
    pub fn set_ready(&self) {
        self.state.store(READY, Ordering::Release);
    }

    /// Called when the drain begins.
    pub fn set_draining(&self) {
        self.state.store(DRAINING, Ordering::Release);
    }

    /// Whether requests should be sent here.
    ///
    /// # Errors
    /// The reason why not.
    pub fn ready(&self) -> Result<(), String> {
        match self.state.load(Ordering::Acquire) {
            STARTING => Err("starting".to_owned()),
            READY => (self.probe)(),
            _ => Err("draining".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_ready_only_between_start_and_drain_and_while_the_probe_succeeds() {
        let health = Health::new(|| Ok(()));
        assert_eq!(health.ready(), Err("starting".to_owned()));
        health.set_ready();
        assert_eq!(health.ready(), Ok(()));
        health.set_draining();
        assert_eq!(health.ready(), Err("draining".to_owned()));

        let broken = Health::new(|| Err("store: closed".to_owned()));
        broken.set_ready();
        assert_eq!(broken.ready(), Err("store: closed".to_owned()));
    }
}
