//! Stop rules: conditions on the ticks of a run, all so far together, that end it early.
//!
//! They read the same ticks as the archive and the live display. What counts for a rule is given with it, because a
//! key alone does not say how many requests a dropped arrival would have made.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::time::Duration;

use crate::histogram::{Histogram, Quantile};
use crate::instance::Instance;
use crate::key::{Key, KeyId};
use crate::tick::Tick;

/// What the observations of a key are to a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// They do not count.
    Ignored,
    /// Successes.
    Good,
    /// Failures, each so many times. A quantile takes them as infinitely slow.
    Bad(u64),
}

/// The number that a rule compares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Watched {
    /// This quantile (0 to 1), in ms.
    Quantile(f64),
    /// The mean of successes, in ms.
    Mean,
    /// The longest success, in ms.
    Max,
    /// The shortest success, in ms.
    Min,
    /// The failed share, 0 to 1.
    BadShare,
    /// The share that is good, 0 to 1.
    GoodShare,
}

/// A condition that ends a run when it does not hold.
pub struct StopRule {
    /// The objective's name.
    pub objective: String,
    /// The objective as the plan states it.
    pub source: String,
    /// From when on it is evaluated, on the run's clock.
    pub not_before: Duration,
    /// What is compared.
    pub watched: Watched,
    /// What a key's observations are to it.
    pub counted: Box<dyn Fn(&Key) -> Counted + Send>,
    /// Whether a value meets the bound.
    pub holds: Box<dyn Fn(f64) -> bool + Send>,
}

impl fmt::Debug for StopRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StopRule").field("objective", &self.objective).finish_non_exhaustive()
    }
}

/// A rule that did not hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Violation {
    /// The objective's name.
    pub objective: String,
    /// The objective as the plan states it.
    pub source: String,
    /// The value so far; infinite where too much failed.
    pub value: f64,
    /// What the value is.
    pub watched: Watched,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation { objective, source, value, watched } = self;
        write!(f, "{objective}: {source} does not hold: ")?;
        match watched {
            _ if value.is_infinite() => f.write_str("too many failed"),
            Watched::BadShare | Watched::GoodShare => write!(f, "{:.2} % so far", value * 100.0),
            _ => write!(f, "{value:.1} ms so far"),
        }
    }
}

/// The stop rules of a run, and what they have counted.
#[derive(Debug, Default)]
pub struct StopRules {
    rules: Vec<CountingRule>,
    /// How many whole seconds each loop has delivered.
    delivered_s: BTreeMap<Instance, u32>,
}

#[derive(Debug)]
struct CountingRule {
    rule: StopRule,
    /// By loop and its key; what is ignored is left out.
    keys: HashMap<(Instance, KeyId), Counted>,
    times: Histogram,
    good: u64,
    bad: u64,
}

impl StopRules {
    /// Nothing is counted yet.
    pub fn new(rules: Vec<StopRule>) -> StopRules {
        let counting =
            |rule| CountingRule { rule, keys: HashMap::new(), times: Histogram::new(), good: 0, bad: 0 };
        StopRules { rules: rules.into_iter().map(counting).collect(), delivered_s: BTreeMap::new() }
    }

    /// Add one second of one loop.
    pub fn take(&mut self, tick: &Tick) {
        self.delivered_s.insert(tick.instance, tick.second + 1);
        for rule in &mut self.rules {
            rule.take(tick);
        }
    }

    /// The first rule that does not hold for all that every loop has delivered. A rule that nothing counted for yet
    /// holds.
    pub fn violated(&self) -> Option<Violation> {
        let passed = Duration::from_secs(u64::from(self.delivered_s.values().copied().min()?));
        self.rules
            .iter()
            .filter(|counting| counting.rule.not_before <= passed)
            .find_map(CountingRule::violated)
    }
}

impl CountingRule {
    fn take(&mut self, tick: &Tick) {
        for (id, key) in &tick.new_keys {
            match (self.rule.counted)(key) {
                Counted::Ignored => {}
                counted => {
                    self.keys.insert((tick.instance, *id), counted);
                }
            }
        }
        for (id, histogram) in tick.histograms() {
            match self.keys.get(&(tick.instance, id)) {
                Some(Counted::Good) => {
                    self.good += histogram.count();
                    self.times.merge(histogram);
                }
                Some(Counted::Bad(times)) => self.bad += histogram.count() * times,
                Some(Counted::Ignored) | None => {}
            }
        }
        for count in tick.counts() {
            match self.keys.get(&(tick.instance, count.key)) {
                Some(Counted::Good) => self.good += count.value,
                Some(Counted::Bad(times)) => self.bad += count.value * times,
                Some(Counted::Ignored) | None => {}
            }
        }
    }

