//! Stop rules: conditions on the ticks of a run, all so far together, that end it early.
//!
//! They read the same ticks as the archive and the live display. What counts for a rule is given with it, because a
//! key alone does not say how many requests a dropped arrival would have made.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use crate::delivered::DeliveredSeconds;
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

impl Watched {
    /// The value of so many successes, which took these `times`, and so many failures; infinite where too much failed, none
    /// where there is neither. Checks have no times.
    pub fn value(self, good: u64, bad: u64, times: &Histogram) -> Option<f64> {
        let all = good + bad;
        if all == 0 {
            return None;
        }
        let ms = |us: Option<f64>| us.map_or(f64::INFINITY, |us| us / 1_000.0);
        Some(match self {
            Watched::Quantile(q) => match times.quantile_with(q, bad) {
                Quantile::Finite(us) => us / 1_000.0,
                Quantile::Infinite | Quantile::Empty => f64::INFINITY,
            },
            Watched::Mean => ms(times.mean_us()),
            Watched::Max => ms(times.max_us().map(|us| us as f64)),
            Watched::Min => ms(times.min_us().map(|us| us as f64)),
            Watched::BadShare => bad as f64 / all as f64,
            Watched::GoodShare => good as f64 / all as f64,
        })
    }

    /// A value of the observations so far, in words.
    pub fn so_far(self, value: f64) -> String {
        match self {
            _ if value.is_infinite() => "too many failed".to_owned(),
            Watched::BadShare | Watched::GoodShare => format!("{:.2} % so far", value * 100.0),
            _ => format!("{value:.1} ms so far"),
        }
    }
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
        write!(f, "{objective}: {source} does not hold: {}", watched.so_far(*value))
    }
}

/// A rule while the run goes on.
#[derive(Debug, Clone, Copy)]
pub struct RuleState<'a> {
    /// The rule.
    pub rule: &'a StopRule,
    /// Its value so far, infinite where too much failed; none when nothing counted.
    pub value: Option<f64>,
    /// The second of the run since which it has not held; none while it holds.
    pub failing_since_s: Option<u32>,
}

/// The stop rules of a run, and what they have counted.
#[derive(Debug, Default)]
pub struct StopRules {
    rules: Vec<CountingRule>,
    delivered: DeliveredSeconds,
    /// How many seconds every loop had delivered when the rules were evaluated last.
    evaluated_s: u32,
}

#[derive(Debug)]
struct CountingRule {
    rule: StopRule,
    /// By loop and its key; what is ignored is left out.
    keys: HashMap<(Instance, KeyId), Counted>,
    times: Histogram,
    good: u64,
    bad: u64,
    /// When it was evaluated last.
    value: Option<f64>,
    failing_since_s: Option<u32>,
}

impl StopRules {
    /// The rules of a run with so many loops. Nothing is counted yet.
    pub fn new(rules: Vec<StopRule>, loops: u16) -> StopRules {
        let counting = |rule| CountingRule {
            rule,
            keys: HashMap::new(),
            times: Histogram::new(),
            good: 0,
            bad: 0,
            value: None,
            failing_since_s: None,
        };
        StopRules {
            rules: rules.into_iter().map(counting).collect(),
            delivered: DeliveredSeconds::new(loops),
            ..StopRules::default()
        }
    }

    /// Add one second of one loop. The rules are evaluated when every loop has delivered a further second.
    pub fn take(&mut self, tick: &Tick) {
        self.delivered.take(tick);
        for rule in &mut self.rules {
            rule.take(tick);
        }
        if let Some(passed_s) = self.delivered.by_all().filter(|passed_s| *passed_s > self.evaluated_s) {
            self.evaluated_s = passed_s;
            self.rules.iter_mut().for_each(|rule| rule.evaluate(passed_s));
        }
    }

    /// The first rule that does not hold for all that every loop has delivered. A rule that nothing counted for yet
    /// holds, and so do all rules of a run that is over: nothing is left to be stopped.
    pub fn violated(&self) -> Option<Violation> {
        let passed = Duration::from_secs(u64::from(self.delivered.by_all()?));
        self.rules
            .iter()
            .filter(|counting| counting.rule.not_before <= passed)
            .find_map(CountingRule::violation)
    }

    /// Every rule, in the order of the plan.
    pub fn states(&self) -> impl ExactSizeIterator<Item = RuleState<'_>> {
        self.rules.iter().map(|counting| RuleState {
            rule: &counting.rule,
            value: counting.value,
            failing_since_s: counting.failing_since_s,
        })
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

