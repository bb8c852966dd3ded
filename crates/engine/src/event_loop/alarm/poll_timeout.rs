//! The time limit of the call that waits for sockets: what every system has.

use std::time::Duration;

use evidence::Instant;

#[derive(Debug, Default)]
pub(in super::super) struct PollTimeout {
    wake: Option<Instant>,
}

impl PollTimeout {
    pub(super) fn set(&mut self, now: Instant, wake: Instant) -> Option<Duration> {
        if wake == Instant::NEVER {
            self.wake = None;
            return None;
        }
        self.wake = Some(wake);
        let left = wake.since(now);
        // epoll rounds up to milliseconds, which would be late.
        let is_in_milliseconds = cfg!(target_os = "linux");
        let whole_ms = || Duration::from_millis(u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
        Some(if is_in_milliseconds { whole_ms() } else { left })
    }

    pub(super) fn went_off(&mut self, now: Instant) -> Option<Instant> {
        self.wake.take_if(|wake| *wake <= now)
    }
}
