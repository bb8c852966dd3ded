//! How a loop sleeps: on its sockets and on an alarm that is set to an instant.

use std::io;
use std::time::Duration;

use evidence::{Instant, STALL};
use mio::{Events, Poll, Registry, Token};

use super::alarm::{Alarm, Wakeup};
use super::run_delay::RunDelay;
use crate::EngineError;
use crate::clock::Clock;

pub(super) const WAKER: Token = Token(1);

#[derive(Debug)]
pub(super) struct Sleeper {
    clock: Clock,
    alarm: Alarm,
    woke: Instant,
    lateness: Duration,
    run_delay: RunDelay,
}

impl Sleeper {
    pub(super) fn new(clock: Clock, wakeup: Wakeup, registry: &Registry) -> io::Result<Sleeper> {
        let (alarm, woke) = (Alarm::new(wakeup, registry)?, Instant::EPOCH);
        let run_delay = RunDelay::read_from(None, woke);
        Ok(Sleeper { clock, alarm, woke, lateness: Duration::ZERO, run_delay })
    }

    pub(super) fn prepare_thread(&self) {
        self.alarm.prepare_thread();
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
        let timeout = match wake <= now {
            true => Some(Duration::ZERO),
            false => self.alarm.set(&self.clock, now, wake).map_err(EngineError::Poll)?,
        };
        match poll.poll(events, timeout) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => events.clear(),
            Err(error) => return Err(EngineError::Poll(error)),
        }
        self.woke = self.clock.now();
        if let Some(due) = self.alarm.went_off(events, self.woke) {
            self.lateness = self.woke.since(due);
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

    /// How much later than asked the alarm woke the loop, or how long it waited for a processor before it handled what came
    /// while it slept, whichever is longer.
    pub(super) fn lateness(&self) -> Duration {
        self.lateness
    }

    /// The same once; zero until the loop is late again.
    pub(super) fn take_lateness(&mut self) -> Duration {
        std::mem::take(&mut self.lateness)
    }
}

#[cfg(test)]
mod tests {
    use mio::Interest;
    use mio::net::UdpSocket;

    use super::*;
    use crate::event_loop::run_delay::tests::{file, set};

    const OTHER: Token = Token(7);

    /// A socket that becomes ready after this time.
    fn ready_after(time: Duration, registry: &Registry) -> UdpSocket {
        let mut socket = UdpSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        registry.register(&mut socket, OTHER, Interest::READABLE).unwrap();
        let to = socket.local_addr().unwrap();
        std::thread::spawn(move || {
            let (_sender, never) = std::sync::mpsc::channel::<()>();
            let _ = never.recv_timeout(time);
            std::net::UdpSocket::bind("127.0.0.1:0").unwrap().send_to(b"x", to).unwrap();
        });
        socket
    }

    const WAKEUPS: [Wakeup; 2] = [Wakeup::TimerFd, Wakeup::PollTimeout];

    #[test]
    fn each_alarm_wakes_the_loop_at_its_instant_and_never_before() {
        for wakeup in WAKEUPS {
            let clock = Clock::starting_in(Duration::ZERO);
            let mut poll = Poll::new().unwrap();
            let mut sleeper = Sleeper::new(clock, wakeup, poll.registry()).unwrap();
            let mut events = Events::with_capacity(8);
            for wait in [300, 1_000, 2_700, 10_400].map(Duration::from_micros) {
                let due = clock.now() + wait;
                while sleeper.take_lateness() == Duration::ZERO {
                    sleeper.sleep(&mut poll, &mut events, clock.now().min(due), due).unwrap();
                    assert!(sleeper.lateness() == Duration::ZERO || sleeper.woke_at() >= due, "{wakeup:?}");
                }
            }
        }
    }

    #[test]
    fn a_wait_for_a_processor_after_an_event_is_lateness_though_no_timer_was_due() {
        let clock = Clock::starting_in(Duration::ZERO);
        let mut poll = Poll::new().unwrap();
        let mut sleeper = Sleeper::new(clock, Wakeup::default(), poll.registry()).unwrap();
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