    /// Compute the value of all that was counted, once so many seconds have passed.
    fn evaluate(&mut self, passed_s: u32) {
        self.value = self.rule.watched.value(self.good, self.bad, &self.times);
        let fails = self.value.is_some_and(|value| !(self.rule.holds)(value));
        self.failing_since_s = fails.then(|| self.failing_since_s.unwrap_or(passed_s));
    }

    fn violation(&self) -> Option<Violation> {
        let StopRule { objective, source, watched, .. } = &self.rule;
        let value = self.value.filter(|_| self.failing_since_s.is_some())?;
        Some(Violation { objective: objective.clone(), source: source.clone(), value, watched: *watched })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Metric;
    use crate::outcome::Outcome;

    fn rules(watched: Watched, not_before_s: u64, bound: f64, loops: u16) -> StopRules {
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
        StopRules::new(vec![rule], loops)
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

    fn last(mut tick: Tick) -> Tick {
        tick.is_last = true;
        tick
    }

    #[test]
    fn everything_so_far_counts_and_dropped_arrivals_are_infinitely_slow() {
        let mut rules = rules(Watched::Quantile(0.5), 0, 50.0, 1);
        assert_eq!(rules.violated(), None);
        rules.take(&tick(0, 0, 10, 4));
        assert_eq!(rules.violated(), None, "8 of 18");
        rules.take(&tick(0, 1, 0, 2));
        let violation = rules.violated().unwrap();
        assert_eq!(violation.to_string(), "o: p95 < bound does not hold: too many failed");
    }

    #[test]
    fn a_rule_waits_for_every_loop_and_for_its_delay() {
        let mut rules = rules(Watched::BadShare, 2, 0.1, 2);
        for (loop_index, second) in [(0, 0), (1, 0), (0, 1)] {
            rules.take(&tick(loop_index, second, 6, 1));
            assert_eq!(rules.violated(), None, "second {second} of loop {loop_index}");
        }
        rules.take(&tick(1, 1, 6, 1));
        let violation = rules.violated().unwrap();
        assert_eq!(violation.to_string(), "o: p95 < bound does not hold: 25.00 % so far");
    }

    #[test]
    fn a_rule_waits_for_a_loop_that_has_not_delivered_anything() {
        let mut rules = rules(Watched::BadShare, 0, 0.1, 2);
        rules.take(&tick(0, 0, 6, 1));
        rules.take(&tick(0, 1, 6, 1));
        assert_eq!(rules.violated(), None);
        rules.take(&tick(1, 0, 6, 1));
        assert!(rules.violated().is_some());
    }

    #[test]
    fn a_rule_does_not_wait_for_a_loop_that_is_over() {
        let mut rules = rules(Watched::BadShare, 4, 0.1, 2);
        rules.take(&last(tick(1, 0, 6, 1)));
        for second in 0..3 {
            rules.take(&tick(0, second, 6, 1));
            assert_eq!(rules.violated(), None, "second {second}");
        }
        rules.take(&tick(0, 3, 6, 1));
        assert!(rules.violated().is_some());
    }

    #[test]
    fn the_rules_of_a_run_that_is_over_hold() {
        let mut rules = rules(Watched::BadShare, 0, 0.1, 2);
        for loop_index in [0, 1] {
            rules.take(&last(tick(loop_index, 0, 6, 1)));
        }
        assert_eq!(rules.violated(), None);
    }

    #[test]
    fn a_rule_has_its_value_and_since_when_it_fails() {
        let mut rules = rules(Watched::BadShare, 100, 0.3, 1);
        let mut states = Vec::new();
        for (second, good, dropped) in [(0, 0, 0), (1, 6, 1), (2, 0, 1), (3, 0, 1), (4, 30, 0), (5, 0, 30)] {
            rules.take(&tick(0, second, good, dropped));
            let state = rules.states().next().unwrap();
            states.push((state.value.map(|value| (value * 100.0) as u32), state.failing_since_s));
        }
        let expected =
            [(None, None), (Some(25), None), (Some(40), Some(3)), (Some(50), Some(3)), (Some(14), None)];
        assert_eq!(states[..5], expected);
        assert_eq!(states[5].1, Some(6));
    }

    #[test]
    fn a_rule_that_nothing_counted_for_holds() {
        let mut rules = rules(Watched::GoodShare, 0, 0.0, 1);
        rules.take(&tick(0, 0, 0, 0));
        assert_eq!(rules.violated(), None);
    }
}
