//! The arrivals of an open scenario, one after the other: even, or at random as independent users make them.
//!
//! Arrivals at random are a Poisson process whose rate follows the schedule. Unit-rate instants, whose gaps are
//! drawn from the exponential distribution by inversion, are mapped through the schedule's cumulative count: the
//! time change that turns any Poisson process into one of rate 1, run backwards (Çinlar, "Introduction to
//! Stochastic Processes", 1975, section 4.7; Devroye, "Non-Uniform Random Variate Generation", 1986, sections
//! II.2 and VI.1.3). Sums are whole numbers, so nothing drifts, and a draw is a function of seed and number: every
//! loop walks the same arrivals and takes its own.

use std::time::Duration;

use crate::draw::{Draw, mix};
use crate::model::{Arrivals, Workload};
use crate::schedule::{ARRIVAL, Schedule, Segment};

/// The arrivals of an open scenario that belong to one share of the workload, in order of their due instants:
/// number within the scenario, and when it is due, from the scenario's start.
#[derive(Debug, Clone)]
pub struct Timetable {
    schedule: Schedule,
    segment: Segment,
    /// The number of the next arrival; of all, not of this share alone.
    next: u64,
    random: Option<Random>,
}

/// Where a walk along the arrivals at random is.
#[derive(Debug, Clone)]
struct Random {
    state: u64,
    /// Twice the area under the rate that was passed when the last arrival came.
    earned: u128,
}

/// How many arrivals a scenario plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    /// How many.
    pub count: u64,
    /// Whether they were counted one by one; else they come at random, are too many for that, and this is how
    /// many are expected.
    pub is_exact: bool,
}

/// A walk along arrivals at random is no longer than this, where it is only to count them.
const COUNTED_AT_MOST: u64 = 100_000_000;
/// Tells the gaps of arrivals from every other choice of theirs.
const GAP_SALT: u64 = u64::MAX - 8_192;

impl Timetable {
    /// The arrivals of the scenario at place `place` of the plan; none of a closed model.
    pub fn of(workload: &Workload, place: usize, segment: Segment) -> Option<Timetable> {
        let scenario = workload.scenarios.get(place)?;
        let schedule = Schedule::new(&scenario.executor)?;
        Some(Timetable::along(schedule, (scenario.arrivals, workload.seed, place), segment))
    }

    /// The same, of a schedule, how arrivals are spaced along it, the run's seed and the scenario's place.
    pub fn along(
        schedule: Schedule,
        (arrivals, seed, place): (Arrivals, u64, usize),
        segment: Segment,
    ) -> Timetable {
        let state = Draw::new(seed, place, u64::MAX).bits(GAP_SALT);
        let random = (arrivals == Arrivals::Poisson).then_some(Random { state, earned: 0 });
        Timetable { schedule, segment, next: 0, random }
    }

    /// How many arrivals there are, in all shares.
    pub fn planned(&self) -> Planned {
        let expected = self.schedule.count();
        match &self.random {
            None => Planned { count: expected, is_exact: true },
            Some(_) if expected > COUNTED_AT_MOST => Planned { count: expected, is_exact: false },
            Some(random) => {
                let mut random = Random { earned: 0, ..*random };
                let whole = self.schedule.area();
                let walk = (0..).take_while(|number| random.step(*number) < whole);
                Planned { count: walk.count() as u64, is_exact: true }
            }
        }
    }
}

impl Random {
    /// Twice the area that is passed when arrival `number` comes; asked in the order of numbers.
    fn step(&mut self, number: u64) -> u128 {
        /// One unit in the last of the 53 bits that are drawn.
        const UNIT: f64 = 1.0 / (1u64 << 53) as f64;
        let bits = mix(self.state.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        // Above 0 and at most 1, so that its logarithm is finite.
        let uniform = ((bits >> 11) + 1) as f64 * UNIT;
        self.earned += (-uniform.ln() * ARRIVAL as f64) as u128;
        self.earned
    }
}

impl Iterator for Timetable {
    type Item = (u64, Duration);

    fn next(&mut self) -> Option<(u64, Duration)> {
        match &mut self.random {
            None => {
                let number = self.segment.nth(self.next);
                let due = self.schedule.due(number)?;
                self.next += 1;
                Some((number, due))
            }
            Some(random) => loop {
                let (number, earned) = (self.next, random.step(self.next));
                self.next += 1;
                // Past the end the walk goes no further, whoever owns the arrival.
                let due = self.schedule.due_at(earned)?;
                if self.segment.owns(number) {
                    return Some((number, due));
                }
            },
        }
    }
}

#[cfg(test)]
mod tests;
