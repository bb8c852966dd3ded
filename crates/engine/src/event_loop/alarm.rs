//! What wakes a loop at an instant when no socket is ready.

mod poll_timeout;
#[cfg(target_os = "linux")]
mod timer_fd;

use std::io;
use std::time::Duration;

use evidence::Instant;
use mio::{Events, Registry};

use crate::clock::Clock;
use poll_timeout::PollTimeout;

/// How a loop is woken when something is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wakeup {
    /// By a timer descriptor, which is exact to the nanosecond that the kernel keeps. Linux only.
    #[cfg(target_os = "linux")]
    TimerFd,
    /// By the time limit of the call that waits for sockets. `epoll` counts it in milliseconds, so that the rest of the wait is spent
    /// polling; `kqueue` counts it in nanoseconds.
    PollTimeout,
}

impl Default for Wakeup {
    #[cfg(target_os = "linux")]
    fn default() -> Wakeup {
        Wakeup::TimerFd
    }

    #[cfg(not(target_os = "linux"))]
    fn default() -> Wakeup {
        Wakeup::PollTimeout
    }
}

#[derive(Debug)]
pub(super) enum Alarm {
    #[cfg(target_os = "linux")]
    TimerFd(timer_fd::TimerFd),
    PollTimeout(PollTimeout),
}

#[cfg_attr(not(target_os = "linux"), expect(unused_variables, reason = "only a timer descriptor needs them"))]
impl Alarm {
    pub(super) fn new(wakeup: Wakeup, registry: &Registry) -> io::Result<Alarm> {
        match wakeup {
            #[cfg(target_os = "linux")]
            Wakeup::TimerFd => timer_fd::TimerFd::new(registry).map(Alarm::TimerFd),
            Wakeup::PollTimeout => Ok(Alarm::PollTimeout(PollTimeout::default())),
        }
    }

    /// Make the thread wake up as exactly as the system can.
    pub(super) fn prepare_thread(&self) {
        match self {
            #[cfg(target_os = "linux")]
            Alarm::TimerFd(_) => timer_fd::prepare_thread(),
            Alarm::PollTimeout(_) => {}
        }
    }

    /// Set the alarm to `wake`, which is later than `now`; the time limit of the call that waits for it, if that needs one.
    pub(super) fn set(&mut self, clock: &Clock, now: Instant, wake: Instant) -> io::Result<Option<Duration>> {
        match self {
            #[cfg(target_os = "linux")]
            Alarm::TimerFd(timer) => timer.set(clock, wake).map(|()| None),
            Alarm::PollTimeout(timeout) => Ok(timeout.set(now, wake)),
        }
    }

    /// For which instant the alarm went off, if it has; then it is no longer set.
    pub(super) fn went_off(&mut self, events: &Events, now: Instant) -> Option<Instant> {
        match self {
            #[cfg(target_os = "linux")]
            Alarm::TimerFd(timer) => timer.went_off(events),
            Alarm::PollTimeout(timeout) => timeout.went_off(now),
        }
    }
}
