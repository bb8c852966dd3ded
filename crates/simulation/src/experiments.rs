//! Experiments whose truth is known: how often pairs show a difference that is not there, and one that is.

use evidence::{EffectScale, MetricVerdict};
use judge::experiment::{Bounds, Compared, Decision, KnownDeviation, Levels, decisions};
use stats::Looks;
use workload::experiment::{GateMetric, MOST_METRICS};
use workload::objective::parse_quantity;

use crate::random::Random;

/// The chance of a false alarm that experiments promise at most.
pub(crate) const LEVEL: f64 = 0.005;
/// Requests of a run.
const REQUESTS: f64 = 24_000.0;
/// The error of a time by its digits alone.
pub(crate) const TIME_ERROR: f64 = 0.000_5;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExperimentKind {
    /// What it is, in a few words.
    pub name: &'static str,
    /// How many metrics decide it; one of them is an error rate, the others are times.
    metrics: usize,
    /// The standard deviation of the difference of logarithms within pairs.
    deviation: f64,
    /// The true change of the first metric.
    effect: Effect,
    /// The true share of requests that fail in both arms.
    errors: f64,
    /// The share of A's and of B's runs in which the first metric is infinite.
    collapses: [f64; 2],
    /// How a run's effect is distributed.
    shape: Shape,
    pub promise: Promise,
}

/// The true change of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Effect {
    /// A share.
    Known(f64),
    /// As large as so many earlier pairs say is found with 95 % power.
    Visible { pairs: u32 },
}

/// How the effects of single runs are distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Normal,
    /// Student's t with 4 degrees of freedom, of the same deviation.
    HeavyTailed,
    /// Two levels, as of a runtime that ends in one of two states.
    TwoStates,
}

/// What is promised of the experiments of a kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Promise {
    /// A difference is shown in at most this share.
    AlarmsAtMost(f64),
    /// A regression is shown in at least this share.
    FoundAtLeast(f64),
    /// A regression is called none in at most this share.
    MissedAtMost(f64),
    /// Equivalence or no regression is shown in at least this share.
    ClearedAtLeast(f64),
}

/// What became of the experiments of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExperimentTally {
    pub experiments: u64,
    /// Any metric is REGRESSED or IMPROVED.
    pub alarms: u64,
    /// The first metric is REGRESSED.
    pub regressed: u64,
    /// The first metric is EQUIVALENT or NO_REGRESSION.
    pub cleared: u64,
    /// Pairs that were made, in all.
    pub pairs: u64,
}

pub(crate) const fn kind(
    name: &'static str,
    deviation: f64,
    effect: f64,
    promise: Promise,
) -> ExperimentKind {
    let (metrics, errors, shape) = (MOST_METRICS, 0.0005, Shape::Normal);
    let (effect, collapses) = (Effect::Known(effect), [0.0; 2]);
    ExperimentKind { name, metrics, deviation, effect, errors, collapses, shape, promise }
}

/// Every kind that is simulated.
pub fn experiments() -> Vec<ExperimentKind> {
    let same = |deviation| kind("A against A", deviation, 0.0, Promise::AlarmsAtMost(0.01));
    vec![
        same(0.01),
        same(0.03),
        same(0.10),
        ExperimentKind { name: "A against A, no failures", errors: 0.0, ..same(0.03) },
        ExperimentKind { name: "A against A, heavy tails", shape: Shape::HeavyTailed, ..same(0.03) },
        ExperimentKind { name: "A against A, two states", shape: Shape::TwoStates, ..same(0.03) },
        ExperimentKind { name: "A against A, one time", metrics: 2, ..same(0.03) },
        kind("5 % slower", 0.02, 0.05, Promise::FoundAtLeast(0.95)),
        kind("10 % slower", 0.04, 0.10, Promise::FoundAtLeast(0.95)),
        kind("20 % slower", 0.04, 0.20, Promise::FoundAtLeast(0.95)),
        kind("at the margin of 5 %", 0.02, 0.05, Promise::MissedAtMost(0.05)),
        kind("at the margin of 5 %", 0.05, 0.05, Promise::MissedAtMost(0.05)),
        kind("A against A", 0.02, 0.0, Promise::ClearedAtLeast(0.95)),
        ExperimentKind { name: "A against A, runs collapse", collapses: [0.02; 2], ..same(0.03) },
        ExperimentKind { name: "A against A, runs collapse", collapses: [0.30; 2], ..same(0.03) },
        ExperimentKind {
            name: "B collapses",
            collapses: [0.0, 1.0],
            ..kind("", 0.03, 0.0, Promise::FoundAtLeast(0.95))
        },
        visible(6),
        visible(10),
        visible(16),
    ]
}