    fn violated(&self) -> Option<Violation> {
        let StopRule { objective, source, watched, holds, .. } = &self.rule;
        let value = self.value().filter(|value| !holds(*value))?;
        Some(Violation { objective: objective.clone(), source: source.clone(), value, watched: *watched })
    }

    /// The value so far; none when nothing counted.
    fn value(&self) -> Option<f64> {
        let all = self.good + self.bad;
        if all == 0 {
            return None;
        }
        let ms = |us: Option<f64>| us.map_or(f64::INFINITY, |us| us / 1_000.0);
        Some(match self.rule.watched {
            Watched::Quantile(q) => match self.times.quantile_with(q, self.bad) {
                Quantile::Finite(us) => us / 1_000.0,
                Quantile::Infinite | Quantile::Empty => f64::INFINITY,
            },
            Watched::Mean => ms(self.times.mean_us()),
            Watched::Max => ms(self.times.max_us().map(|us| us as f64)),
            Watched::Min => ms(self.times.min_us().map(|us| us as f64)),
            Watched::BadShare => self.bad as f64 / all as f64,
            Watched::GoodShare => self.good as f64 / all as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Metric;
    use crate::outcome::Outcome;

    fn rules(watched: Watched, not_before_s: u64, bound: f64) -> StopRules {
        let rule = StopRule {
            objective: "o".to_owned(),
            source: "p95 < bound".to_owned(),
            not_before: Duration::from_secs(not_before_s),
            watched,
            counted: Box::new(|key| match (key.metric, key.outcome) {
                (Metric::ResponseTime, Some(Outcome::Ok)) => Counted::Good,
                (Metric::ResponseTime, _) => Counted::Bad(1),
                (Metric::DroppedCap, _) => Counted::Bad(2),
                _ => Counted::Ignored,
            }),
            holds: Box::new(move |value| value < bound),
        };
        StopRules::new(vec![rule])
    }

    /// A second of a loop: so many successes of 10 ms, and so many dropped arrivals.
    fn tick(loop_index: u16, second: u32, good: u64, dropped: u64) -> Tick {
        let mut tick = Tick::default();
        (tick.instance, tick.second) = (Instance::of_loop(loop_index), second);
        let keys = [
            (KeyId(0), Key::of(Metric::ResponseTime).outcome(Outcome::Ok)),
            (KeyId(1), Key::of(Metric::DroppedCap)),
            (KeyId(2), Key::of(Metric::StartLag)),
        ];
        if second == 0 {
            tick.new_keys.extend(keys);
        }
        (0..good).for_each(|_| tick.record_ns(KeyId(0), 10_000_000));
        tick.record_ns(KeyId(2), 900_000_000);
        tick.add(KeyId(1), second, dropped);
        tick
    }

    #[test]
    fn everything_so_far_counts_and_dropped_arrivals_are_infinitely_slow() {
        let mut rules = rules(Watched::Quantile(0.5), 0, 50.0);
        assert_eq!(rules.violated(), None);
        rules.take(&tick(0, 0, 10, 4));
        assert_eq!(rules.violated(), None, "8 of 18");
        rules.take(&tick(0, 1, 0, 2));
        let violation = rules.violated().unwrap();
        assert_eq!(violation.to_string(), "o: p95 < bound does not hold: too many failed");
    }

    #[test]
    fn a_rule_waits_for_every_loop_and_for_its_delay() {
        let mut rules = rules(Watched::BadShare, 2, 0.1);
        for (loop_index, second) in [(0, 0), (1, 0), (0, 1)] {
            rules.take(&tick(loop_index, second, 6, 1));
            assert_eq!(rules.violated(), None, "second {second} of loop {loop_index}");
        }
        rules.take(&tick(1, 1, 6, 1));
        let violation = rules.violated().unwrap();
        assert_eq!(violation.to_string(), "o: p95 < bound does not hold: 25.00 % so far");
    }

    #[test]
    fn a_rule_that_nothing_counted_for_holds() {
        let mut rules = rules(Watched::GoodShare, 0, 0.0);
        rules.take(&tick(0, 0, 0, 0));
        assert_eq!(rules.violated(), None);
    }
}
