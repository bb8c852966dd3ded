//! When arrivals are due: a direct function of their number, without state and without a clock.
//!
//! The cumulative count of a rate that changes linearly within each stage is a chain of parabolas; arrival n is due
//! when that count passes n. Rates and times are whole numbers here (3.6 × 10⁹ units a
//! second hold every whole rate a second, a minute or an hour; nanoseconds), so that cumulative counts are
//! exact and nothing drifts, however long the run. Arrivals at random follow it too: see [`crate::timetable`].

use std::time::Duration;

use crate::executor::{Executor, Stage};

#[cfg(test)]
mod tests;

/// Rate units in one arrival a second.
const RATE_UNITS: f64 = 3.6e9;
/// Twice the area under the rate, in rate units × nanoseconds, that makes one arrival.
pub(crate) const ARRIVAL: u128 = 7_200_000_000_000_000_000;
/// The highest rate a schedule accepts, in arrivals a second; keeps due instants apart by 100 ns or more.
pub const MAX_RATE: f64 = 1e7;
/// The longest a stage may last; keeps areas within 128 bits and rounding below the distance of arrivals.
pub const MAX_STAGE: Duration = Duration::from_secs(30 * 24 * 3600);

/// A share of a workload: that of one loop or machine. It owns the arrivals n with n % count == index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Which share, from 0.
    pub index: u32,
    /// How many shares there are; at least 1.
    pub count: u32,
}

impl Segment {
    /// The whole workload.
    pub const WHOLE: Segment = Segment { index: 0, count: 1 };

    /// Whether arrival `n` belongs to this share.
    pub fn owns(self, n: u64) -> bool {
        n % u64::from(self.count) == u64::from(self.index)
    }

    /// The number within the workload of this share's `k`-th arrival, both from 0.
    pub fn nth(self, k: u64) -> u64 {
        k.saturating_mul(u64::from(self.count)).saturating_add(u64::from(self.index))
    }

    /// This share of something that only the first `most` shares take part in; none of a share beyond them.
    pub fn among_first(self, most: u32) -> Option<Segment> {
        let count = self.count.min(most);
        (self.index < count).then_some(Segment { index: self.index, count })
    }

    /// How many of `total` things (arrivals, virtual users) belong to this share.
    pub fn share(self, total: u64) -> u64 {
        let (index, count) = (u64::from(self.index), u64::from(self.count));
        total.saturating_sub(index).div_ceil(count)
    }
}

/// A piece of the schedule within which the rate changes linearly.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Piece {
    /// Its start, in nanoseconds from the scenario's start.
    start_ns: u64,
    /// Its length, in nanoseconds.
    length_ns: u64,
    /// Rate at its start, in rate units.
    from: u64,
    /// Rate at its end, in rate units.
    to: u64,
    /// Twice the area before it.
    before: u128,
}

impl Piece {
    /// Twice the area under it.
    fn area(&self) -> u128 {
        u128::from(self.from + self.to) * u128::from(self.length_ns)
    }

    /// Twice the area up to its end.
    fn after(&self) -> u128 {
        self.before + self.area()
    }

    /// Nanoseconds from its start until twice the area under it is `area`, which must be below its own.
    ///
    /// With rate r(t) = from + slope·t, area A = from·t + slope·t²/2 is solved for t as 2A / (from + r),
    /// where r² = from² + 2·slope·A is the rate then reached: no difference of near-equal numbers. A
    /// falling rate is solved from its end, where the same formula applies.
    fn time_at(&self, area: u128) -> u64 {
        if self.from == self.to {
            return u64::try_from(area.div_ceil(2 * u128::from(self.from))).unwrap_or(u64::MAX);
        }
        if self.from < self.to {
            let t = Ramp { low: self.from, high: self.to, length_ns: self.length_ns }.time_at(area);
            return (t.round() as u64).min(self.length_ns);
        }
        let mirrored = Ramp { low: self.to, high: self.from, length_ns: self.length_ns };
        let left = mirrored.time_at(self.area() - area);
        self.length_ns.saturating_sub(left.round() as u64)
    }

    /// Twice the area from its start to `t_ns` into it.
    fn area_at(&self, t_ns: u64) -> u128 {
        let t = u128::from(t_ns);
        let flat = 2 * u128::from(self.from) * t;
        // (to − from)·t²/length; the square of 30 days in nanoseconds times the highest rate needs more
        // than 128 bits, so the last factor is applied as a fraction.
        let change = u128::from(self.from.abs_diff(self.to));
        let rate_change = change * t / u128::from(self.length_ns.max(1));
        let bent = rate_change * t;
        if self.to >= self.from { flat + bent } else { flat.saturating_sub(bent) }
    }
}

/// A rate that rises from `low` to `high` within `length_ns`.
struct Ramp {
    low: u64,
    high: u64,
    length_ns: u64,
}