/// A change that is as large as *visible* says after so many pairs.
fn visible(pairs: u32) -> ExperimentKind {
    let kind = kind("a change as large as is visible", 0.03, 0.0, Promise::FoundAtLeast(0.90));
    ExperimentKind { effect: Effect::Visible { pairs }, ..kind }
}

impl ExperimentKind {
    /// What is simulated, in one line.
    pub fn description(&self) -> String {
        let shape = match self.shape {
            Shape::Normal => "",
            Shape::HeavyTailed => ", t with 4 degrees of freedom",
            Shape::TwoStates => ", two levels",
        };
        let known = match self.effect {
            Effect::Known(_) => String::new(),
            Effect::Visible { pairs } => format!(" known from {pairs} pairs"),
        };
        let [a, b] = self.collapses.map(|share| share * 100.0);
        let collapses = if a + b > 0.0 {
            format!(", {a} % of A's and {b} % of B's runs collapse")
        } else {
            String::new()
        };
        format!(
            "{} metrics, standard deviation within pairs {} %{known}{shape}, {} % of requests fail{collapses}",
            self.metrics,
            self.deviation * 100.0,
            self.errors * 100.0
        )
    }

    /// So many experiments, which begin with this seed.
    pub fn run(&self, experiments: u64, seed: u64) -> ExperimentTally {
        let bounds = self.metrics().iter().map(Bounds::for_metric).collect();
        let design = SimulatedDesign { looks: Looks::default(), levels: Levels::for_alarm(LEVEL), bounds };
        let mut tally = ExperimentTally::default();
        for number in 0..experiments {
            self.one(&design, &mut Random::new(seed.wrapping_add(number)), &mut tally);
        }
        tally
    }

    pub(crate) fn metrics(&self) -> Vec<GateMetric> {
        let of = |text: &str| {
            let quantity = parse_quantity(text, &|_| true).expect("the text of a metric is a measure");
            GateMetric::new(text, text, quantity)
        };
        let times = (1..self.metrics).map(|_| of("p50(list)"));
        times.chain([of("error_rate(all)")]).collect()
    }

    fn one(&self, design: &SimulatedDesign, random: &mut Random, tally: &mut ExperimentTally) {
        let (mut squares, mut made) = (0.0, 0.0_f64);
        let effect = self.effect_of(design, random);
        let (pairs, found) = until_decided(design, |differences| {
            squares += self.pair(differences, effect, random);
            made += 1.0;
            let mut least = vec![TIME_ERROR; self.metrics];
            least[self.metrics - 1] = (squares / made).sqrt();
            least
        });
        tally.add(pairs, &found);
    }

    /// The true change of an experiment's first metric, as a logarithm.
    fn effect_of(&self, design: &SimulatedDesign, random: &mut Random) -> f64 {
        match self.effect {
            Effect::Known(share) => share.ln_1p(),
            Effect::Visible { pairs } => {
                let earlier: Vec<f64> = (0..pairs).map(|_| self.difference(random)).collect();
                let deviation = stats::standard_deviation(&earlier).unwrap_or_default();
                let known = KnownDeviation { deviation, pairs, scale: EffectScale::Relative };
                let level = design.looks.nominal(design.levels.alarm / self.metrics as f64);
                known.smallest_detectable(design.looks.last(), level).unwrap_or_default().ln_1p()
            }
        }
    }

