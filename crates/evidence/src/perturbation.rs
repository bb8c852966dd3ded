//! Which requests were under way while the generator stalled: their times say less of the target.
//!
//! A stall is a time of more than [`STALL`] in which a loop was late or was not run by the system. What it disturbs ends when
//! the loop's requests in flight are back at their number before it, at most [`DISTURBED_STALLS`] lengths of the stall later.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::time::Instant;

/// A loop that is late by more than this is stalled.
pub const STALL: Duration = Duration::from_millis(1);
/// A stall disturbs requests for at most so many times its own length.
pub const DISTURBED_STALLS: u32 = 10;

/// Until when the stalls of any loop of the run disturb requests, in nanoseconds of the run; shared by its loops.
#[derive(Debug, Clone, Default)]
pub struct Disturbed(Arc<AtomicU64>);

/// A stall whose effect is not over.
#[derive(Debug, Clone, Copy)]
struct Effect {
    /// Requests in flight before it.
    level: u32,
    /// When it is over at the latest.
    ends: Instant,
}

/// The stalls of one loop.
#[derive(Debug)]
pub struct Perturbation {
    disturbed: Disturbed,
    /// When the loop last looked at the clock, or went to sleep, and its requests in flight then.
    looked: Instant,
    level: u32,
    effect: Option<Effect>,
}

impl Perturbation {
    /// Of a loop that has not begun.
    pub fn new(disturbed: Disturbed) -> Self {
        Perturbation { disturbed, looked: Instant::EPOCH, level: 0, effect: None }
    }

    /// The loop looks at the clock again, with so many requests in flight.
    #[inline]
    pub fn looked(&mut self, now: Instant, in_flight: u32) {
        if now.since(self.looked) > STALL {
            self.stalled(self.looked, now);
        }
        self.looked = now;
        self.level = in_flight;
        if let Some(effect) = self.effect {
            self.check(effect, now, in_flight);
        }
    }

    /// The loop slept, which is not a stall, and woke this much later than it had asked for.
    #[inline]
    pub fn woke(&mut self, now: Instant, late: Duration) {
        self.looked = now;
        if late > STALL {
            let began = now.as_nanos().saturating_sub(late.as_nanos() as u64);
            self.stalled(Instant::from_nanos(began), now);
        }
    }

    /// Whether what was due then, and ends now, was under way while requests were disturbed.
    #[inline]
    pub fn concerns(&self, due: Instant) -> bool {
        due.as_nanos() < self.disturbed.0.load(Relaxed)
    }

    fn stalled(&mut self, began: Instant, ended: Instant) {
        let ends = ended + ended.since(began) * DISTURBED_STALLS;
        // A stall during the effect of another one: both are over when the first one's level is reached.
        let level = self.effect.map_or(self.level, |effect| effect.level.min(self.level));
        let ends = self.effect.map_or(ends, |effect| effect.ends.max(ends));
        self.effect = Some(Effect { level, ends });
        self.disturbed.0.fetch_max(ends.as_nanos(), Relaxed);
    }

    fn check(&mut self, effect: Effect, now: Instant, in_flight: u32) {
        if now < effect.ends && in_flight > effect.level {
            // Another loop whose effect was longer may have ended it.
            self.disturbed.0.fetch_max(effect.ends.as_nanos(), Relaxed);
            return;
        }
        self.effect = None;
        // Unless another loop's effect is longer, it ends here.
        let (ends, now) = (effect.ends.as_nanos(), now.min(effect.ends).as_nanos());
        let _ = self.disturbed.0.compare_exchange(ends, now, Relaxed, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// A loop that looked at the clock at 100 ms with three requests in flight.
    fn looking() -> Perturbation {
        let mut perturbation = Perturbation::new(Disturbed::default());
        perturbation.woke(ms(100), Duration::ZERO);
        perturbation.looked(ms(100), 3);
        perturbation
    }

    #[test]
    fn without_a_stall_nothing_is_concerned() {
        let mut perturbation = looking();
        perturbation.looked(ms(101), 3);
        perturbation.woke(ms(500), Duration::from_micros(900));
        assert!(!perturbation.concerns(Instant::EPOCH));
    }

    #[test]
    fn a_stall_concerns_what_is_under_way_until_the_requests_in_flight_are_back() {
        let mut perturbation = looking();
        perturbation.looked(ms(105), 9);
        assert!(perturbation.concerns(ms(90)) && perturbation.concerns(ms(154)));
        perturbation.looked(ms(106), 4);
        assert!(perturbation.concerns(ms(106)), "four are still more than three");
        perturbation.looked(ms(107), 3);
        assert!(perturbation.concerns(ms(106)) && !perturbation.concerns(ms(107)));
    }

    #[test]
    fn the_effect_of_a_stall_lasts_ten_times_as_long_at_most() {
        let mut perturbation = looking();
        perturbation.looked(ms(102), 9);
        for at in 103..125 {
            perturbation.looked(ms(at), 9);
        }
        assert!(perturbation.concerns(ms(121)) && !perturbation.concerns(ms(122)));
    }

    #[test]
    fn a_late_awakening_is_a_stall_from_when_it_was_asked_for() {
        let mut perturbation = looking();
        perturbation.woke(ms(400), Duration::from_millis(4));
        assert!(perturbation.concerns(ms(399)) && perturbation.concerns(ms(439)));
        assert!(!perturbation.concerns(ms(440)));
    }

    #[test]
    fn the_stall_of_one_loop_concerns_the_others_and_ends_with_the_last() {
        let shared = Disturbed::default();
        let [mut one, mut other] = [shared.clone(), shared].map(Perturbation::new);
        for (perturbation, length_ms) in [(&mut one, 20), (&mut other, 10)] {
            perturbation.woke(ms(100), Duration::ZERO);
            perturbation.looked(ms(100), 0);
            perturbation.looked(ms(100 + length_ms), 5);
        }
        one.looked(ms(121), 0);
        assert!(other.concerns(ms(120)), "what was due before the first one's end");
        other.looked(ms(111), 5);
        assert!(one.concerns(ms(150)), "the other one's is not over");
        other.looked(ms(112), 0);
        assert!(!one.concerns(ms(150)));
    }
}
