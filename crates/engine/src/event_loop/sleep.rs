//! How a loop sleeps: on its sockets and on a timer descriptor that is set to an instant.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use evidence::{Instant, STALL};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Registry, Token};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use super::run_delay::RunDelay;
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
    run_delay: RunDelay,
}

impl Sleeper {
    pub(super) fn new(clock: Clock, registry: &Registry) -> io::Result<Sleeper> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        registry.register(&mut SourceFd(&timer.as_raw_fd()), TIMER, Interest::READABLE)?;
        let woke = Instant::EPOCH;
        let run_delay = RunDelay::read_from(None, woke);
        Ok(Sleeper { clock, timer, armed: Instant::NEVER, woke, lateness: Duration::ZERO, run_delay })
    }

    /// Set the thread's timer slack, by default 50 µs, to the least possible.
    pub(super) fn prepare_thread(&self) {
        // Where the kernel refuses, the loop still works, and start lag shows the difference.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    }

    /// The load begins: from now on the loop's thread should not have to wait for a processor.
    pub(super) fn begin(&mut self) {
        self.run_delay = RunDelay::of_this_thread(self.clock.now());
    }

    /// Sleep from `now` until `wake` or until a socket is ready.
    pub(super) fn sleep(
        &mut self,
        poll: &mut Poll,
        events: &mut Events,
        now: Instant,
        wake: Instant,
    ) -> Result<(), EngineError> {
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
        // Only a long sleep can hide a stall, and there are few of these in a second.
        if self.woke.since(now) > STALL {
            self.lateness = self.lateness.max(self.run_delay.within(now, self.woke));
        }
        Ok(())
    }

    /// How long the loop waited for a processor since this was asked last, or it slept for long: its turn that ends now waited
    /// at most so long.
    pub(super) fn waited_at_most(&mut self, ended: Instant) -> Duration {
        self.run_delay.until(ended)
    }

    /// When the loop last woke up.
    pub(super) fn woke_at(&self) -> Instant {
        self.woke
    }

    /// How much later than asked the timer woke the loop, or how long it waited for a processor before it handled what came
    /// while it slept, whichever is longer.
    pub(super) fn lateness(&self) -> Duration {
        self.lateness
    }

    /// The same once; zero until the loop is late again.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_loop::run_delay::tests::{file, set};

    const OTHER: Token = Token(7);

    /// A timer in place of a socket: it is ready after this time.
    fn ready_after(time: Duration, registry: &Registry) -> OwnedFd {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags).unwrap();
        let it_value = Timespec { tv_sec: 0, tv_nsec: time.as_nanos() as i64 };
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = Itimerspec { it_interval, it_value };
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &value).unwrap();
        registry.register(&mut SourceFd(&timer.as_raw_fd()), OTHER, Interest::READABLE).unwrap();
        timer
    }

    #[test]
    fn a_wait_for_a_processor_after_an_event_is_lateness_though_no_timer_was_due() {
        let clock = Clock::starting_in(Duration::ZERO);
        let mut poll = Poll::new().unwrap();
        let mut sleeper = Sleeper::new(clock, poll.registry()).unwrap();
        let counted = file(0);
        sleeper.run_delay = RunDelay::read_from(Some(counted.try_clone().unwrap()), clock.now());
        let _event = ready_after(Duration::from_millis(3), poll.registry());
        set(&counted, 3_600_000);
        let mut events = Events::with_capacity(8);
        let now = clock.now();
        sleeper.sleep(&mut poll, &mut events, now, now + Duration::from_secs(60)).unwrap();
        assert!(events.iter().all(|event| event.token() == OTHER));
        assert!(sleeper.lateness() > STALL, "{:?}", sleeper.lateness());
    }
}
