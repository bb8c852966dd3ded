//! A circuit breaker towards the sink: after a few failures in a row no worker uses the sink for a pause, then one
//! worker probes it. The pause doubles with each failed probe. Pure: the time is an argument.

use std::time::{Duration, Instant};

/// Failures in a row that open the breaker.
const FAILURES_TO_OPEN: u32 = 5;
/// How long it stays open at first.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// How long it stays open at most.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// While one worker probes, the others check again after this time.
const RECHECK: Duration = Duration::from_millis(20);

/// Whether a worker may use the sink now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerDecision {
    /// It may, and must report the outcome.
    Proceed,
    /// It must wait this long before it checks again.
    RetryAfter(Duration),
}

/// The breaker's state, for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerState {
    /// Every worker may use the sink.
    Closed,
    /// No worker may use the sink.
    Open,
    /// One worker probes the sink.
    HalfOpen,
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
    HalfOpen { pause: Duration },
}

impl Default for Breaker {
    fn default() -> Self {
        Self { state: State::Closed { failures: 0 }, opened: 0 }
    }
}

impl Breaker {
    /// Decides whether a worker may use the sink now. A worker that may must report the outcome, or cancel.
    pub fn decide(&mut self, now: Instant) -> BreakerDecision {
        match self.state {
            State::Closed { .. } => BreakerDecision::Proceed,
            State::Open { until, pause } if now >= until => {
                self.state = State::HalfOpen { pause };
                BreakerDecision::Proceed
            }
            State::Open { until, .. } => BreakerDecision::RetryAfter(until - now),
            State::HalfOpen { .. } => BreakerDecision::RetryAfter(RECHECK),
        }
    }

    /// A worker that was allowed to use the sink had nothing to send: the next one probes instead.
    pub fn cancel_probe(&mut self, now: Instant) {
        if let State::HalfOpen { pause } = self.state {
            self.state = State::Open { until: now, pause };
        }
    }

    /// The sink took a batch.
    pub fn record_success(&mut self) {
        self.state = State::Closed { failures: 0 };
    }

    /// The sink did not take a batch.
    pub fn record_failure(&mut self, now: Instant) {
        let pause = match self.state {
            State::Closed { failures } if failures + 1 < FAILURES_TO_OPEN => {
                self.state = State::Closed { failures: failures + 1 };
                return;
            }
            State::Closed { .. } => FIRST_PAUSE,
            // Of workers that used the sink when the breaker opened: it is known already that the sink fails.
            State::Open { .. } => return,
            State::HalfOpen { pause } => (pause * 2).min(LONGEST_PAUSE),
        };
        self.opened += 1;
        self.state = State::Open { until: now + pause, pause };
    }

    /// The current state.
    #[must_use]
    pub fn state(&self) -> BreakerState {
        match self.state {
            State::Closed { .. } => BreakerState::Closed,
            State::Open { .. } => BreakerState::Open,
            State::HalfOpen { .. } => BreakerState::HalfOpen,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::BreakerDecision::{Proceed, RetryAfter};
    use super::*;

    fn opened(now: Instant) -> Breaker {
        let mut breaker = Breaker::default();
        (0..FAILURES_TO_OPEN).for_each(|_| breaker.record_failure(now));
        breaker
    }

    #[test]
    fn only_failures_in_a_row_open_it() {
        let now = Instant::now();
        let mut breaker = Breaker::default();
        for _ in 0..10 {
            (1..FAILURES_TO_OPEN).for_each(|_| breaker.record_failure(now));
            assert_eq!(breaker.decide(now), Proceed);
            breaker.record_success();
        }
        let mut breaker = opened(now);
        assert_eq!((breaker.state(), breaker.decide(now)), (BreakerState::Open, RetryAfter(FIRST_PAUSE)));
    }

    #[test]
    fn one_worker_probes_and_each_failure_doubles_the_pause_up_to_its_bound() {
        let mut now = Instant::now();
        let mut breaker = opened(now);
        let mut pauses = Vec::new();
        for _ in 0..8 {
            let RetryAfter(pause) = breaker.decide(now) else { panic!("it is open") };
            pauses.push(pause.as_millis());
            now += pause;
            assert_eq!((breaker.decide(now), breaker.decide(now)), (Proceed, RetryAfter(RECHECK)));
            breaker.record_failure(now);
            breaker.record_failure(now);
        }
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        assert_eq!(breaker.opened, 9);
        now += LONGEST_PAUSE;
        assert_eq!(breaker.decide(now), Proceed);
        breaker.record_success();
        let decisions = (breaker.decide(now), breaker.decide(now));
        assert_eq!((decisions, breaker.state()), ((Proceed, Proceed), BreakerState::Closed));
    }

    #[test]
    fn a_cancelled_probe_is_left_to_another_worker() {
        let now = Instant::now();
        let mut breaker = opened(now);
        let later = now + FIRST_PAUSE;
        assert_eq!(breaker.decide(later), Proceed);
        breaker.cancel_probe(later);
        assert_eq!(breaker.decide(later), Proceed);
    }
}
