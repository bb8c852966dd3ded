//! One second of one loop: what it measured, counted and kept.
//!
//! The loop fills a tick, swaps it for an empty one once a second and never waits. A tick that could not
//! be handed over is filled on: granularity is lost and reported, counts never.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::exemplar::Exemplar;
use crate::histogram::Histogram;
use crate::instance::Instance;
use crate::key::{Key, KeyId, Name};
use crate::metric::MetricTick;
use crate::series::{Sample, SeriesKey};
use crate::time::Instant;

/// A sum that belongs to one key and one second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// What is counted.
    pub key: KeyId,
    /// The second of the run it belongs to: for arrivals the one they were due in, which may be earlier
    /// than the tick's.
    pub second: u32,
    /// How many.
    pub value: u64,
}

/// The state of one loop during one tick.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct LoopState {
    /// Time-averaged number of requests in flight (the integral divided by the time covered).
    pub in_flight_mean: f64,
    /// Requests in flight at the tick's end.
    pub in_flight: u32,
    /// Iterations under way at the tick's end.
    pub iterations: u32,
    /// Virtual users that exist.
    pub virtual_users: u32,
    /// Open connections.
    pub connections: u32,
    /// CPU time the loop's thread used during the tick, in nanoseconds.
    pub cpu_ns: u64,
    /// CPU time of it that the code of a script used, in nanoseconds, estimated; none where nothing of a script ran.
    pub script_cpu_ns: Option<u64>,
    /// Time the tick covers, in nanoseconds.
    pub covered_ns: u64,
    /// Ticks that were folded into this one because the recorder lagged.
    pub folded: u32,
}

/// A value with its unit.
type Reading = (&'static str, f64);

impl LoopState {
    /// The state as series of the generator: name, unit and value.
    fn readings(&self) -> impl Iterator<Item = (&'static str, Reading)> {
        let covered = self.covered_ns.max(1) as f64;
        let of_script = self.script_cpu_ns.map(|ns| (SeriesKey::SCRIPT_CPU, ("cores", ns as f64 / covered)));
        [
            ("in_flight", ("1", self.in_flight_mean)),
            ("iterations", ("1", f64::from(self.iterations))),
            ("virtual_users", ("1", f64::from(self.virtual_users))),
            ("connections", ("1", f64::from(self.connections))),
            ("loop_cpu", ("cores", self.cpu_ns as f64 / covered)),
            ("recorder_lag", ("s", f64::from(self.folded))),
        ]
        .into_iter()
        .chain(of_script)
    }
}

/// The virtual users of one scenario, and their limit, during one tick.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScenarioState {
    /// The scenario's name.
    pub scenario: Name,
    /// Time-averaged number of iterations under way.
    pub active_mean: f64,
    /// The most iterations under way at once.
    pub active_max: u32,
    /// How many may be under way at once.
    pub cap: u32,
    /// Share of the tick (0 to 1) during which at least 99 % of the cap was in use.
    pub at_cap: f64,
}

/// One second of one loop.
#[derive(Debug, Default)]
pub struct Tick {
    /// Which loop it comes from; key numbers are that loop's own.
    pub instance: Instance,
    /// The second of the run that it ends.
    pub second: u32,
    /// Whether the loop is over: no further tick comes from it.
    pub is_last: bool,
    /// Keys that this tick uses and no earlier tick of the loop did.
    pub new_keys: Vec<(KeyId, Key)>,
    /// The state of the loop.
    pub state: LoopState,
    /// The state of each scenario that was active.
    pub scenarios: Vec<ScenarioState>,
    /// What was added to the metrics of scripts.
    pub metrics: MetricTick,
    /// Exchanges worth keeping.
    pub exemplars: Vec<Exemplar>,
    histograms: Vec<Option<Box<Histogram>>>,
    used: Vec<KeyId>,
    counts: Vec<Count>,
    /// For each key the index in `counts` that was added to last, so that the hot path does not look it up; beyond `counts`
    /// until then.
    latest: Vec<u32>,
    /// The index in `counts` of each key and second.
    places: HashMap<(KeyId, u32), u32>,
}

/// An index in `latest` that no count has.
const NO_COUNT: u32 = u32::MAX;

impl Tick {
    /// Count one duration of `nanos` nanoseconds under `key`.
    #[inline]
    pub fn record_ns(&mut self, key: KeyId, nanos: u64) {
        match self.histograms.get_mut(key.0 as usize) {
            Some(Some(histogram)) if !histogram.is_empty() => histogram.record_ns(nanos),
            _ => self.histogram_mut(key).record_ns(nanos),
        }
    }

    /// Count every value of `times` under `key`.
    pub fn merge(&mut self, key: KeyId, times: &Histogram) {
        if !times.is_empty() {
            self.histogram_mut(key).merge(times);
        }
    }

    /// The histogram of `key`, to be added to at once: an empty one counts as used now.
    fn histogram_mut(&mut self, key: KeyId) -> &mut Histogram {
        let at = key.0 as usize;
        if at >= self.histograms.len() {
            self.histograms.resize_with(at + 1, || None);
        }
        let histogram = self.histograms[at].get_or_insert_default();
        if histogram.is_empty() {
            self.used.push(key);
        }
        histogram
    }

