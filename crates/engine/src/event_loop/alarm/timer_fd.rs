//! A timer descriptor of Linux, which is polled with the sockets.

use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsRawFd, OwnedFd};

use evidence::Instant;
use mio::unix::SourceFd;
use mio::{Events, Interest, Registry, Token};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use crate::clock::Clock;

const TIMER: Token = Token(0);

#[derive(Debug)]
pub(in super::super) struct TimerFd {
    timer: OwnedFd,
    armed: Instant,
}

impl TimerFd {
    pub(super) fn new(registry: &Registry) -> io::Result<TimerFd> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        registry.register(&mut SourceFd(&timer.as_raw_fd()), TIMER, Interest::READABLE)?;
        Ok(TimerFd { timer, armed: Instant::NEVER })
    }

    pub(super) fn set(&mut self, clock: &Clock, wake: Instant) -> io::Result<()> {
        if wake == self.armed {
            return Ok(());
        }
        let at = clock.monotonic_ns(wake);
        let value = Timespec {
            tv_sec: i64::try_from(at / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(at % 1_000_000_000).expect("a remainder below 10^9 fits"),
        };
        let interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        let timer = Itimerspec { it_interval: interval, it_value: value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &timer)?;
        self.armed = wake;
        Ok(())
    }

    pub(super) fn went_off(&mut self, events: &Events) -> Option<Instant> {
        let is_due = events.iter().any(|event| event.token() == TIMER);
        is_due.then(|| std::mem::replace(&mut self.armed, Instant::NEVER))
    }
}

/// Set the thread's timer slack, by default 50 µs, to the least possible.
pub(super) fn prepare_thread() {
    // Where the kernel refuses, the loop still works, and start lag shows the difference.
    let _ = rustix::thread::set_current_timer_slack(Some(NonZeroU64::MIN));
}
