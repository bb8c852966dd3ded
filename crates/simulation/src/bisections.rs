//! Bisections of a history with one planted commit: how often all steps are right, so that this commit is named.

use evidence::MetricVerdict;
use judge::experiment::{Bounds, Levels};
use stats::Looks;
use workload::experiment::GateMetric;
use workload::objective::parse_quantity;

use crate::experiments::{LEVEL, SimulatedDesign, until_decided};
use crate::flipped::Experiments;
use crate::random::Random;

/// After how many pairs a step of a bisection is looked at, as by `plimsoll ab --bisect`.
const LOOKS: [u32; 6] = [8, 12, 16, 20, 30, 40];
/// The chance that a step calls a change as large as the margin none.
const EXCLUSION: f64 = 0.005;
/// The error of a time by its digits alone.
const TIME_ERROR: f64 = 0.000_5;
/// Of 128 commits.
const STEPS: u32 = 7;
/// A commit is the planted one with the share of seven right steps in a row.
pub const RIGHT_AT_LEAST: f64 = 0.95;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BisectionKind {
    /// How much slower everything is from the planted commit on.
    pub effect: f64,
    /// The standard deviation of the difference of logarithms within pairs.
    pub deviation: f64,
}

/// What became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BisectionTally {
    pub bisections: u64,
    /// Every step was right.
    pub right: u64,
    /// A step was wrong: another commit is named.
    pub wrong: u64,
    /// No step was wrong, and one had no answer: git takes another commit.
    pub skipped: u64,
    /// Pairs that were made, in all.
    pub pairs: u64,
}

/// Every kind that is simulated; one metric decides, with a margin of half of the effect.
pub fn bisections() -> Vec<BisectionKind> {
    [(0.10, 0.02), (0.10, 0.03), (0.10, 0.04), (0.20, 0.08)]
        .map(|(effect, deviation)| BisectionKind { effect, deviation })
        .to_vec()
}

impl BisectionKind {
    /// The change that is accepted, as a share.
    pub fn margin(&self) -> f64 {
        self.effect / 2.0
    }

    /// So many bisections.
    pub fn run(&self, experiments: Experiments) -> BisectionTally {
        let quantity = parse_quantity("p50(list)", &|_| true).expect("the text of a metric is a measure");
        let metric = GateMetric { margin: self.margin(), ..GateMetric::new("p50", "p50(list)", quantity) };
        let bounds = vec![Bounds::for_metric(&metric)];
        let looks = Looks::new(&LOOKS).expect("there are constants for these looks");
        let design = SimulatedDesign { looks, levels: Levels { alarm: LEVEL, exclusion: EXCLUSION }, bounds };
        let mut tally = BisectionTally::default();
        for number in 0..experiments.count {
            self.simulate(&design, &mut Random::new(experiments.seed.wrapping_add(number)), &mut tally);
        }
        tally
    }

    fn simulate(&self, design: &SimulatedDesign, random: &mut Random, tally: &mut BisectionTally) {
        let (mut is_wrong, mut is_skipped) = (false, false);
        for _ in 0..STEPS {
            let is_bad = random.uniform() < 0.5;
            let effect = if is_bad { self.effect.ln_1p() } else { 0.0 };
            let (pairs, found) = until_decided(design, |differences| {
                differences[0].push(effect + self.deviation * random.normal());
                vec![TIME_ERROR]
            });
            tally.pairs += u64::from(pairs);
            match found.first().map(|decision| decision.verdict) {
                Some(MetricVerdict::Regressed) => is_wrong |= !is_bad,
                Some(MetricVerdict::NotShown | MetricVerdict::Inconclusive | MetricVerdict::Invalid)
                | None => is_skipped = true,
                Some(_) => is_wrong |= is_bad,
            }
        }
        tally.bisections += 1;
        tally.wrong += u64::from(is_wrong);
        tally.skipped += u64::from(is_skipped && !is_wrong);
        tally.right += u64::from(!is_wrong && !is_skipped);
    }
}

impl BisectionTally {
    /// The exact limits at 95 % of the share of bisections that are right, 0 to 1: lower, upper.
    pub fn limits(&self) -> [f64; 2] {
        let limits = stats::share_limits(self.right as f64, self.bisections as f64, 0.95);
        [limits.lower, limits.upper]
    }

    /// Whether as many as promised are right, as far as chance allows to say.
    pub fn meets_target(&self) -> bool {
        stats::share_limits(self.right as f64, self.bisections as f64, 0.999).upper >= RIGHT_AT_LEAST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seven_steps_are_right_as_often_as_promised() {
        for kind in bisections() {
            let tally = kind.run(Experiments { count: 200, seed: 1 });
            assert!(tally.meets_target(), "{kind:?} {tally:?}");
            assert_eq!(tally.right + tally.wrong + tally.skipped, tally.bisections);
        }
        let noisy = BisectionKind { effect: 0.10, deviation: 0.20 };
        let tally = noisy.run(Experiments { count: 200, seed: 1 });
        assert!(!tally.meets_target() && tally.wrong < 10, "what has no answer is not called: {tally:?}");
    }
}
