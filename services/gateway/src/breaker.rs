//! Whether the sink is worth asking: after a few failures in a row nobody asks for a while, then one asks first. The
//! while doubles with each failure of that one. Pure: the time is given.

use std::time::{Duration, Instant};

/// Failures in a row that open it.
const FAILURES: u32 = 5;
/// Nobody asks for so long at first.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// And for so long at most.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// While one asks first, the others look again after so long.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// What the breaker says of asking now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Ask, and tell the outcome.
    Now,
    /// Not before so long.
    After(Duration),
}

/// How it stands, for those who watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stand {
    /// Everybody asks.
    Closed,
    /// Nobody asks.
    Open,
    /// One asks first.
    Trying,
}

/// A circuit breaker.
#[derive(Debug)]
pub struct Breaker {
    state: State,
    /// Times that it was opened, or opened again.
    pub opened: u64,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Closed { failures: u32 },
    Open { until: Instant, pause: Duration },
    Trying { pause: Duration },
}

impl Default for Breaker {
    fn default() -> Self {
        Self { state: State::Closed { failures: 0 }, opened: 0 }
    }
}

impl Breaker {
    /// May somebody ask now? Whoever is told to must tell the outcome, or give up.
    pub fn ask(&mut self, now: Instant) -> Ask {
        match self.state {
            State::Closed { .. } => Ask::Now,
            State::Open { until, pause } if now >= until => {
                self.state = State::Trying { pause };
                Ask::Now
            }
            State::Open { until, .. } => Ask::After(until - now),
            State::Trying { .. } => Ask::After(LOOK_AGAIN),
        }
    }

    /// Whoever was to ask had nothing to ask for.
    pub fn gave_up(&mut self, now: Instant) {
        if let State::Trying { pause } = self.state {
            self.state = State::Open { until: now, pause };
        }
    }

    /// The sink answered.
    pub fn succeeded(&mut self) {
        self.state = State::Closed { failures: 0 };
    }

    /// The sink did not.
    pub fn failed(&mut self, now: Instant) {
        let pause = match self.state {
            State::Closed { failures } if failures + 1 < FAILURES => {
                self.state = State::Closed { failures: failures + 1 };
                return;
            }
            State::Closed { .. } => FIRST_PAUSE,
            // Others were asking when it opened: their failures tell nothing new.
            State::Open { .. } => return,
            State::Trying { pause } => (pause * 2).min(LONGEST_PAUSE),
        };
        self.opened += 1;
        self.state = State::Open { until: now + pause, pause };
    }

    /// How it stands.
    #[must_use]
    pub fn stand(&self) -> Stand {
        match self.state {
            State::Closed { .. } => Stand::Closed,
            State::Open { .. } => Stand::Open,
            State::Trying { .. } => Stand::Trying,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(now: Instant) -> Breaker {
        let mut breaker = Breaker::default();
        (0..FAILURES).for_each(|_| breaker.failed(now));
        breaker
    }

    #[test]
    fn only_failures_in_a_row_open_it() {
        let now = Instant::now();
        let mut breaker = Breaker::default();
        for _ in 0..10 {
            (1..FAILURES).for_each(|_| breaker.failed(now));
            assert_eq!(breaker.ask(now), Ask::Now);
            breaker.succeeded();
        }
        assert_eq!((opened(now).stand(), opened(now).ask(now)), (Stand::Open, Ask::After(FIRST_PAUSE)));
    }

    #[test]
    fn one_asks_first_and_each_failure_doubles_the_pause_up_to_its_bound() {
        let mut now = Instant::now();
        let mut breaker = opened(now);
        let mut pauses = Vec::new();
        for _ in 0..8 {
            let Ask::After(pause) = breaker.ask(now) else { panic!("it is open") };
            pauses.push(pause.as_millis());
            now += pause;
            assert_eq!((breaker.ask(now), breaker.ask(now)), (Ask::Now, Ask::After(LOOK_AGAIN)));
            breaker.failed(now);
            breaker.failed(now);
        }
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        assert_eq!(breaker.opened, 9);
        now += LONGEST_PAUSE;
        assert_eq!(breaker.ask(now), Ask::Now);
        breaker.succeeded();
        assert_eq!(
            (breaker.ask(now), breaker.ask(now), breaker.stand()),
            (Ask::Now, Ask::Now, Stand::Closed)
        );
    }

    #[test]
    fn who_has_nothing_to_ask_leaves_the_try_to_another() {
        let now = Instant::now();
        let mut breaker = opened(now);
        let later = now + FIRST_PAUSE;
        assert_eq!(breaker.ask(later), Ask::Now);
        breaker.gave_up(later);
        assert_eq!(breaker.ask(later), Ask::Now);
    }
}