impl Ramp {
    /// Nanoseconds until twice the area under the rate is `area`.
    fn time_at(&self, area: u128) -> f64 {
        if area == 0 {
            return 0.0;
        }
        let (low, high) = (self.low as f64, self.high as f64);
        let area = area as f64;
        let reached = (low * low + area * (high - low) / self.length_ns as f64).sqrt();
        area / (low + reached)
    }
}

/// The due instants of an open scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    pieces: Vec<Piece>,
    count: u64,
}

impl Schedule {
    /// The schedule of an open executor; none for a closed one, whose arrivals depend on completions.
    pub fn new(executor: &Executor) -> Option<Schedule> {
        match executor {
            Executor::ConstantArrivalRate { rate, duration } => {
                Some(Schedule::from_stages(*rate, &[Stage { to: *rate, over: *duration }]))
            }
            Executor::RampingArrivalRate { start_rate, stages } => {
                Some(Schedule::from_stages(*start_rate, stages))
            }
            _ => None,
        }
    }

    fn from_stages(start_rate: f64, stages: &[Stage]) -> Schedule {
        let mut pieces = Vec::with_capacity(stages.len());
        let (mut from, mut start_ns, mut before) = (units(start_rate), 0u64, 0u128);
        for stage in stages {
            let to = units(stage.to);
            let length_ns = nanos(stage.over.min(MAX_STAGE));
            if length_ns > 0 {
                let piece = Piece { start_ns, length_ns, from, to, before };
                before = piece.after();
                start_ns = start_ns.saturating_add(length_ns);
                pieces.push(piece);
            }
            from = to;
        }
        Schedule { pieces, count: u64::try_from(before.div_ceil(ARRIVAL)).unwrap_or(u64::MAX) }
    }

    /// How many arrivals there are: the integral of the rate, rounded up.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// From the start of the first stage to the end of the last.
    pub fn duration(&self) -> Duration {
        self.pieces.last().map_or(Duration::ZERO, |p| Duration::from_nanos(p.start_ns + p.length_ns))
    }

    /// When arrival `n` (from 0) is due, from the scenario's start; none past the last.
    ///
    /// It is the last instant at which the integral of the rate is n, rounded to a nanosecond: the first arrival of
    /// a constant rate is due at 0, and no arrival is due where the rate is 0.
    pub fn due(&self, n: u64) -> Option<Duration> {
        if n >= self.count {
            return None;
        }
        self.due_at(u128::from(n) * ARRIVAL)
    }

    /// When twice the area under the rate passes `area`; none if it never does.
    pub(crate) fn due_at(&self, area: u128) -> Option<Duration> {
        let piece = self.pieces.get(self.pieces.partition_point(|p| p.after() <= area))?;
        Some(Duration::from_nanos(piece.start_ns + piece.time_at(area - piece.before)))
    }

    /// Twice the area under the rate in total.
    pub(crate) fn area(&self) -> u128 {
        self.pieces.last().map_or(0, Piece::after)
    }

    /// The rate at `at` from the scenario's start, in arrivals a second; 0 after the end. Where two stages meet, the
    /// later one's.
    pub fn rate_at(&self, at: Duration) -> f64 {
        let at_ns = nanos(at);
        let Some(piece) = self.piece_at(at_ns) else { return 0.0 };
        let share = (at_ns - piece.start_ns) as f64 / piece.length_ns as f64;
        let (from, to) = (piece.from as f64, piece.to as f64);
        (from + (to - from) * share) / RATE_UNITS
    }

    /// How many arrivals are due from `from` on and before `to`.
    pub fn arrivals_between(&self, from: Duration, to: Duration) -> u64 {
        self.arrivals_before(to).saturating_sub(self.arrivals_before(from))
    }

    /// How many arrivals are due before `at`. Agrees with [`Schedule::due`] to the nanosecond.
    fn arrivals_before(&self, at: Duration) -> u64 {
        let at_ns = nanos(at);
        let Some(piece) = self.piece_at(at_ns) else { return self.count };
        let area = piece.before + piece.area_at(at_ns - piece.start_ns);
        let mut n = u64::try_from(area.div_ceil(ARRIVAL)).unwrap_or(u64::MAX).min(self.count);
        // The estimate is off by rounding only: by one arrival, seldom by two.
        while n > 0 && self.due(n - 1).is_some_and(|due| due >= at) {
            n -= 1;
        }
        while self.due(n).is_some_and(|due| due < at) {
            n += 1;
        }
        n
    }

    fn piece_at(&self, at_ns: u64) -> Option<&Piece> {
        self.pieces.get(self.pieces.partition_point(|p| p.start_ns + p.length_ns <= at_ns))
    }
}

fn units(rate: f64) -> u64 {
    (rate.clamp(0.0, MAX_RATE) * RATE_UNITS).round() as u64
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
