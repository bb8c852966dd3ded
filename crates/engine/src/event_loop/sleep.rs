//! How a loop sleeps: on its sockets and on a timer descriptor that is set to an instant.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use evidence::Instant;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Registry, Token};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use crate::EngineError;
use crate::clock::Clock;

const TIMER: Token = Token(0);
pub(super) const WAKER: Token = Token(1);

/// The timer of one loop.
#[derive(Debug)]
pub(super) struct Sleeper {
    clock: Clock,
    timer: OwnedFd,
    armed: Instant,
    woke: Instant,
    lateness: Duration,
}

impl Sleeper {
    pub(super) fn new(clock: Clock, registry: &Registry) -> io::Result<Sleeper> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        registry.register(&mut SourceFd(&timer.as_raw_fd()), TIMER, Interest::READABLE)?;
        let woke = Instant::EPOCH;
        Ok(Sleeper { clock, timer, armed: Instant::NEVER, woke, lateness: Duration::ZERO })
    }

    /// Set the thread's timer slack, by default 50 µs, to the least possible.
    pub(super) fn prepare_thread(&self) {
        // Where the kernel refuses, the loop still works, and start lag shows the difference.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    }

    /// Sleep until `wake` or until a socket is ready.
    pub(super) fn sleep(
        &mut self,
        poll: &mut Poll,
        events: &mut Events,
        wake: Instant,
    ) -> Result<(), EngineError> {
        let now = self.clock.now();
        let timeout = if wake <= now { Some(Duration::ZERO) } else { None };
        if timeout.is_none() && wake != self.armed {
            self.arm(wake).map_err(EngineError::Poll)?;
        }
        match poll.poll(events, timeout) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => events.clear(),
            Err(error) => return Err(EngineError::Poll(error)),
        }
        self.woke = self.clock.now();
        if events.iter().any(|event| event.token() == TIMER) {
            self.lateness = self.woke.since(self.armed);
            self.armed = Instant::NEVER;
        }
        Ok(())
    }

    /// When the loop last woke up.
    pub(super) fn woke_at(&self) -> Instant {
        self.woke
    }

    /// How much later than asked the timer woke the loop; zero where it did not.
    pub(super) fn lateness(&self) -> Duration {
        self.lateness
    }

    /// The same once; zero until the timer fires again.
    pub(super) fn take_lateness(&mut self) -> Duration {
        std::mem::take(&mut self.lateness)
    }

    fn arm(&mut self, wake: Instant) -> io::Result<()> {
        let at = self.clock.monotonic_ns(wake);
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
}