    /// Add `value` to the sum of `key` in `second`.
    #[inline]
    pub fn add(&mut self, key: KeyId, second: u32, value: u64) {
        let latest = self.latest.get(key.0 as usize).and_then(|index| self.counts.get_mut(*index as usize));
        match latest {
            Some(count) if count.second == second => count.value += value,
            _ => self.add_elsewhere(key, second, value),
        }
    }

    /// Add to another second than the last time, or for the first time.
    fn add_elsewhere(&mut self, key: KeyId, second: u32, value: u64) {
        let index = *self.places.entry((key, second)).or_insert_with(|| {
            self.counts.push(Count { key, second, value: 0 });
            self.counts.len() as u32 - 1
        });
        self.counts[index as usize].value += value;
        let at = key.0 as usize;
        if at >= self.latest.len() {
            self.latest.resize(at + 1, NO_COUNT);
        }
        self.latest[at] = index;
    }

    /// Move what it counted back by so many seconds, and each instant to where `corrected` says.
    pub fn move_back(&mut self, seconds: i32, corrected: impl Fn(Instant) -> Instant) {
        let back = |second: u32| second.saturating_add_signed(seconds.saturating_neg());
        self.second = back(self.second);
        for count in &mut self.counts {
            count.second = back(count.second);
        }
        self.latest.fill(NO_COUNT);
        self.places.clear();
        self.metrics.correct_instants(&corrected);
        for exemplar in &mut self.exemplars {
            exemplar.due = corrected(exemplar.due);
        }
    }

    /// The histograms of this tick that hold something.
    pub fn histograms(&self) -> impl Iterator<Item = (KeyId, &Histogram)> {
        self.used.iter().filter_map(|key| Some((*key, self.histograms[key.0 as usize].as_deref()?)))
    }

    /// The sums of this tick.
    pub fn counts(&self) -> &[Count] {
        &self.counts
    }

    /// The last instant that the tick covers. All ticks but a loop's last one end with their second.
    pub fn last_instant(&self) -> Instant {
        let into_second = self.state.covered_ns.saturating_sub(1) % 1_000_000_000;
        Instant::from_nanos(u64::from(self.second) * 1_000_000_000 + into_second)
    }

    /// The generator's own series, as samples at the tick's end: the state of the loop, and each scenario's `active` and
    /// `at_cap` with its `cap`. A tick that covers no time was made from another tool's results and has no loop.
    pub fn own_samples(&self) -> Vec<(SeriesKey, Sample)> {
        if self.state.covered_ns == 0 {
            return Vec::new();
        }
        let at = self.last_instant();
        let series = |name, unit, part: &str| {
            SeriesKey::new(name, SeriesKey::GENERATOR, unit).part(part).instance(self.instance)
        };
        let mut samples = Vec::with_capacity(6 + 4 * self.scenarios.len());
        for (name, (unit, value)) in self.state.readings() {
            samples.push((series(name, unit, ""), Sample { at, value }));
        }
        for s in &self.scenarios {
            let readings = [
                ("active", s.active_mean),
                ("active_max", f64::from(s.active_max)),
                ("cap", f64::from(s.cap)),
                ("at_cap", s.at_cap),
            ];
            let sample = |(name, value)| (series(name, "1", &s.scenario), Sample { at, value });
            samples.extend(readings.map(sample));
        }
        samples
    }

    /// Empty the tick for its next second; memory is kept, so that a steady loop allocates nothing.
    pub fn clear(&mut self) {
        for key in self.used.drain(..) {
            if let Some(histogram) = &mut self.histograms[key.0 as usize] {
                histogram.clear();
            }
        }
        self.counts.clear();
        self.latest.fill(NO_COUNT);
        self.places.clear();
        self.new_keys.clear();
        self.scenarios.clear();
        self.metrics.clear();
        self.exemplars.clear();
        self.state = LoopState::default();
        self.is_last = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A search of all counts for each of them would not end.
    #[test]
    fn many_keys_are_counted_through_many_seconds() {
        let (keys, seconds) = (3_000, 600);
        let mut tick = Tick::default();
        for second in 0..seconds {
            for key in (0..keys).map(KeyId) {
                tick.add(key, second, 2);
                // An arrival of the second before is late.
                tick.add(key, second.saturating_sub(1), 1);
            }
        }
        assert_eq!(tick.counts().len(), (keys * seconds) as usize);
        assert_eq!(
            tick.counts().iter().map(|count| count.value).sum::<u64>(),
            3 * u64::from(keys) * u64::from(seconds)
        );
    }

    #[test]
    fn a_cleared_tick_is_empty_and_counts_from_zero() {
        let mut tick = Tick::default();
        tick.record_ns(KeyId(3), 5_000);
        tick.add(KeyId(1), 7, 2);
        tick.add(KeyId(1), 7, 3);
        tick.add(KeyId(1), 8, 1);
        assert_eq!(tick.counts().iter().map(|c| c.value).collect::<Vec<_>>(), [5, 1]);
        tick.clear();
        assert_eq!((tick.histograms().count(), tick.counts().len()), (0, 0));
        tick.record_ns(KeyId(3), 5_000);
        assert_eq!(tick.histograms().map(|(k, h)| (k, h.count())).collect::<Vec<_>>(), [(KeyId(3), 1)]);
    }
}