    /// The difference of two runs of which one collapses, or both; none where neither does.
    fn of_collapses(&self, random: &mut Random) -> Option<f64> {
        if self.collapses == [0.0; 2] {
            return None;
        }
        match self.collapses.map(|share| random.uniform() < share) {
            [false, false] => None,
            [false, true] => Some(f64::INFINITY),
            [true, false] => Some(f64::NEG_INFINITY),
            [true, true] => Some(f64::NAN),
        }
    }

    /// The difference of two runs without a true change.
    pub(crate) fn difference(&self, random: &mut Random) -> f64 {
        self.deviation / 2_f64.sqrt() * (self.shape.draw(random) - self.shape.draw(random))
    }

    /// Another pair; returns the variance of its error rates by counting.
    pub(crate) fn pair(&self, differences: &mut [Vec<f64>], effect: f64, random: &mut Random) -> f64 {
        let (errors, times) = differences.split_last_mut().expect("one metric is the error rate");
        for (metric, differences) in times.iter_mut().enumerate() {
            differences.push(match metric {
                0 => self.of_collapses(random).unwrap_or(effect + self.difference(random)),
                _ => self.difference(random),
            });
        }
        let [a, b] = [self.failed(random), self.failed(random)];
        errors.push((b - a) / REQUESTS);
        let variance = |failed: f64| {
            let share = (failed + 0.5) / (REQUESTS + 1.0);
            let clustered = if failed == 0.0 { 10.0 } else { 1.0 };
            clustered * share * (1.0 - share) / REQUESTS
        };
        variance(a) + variance(b)
    }

    /// How many requests of a run fail: few of many, which is Poisson's.
    fn failed(&self, random: &mut Random) -> f64 {
        let mut failed = 0.0;
        let mut left = REQUESTS * self.errors - random.exponential(1.0);
        while left > 0.0 {
            failed += 1.0;
            left -= random.exponential(1.0);
        }
        failed
    }
}

/// What all experiments of a kind share.
pub(crate) struct SimulatedDesign {
    pub(crate) looks: Looks,
    pub(crate) levels: Levels,
    pub(crate) bounds: Vec<Bounds>,
}

/// Pair after pair, as an experiment is made, until it is decided: after how many, and how. `next` adds the differences of a
/// pair to those of each metric and returns the least deviation of each that may be taken for known.
pub(crate) fn until_decided(
    design: &SimulatedDesign,
    mut next: impl FnMut(&mut [Vec<f64>]) -> Vec<f64>,
) -> (u32, Vec<Decision>) {
    let mut differences: Vec<Vec<f64>> = vec![Vec::new(); design.bounds.len()];
    let mut found = Vec::new();
    for made in 1..=design.looks.last() {
        let least = next(&mut differences);
        if !design.looks.at().contains(&made) {
            continue;
        }
        let compared = design.bounds.iter().zip(&differences).zip(least);
        let compared: Vec<Option<Compared<'_>>> = compared
            .map(|((bounds, differences), least)| {
                Some(Compared { bounds: *bounds, differences, without_lag: None, least })
            })
            .collect();
        found = decisions(&design.looks, design.levels, &compared);
        let has = |verdict| found.iter().any(|decision| decision.verdict == verdict);
        if has(MetricVerdict::Regressed) || !has(MetricVerdict::Inconclusive) {
            return (made, found);
        }
    }
    (design.looks.last(), found)
}

impl ExperimentTally {
    pub(crate) fn add(&mut self, pairs: u32, found: &[Decision]) {
        let is_alarm = |verdict| matches!(verdict, MetricVerdict::Regressed | MetricVerdict::Improved);
        let first = found[0].verdict;
        self.experiments += 1;
        self.alarms += u64::from(found.iter().any(|decision| is_alarm(decision.verdict)));
        self.regressed += u64::from(first == MetricVerdict::Regressed);
        self.cleared += u64::from(matches!(first, MetricVerdict::Equivalent | MetricVerdict::NoRegression));
        self.pairs += u64::from(pairs);
    }
}

