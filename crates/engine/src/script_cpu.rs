//! How much CPU the code of scripts uses, estimated from a sample of its calls: reading the CPU time of a thread is a system
//! call, which takes as long as a small piece of a script. How long scripts hold the loop is known of every call.

use std::time::Duration;

use evidence::Instant;

use crate::clock::{Clock, thread_cpu_ns};

/// So many calls of a loop are all measured, so that the estimate of a short run is exact.
const FIRST: u64 = 1_000;
/// Of the calls after them, one in so many is measured.
const ONE_IN: u64 = 16;
/// The golden ratio as a fraction of 2⁶⁴: its multiples are spread evenly, whatever the period of what is sampled (H. Weyl, "Über
/// die Gleichverteilung von Zahlen mod. Eins", 1916).
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
/// How often the time of the measurement itself is taken.
const CALIBRATIONS: u32 = 16;

/// CPU of the code of scripts on one loop since it was taken last.
#[derive(Debug, Default)]
pub(crate) struct ScriptCpu {
    calls: u64,
    place: u64,
    ns: u64,
    /// What an empty measurement takes.
    own_ns: u64,
    /// When the last piece of a script ended.
    ended_at: Instant,
    /// How long pieces of scripts have held the loop in its turn.
    held: Duration,
}

impl ScriptCpu {
    /// Run a piece of a script at `now`, or at the end of the piece before, whichever is later. The clock is read once, at its
    /// end.
    pub(crate) fn run<T>(&mut self, clock: Clock, now: Instant, piece: impl FnOnce() -> T) -> T {
        let began_at = now.max(self.ended_at);
        let result = self.measured(piece);
        self.ended_at = clock.now();
        self.held += self.ended_at.since(began_at);
        result
    }

    /// When the last piece of a script ended: whatever follows from it is not earlier.
    pub(crate) fn ended_at(&self) -> Instant {
        self.ended_at
    }

    /// How long scripts have held the loop since this was asked last.
    pub(crate) fn take_held(&mut self) -> Duration {
        std::mem::take(&mut self.held)
    }

    fn measured<T>(&mut self, piece: impl FnOnce() -> T) -> T {
        if self.calls == 0 {
            let empty = (0..CALIBRATIONS).map(|_| between(thread_cpu_ns()));
            self.own_ns = empty.min().unwrap_or(0);
        }
        let weight = self.weight_of_next();
        if weight == 0 {
            return piece();
        }
        let began = thread_cpu_ns();
        let result = piece();
        self.ns += between(began).saturating_sub(self.own_ns) * weight;
        result
    }

    /// How many calls the next one counts as; 0 if it is not measured.
    fn weight_of_next(&mut self) -> u64 {
        self.calls += 1;
        self.place = self.place.wrapping_add(STEP);
        match self.place < u64::MAX / ONE_IN {
            _ if self.calls <= FIRST => 1,
            true => ONE_IN,
            false => 0,
        }
    }

    /// The CPU since [`ScriptCpu::reset`], in nanoseconds; none where no piece of a script ever ran.
    pub(crate) fn used_ns(&self) -> Option<u64> {
        (self.calls > 0).then_some(self.ns)
    }

    /// Count anew.
    pub(crate) fn reset(&mut self) {
        self.ns = 0;
    }
}

fn between(began: u64) -> u64 {
    thread_cpu_ns() - began
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_calls_are_all_measured_and_later_ones_count_as_sixteen() {
        let mut cpu = ScriptCpu::default();
        assert_eq!(cpu.used_ns(), None);
        let weights: Vec<u64> = (0..FIRST + 16_000).map(|_| cpu.weight_of_next()).collect();
        let (first, later) = weights.split_at(FIRST as usize);
        assert!(first.iter().all(|weight| *weight == 1));
        let sum: u64 = later.iter().sum();
        assert!((15_900..=16_100).contains(&sum), "{sum}");
        let every_third: u64 = later.iter().step_by(3).sum();
        assert!((5_200..=5_450).contains(&every_third), "of calls with a period, too: {every_third}");
    }

    #[test]
    fn what_pieces_use_is_counted_until_it_is_reset() {
        let mut cpu = ScriptCpu::default();
        let clock = Clock::starting_in(Duration::ZERO);
        let work = || (0..2_000_000_u64).fold(0, |sum, n| sum ^ std::hint::black_box(n));
        let sum = cpu.run(clock, clock.now(), work);
        assert!(sum < u64::MAX && cpu.used_ns().is_some_and(|ns| ns > 0));
        cpu.reset();
        assert_eq!(cpu.used_ns(), Some(0));
    }

    #[test]
    fn pieces_hold_the_loop_from_one_to_the_next_and_no_time_twice() {
        let mut cpu = ScriptCpu::default();
        let clock = Clock::starting_in(Duration::ZERO);
        let began = clock.now();
        for _stale_now in 0..3 {
            cpu.run(clock, began, || std::hint::black_box(began));
        }
        assert_eq!(cpu.take_held(), cpu.ended_at().since(began));
        assert_eq!(cpu.take_held(), Duration::ZERO);
    }
}
