//! The arrivals of an open scenario in order: evenly spaced, or at random like independent users.
//!
//! Arrivals at random are a Poisson process whose rate follows the schedule. Unit-rate instants, whose gaps are
//! drawn from the exponential distribution by inversion, are mapped through the inverse of the schedule's
//! cumulative count (Çinlar, "Introduction to Stochastic Processes", 1975, section 4.7; Devroye, "Non-Uniform
//! Random Variate Generation", 1986, sections II.2 and VI.1.3). Sums are whole numbers, so nothing drifts. A gap is
//! a function of seed and arrival number, so every loop generates the same arrivals and keeps those of its segment.

use std::iter;
use std::time::Duration;

use evidence::LoadEnd;

use crate::draw::{Draw, GOLDEN, mix};
use crate::executor::Arrivals;
use crate::index::ScenarioIndex;
use crate::model::{Phase, Workload};
use crate::schedule::{ARRIVAL, Schedule, Segment};
use crate::turns::ScenarioTurns;

#[cfg(test)]
mod tests;

/// The arrivals of an open scenario that belong to one segment of the workload, in order of their due instants:
/// number within the scenario, and due instant from the scenario's start.
#[derive(Debug, Clone)]
pub struct Timetable {
    schedule: Schedule,
    segment: Segment,
    /// The number of the next arrival, counted over all segments.
    next: u64,
    poisson: Option<PoissonWalk>,
    /// Of arrivals of two arms: which of them are this arm's.
    turns: Option<ScenarioTurns>,
}

/// How the arrivals of a scenario are spaced along its schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrivalSpacing {
    /// Evenly or at random.
    pub arrivals: Arrivals,
    /// The run's seed.
    pub seed: u64,
    pub scenario: ScenarioIndex,
}

/// The state of a walk along the arrivals of a Poisson process.
#[derive(Debug, Clone)]
struct PoissonWalk {
    seed: u64,
    /// Twice the area under the rate up to the last arrival.
    area: u128,
    /// The number of the next arrival, of both arms where there are two.
    next: u64,
}

/// How many arrivals a scenario plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedArrivals {
    /// The number of arrivals.
    pub count: u64,
    /// Whether `count` is exact. Otherwise arrivals come at random, are too many to be counted one by one, and
    /// `count` is their expected number.
    pub is_exact: bool,
}

/// Above this expected number, arrivals at random are not counted one by one.
const MAX_COUNTED_ARRIVALS: u64 = 100_000_000;
/// The salt of the gaps between arrivals.
const GAP_SALT: u64 = u64::MAX - 8_192;

impl Timetable {
    /// The arrivals of a scenario; none for a closed model.
    pub fn new(
        workload: &Workload,
        scenario: impl Into<ScenarioIndex>,
        segment: Segment,
    ) -> Option<Timetable> {
        let index = scenario.into();
        let scenario = workload.scenarios.get(index.0)?;
        let spacing = ArrivalSpacing { arrivals: scenario.arrivals, seed: workload.seed, scenario: index };
        let Some(interleaved) = &workload.interleaved else {
            return Some(Timetable::along(Schedule::new(&scenario.executor)?, spacing, segment));
        };
        let both = Schedule::new(interleaved.both.get(index.0)?)?;
        let turns = Some(interleaved.turns.of_scenario(index));
        Some(Timetable { turns, ..Timetable::along(both, spacing, segment) })
    }

    pub fn along(schedule: Schedule, spacing: ArrivalSpacing, segment: Segment) -> Timetable {
        let seed = Draw::new(spacing.seed, spacing.scenario, u64::MAX).bits(GAP_SALT);
        let poisson =
            (spacing.arrivals == Arrivals::Poisson).then_some(PoissonWalk { seed, area: 0, next: 0 });
        Timetable { schedule, segment, next: 0, poisson, turns: None }
    }

    /// The same from the first arrival on, of another segment.
    pub fn of_segment(&self, segment: Segment) -> Timetable {
        let poisson = self.poisson.as_ref().map(|walk| PoissonWalk { area: 0, next: 0, ..*walk });
        Timetable { schedule: self.schedule.clone(), segment, next: 0, poisson, turns: self.turns }
    }

    /// How many arrivals there are in all segments.
    pub fn planned(&self) -> PlannedArrivals {
        let expected = self.turns.map_or(self.schedule.count(), |turns| turns.count(self.schedule.count()));
        match &self.poisson {
            None => PlannedArrivals { count: expected, is_exact: true },
            Some(_) if expected > MAX_COUNTED_ARRIVALS => {
                PlannedArrivals { count: expected, is_exact: false }
            }
            Some(walk) => {
                let mut walk = PoissonWalk { area: 0, next: 0, ..*walk };
                let whole = self.schedule.area();
                let arrivals = iter::repeat_with(|| walk.step()).take_while(|area| *area < whole);
                let count = arrivals.count() as u64;
                let count = self.turns.map_or(count, |turns| turns.count(count));
                PlannedArrivals { count, is_exact: true }
            }
        }
    }
}

impl Workload {
    /// How much of a phase was offered. A load with a scenario that is over when its iterations are done ends with them; any
    /// other lasts as long as planned, however early its last request was due.
    pub fn offered_of(&self, phase: &Phase, load: LoadEnd) -> Duration {
        let ends_when_done =
            || self.scenarios.iter().any(|scenario| scenario.executor.iterations().is_some());
        let end = match load {
            LoadEnd::CutShort(at) => phase.end.min(at),
            LoadEnd::Complete(at) if ends_when_done() => phase.end.min(at),
            LoadEnd::Complete(_) => phase.end,
        };
        end.saturating_sub(phase.start)
    }

    /// How many arrivals a scenario plans; none if it makes as many iterations as it can.
    pub fn arrivals_planned(&self, scenario: impl Into<ScenarioIndex>) -> Option<PlannedArrivals> {
        let index = scenario.into();
        match self.scenarios.get(index.0)?.executor.iterations() {
            Some(count) => Some(PlannedArrivals { count, is_exact: true }),
            None => Some(Timetable::new(self, index, Segment::WHOLE)?.planned()),
        }
    }
}

impl PoissonWalk {
    /// Twice the area under the rate up to the next arrival.
    fn step(&mut self) -> u128 {
        /// One unit in the last of the 53 bits that are drawn.
        const UNIT: f64 = 1.0 / (1u64 << 53) as f64;
        let bits = mix(self.seed.wrapping_add(self.next.wrapping_mul(GOLDEN)));
        self.next += 1;
        // Above 0 and at most 1, so that its logarithm is finite.
        let uniform = ((bits >> 11) + 1) as f64 * UNIT;
        self.area += (-uniform.ln() * ARRIVAL as f64) as u128;
        self.area
    }
}

impl Iterator for Timetable {
    type Item = (u64, Duration);

    fn next(&mut self) -> Option<(u64, Duration)> {
        match &mut self.poisson {
            None => {
                let number = self.segment.nth(self.next);
                let among_all = self.turns.map_or(number, |turns| turns.among_both(number));
                let due = self.schedule.due(among_all)?;
                self.next += 1;
                Some((number, due))
            }
            Some(walk) => loop {
                let (among_all, area) = (walk.next, walk.step());
                // The schedule's end ends the walk, in whichever segment the arrival is.
                let due = self.schedule.due_at(area)?;
                if self.turns.is_some_and(|turns| !turns.owns(among_all)) {
                    continue;
                }
                let number = self.next;
                self.next += 1;
                if self.segment.owns(number) {
                    return Some((number, due));
                }
            },
        }
    }
}