impl Shape {
    /// A value with mean 0 and standard deviation 1.
    fn draw(self, random: &mut Random) -> f64 {
        match self {
            Shape::Normal => random.normal(),
            Shape::HeavyTailed => {
                let squares: f64 = (0..4).map(|_| random.normal().powi(2)).sum();
                // A t with 4 degrees of freedom has a variance of 2.
                random.normal() / (squares / 4.0).sqrt() / 2_f64.sqrt()
            }
            Shape::TwoStates => {
                if random.uniform() < 0.5 {
                    -1.0
                } else {
                    1.0
                }
            }
        }
    }
}

impl ExperimentTally {
    /// The share that the promise is about, 0 to 1.
    pub fn share(&self, promise: Promise) -> f64 {
        self.count(promise) as f64 / self.experiments.max(1) as f64
    }

    /// How many the promise is about.
    pub fn count(&self, promise: Promise) -> u64 {
        match promise {
            Promise::AlarmsAtMost(_) => self.alarms,
            Promise::FoundAtLeast(_) => self.regressed,
            Promise::MissedAtMost(_) | Promise::ClearedAtLeast(_) => self.cleared,
        }
    }

    /// The limits of the share at 95 %, each one-sided (Clopper and Pearson).
    pub fn limits(&self, promise: Promise) -> (f64, f64) {
        let limits = stats::share_limits(self.count(promise) as f64, self.experiments as f64, 0.95);
        (limits.lower, limits.upper)
    }

    /// Whether the promise is kept, as far as chance allows to say: the exact one-sided limit at 99.9 % does not contradict
    /// it.
    pub fn keeps(&self, promise: Promise) -> bool {
        let (k, n) = (self.count(promise) as f64, self.experiments as f64);
        let limits = stats::share_limits(k, n, 0.999);
        match promise {
            Promise::AlarmsAtMost(most) | Promise::MissedAtMost(most) => limits.lower <= most,
            Promise::FoundAtLeast(least) | Promise::ClearedAtLeast(least) => limits.upper >= least,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Few, so that tests are fast: the published table has many.
    const EXPERIMENTS: u64 = 300;

    #[test]
    fn experiments_keep_their_promises() {
        for kind in experiments() {
            let tally = kind.run(EXPERIMENTS, 1);
            assert!(tally.keeps(kind.promise), "{} ({}): {tally:?}", kind.name, kind.description());
        }
    }

    #[test]
    fn a_broken_promise_is_seen() {
        let tally =
            ExperimentTally { experiments: 300, alarms: 15, regressed: 240, ..ExperimentTally::default() };
        assert!(!tally.keeps(Promise::AlarmsAtMost(0.01)));
        assert!(!tally.keeps(Promise::FoundAtLeast(0.95)));
    }

    /// What is printed is found with 95 % where the true deviation is not above its upper 80 % limit.
    #[test]
    fn in_eight_of_ten_experiments_what_is_visible_has_the_power_that_is_promised() {
        for pairs in [6, 10, 16] {
            let kind = visible(pairs);
            let looks = Looks::default();
            let (last, nominal) = (looks.last(), looks.nominal(LEVEL / kind.metrics as f64));
            let design = SimulatedDesign { looks, levels: Levels::for_alarm(LEVEL), bounds: Vec::new() };
            let has_power = |seed: &u64| {
                let effect = kind.effect_of(&design, &mut Random::new(*seed));
                stats::power(effect / kind.deviation, last, nominal) >= 0.95
            };
            let kept = (0..2_000).filter(has_power).count();
            let limits = stats::share_limits(kept as f64, 2_000.0, 0.999);
            assert!(limits.upper >= 0.8 && limits.lower <= 0.8, "after {pairs} pairs: {kept} of 2000");
        }
    }

    #[test]
    fn large_effects_need_fewer_pairs() {
        let pairs = |effect| kind("", 0.03, effect, Promise::FoundAtLeast(0.5)).run(100, 1).pairs;
        assert!(pairs(0.2) < pairs(0.05));
    }
}
