//! Experiments in turn on a machine whose speed wanders between runs, with a probe that sees it and without: how often pairs show a
//! difference that is not there, and one that is.
//!
//! Each experiment has a calibration of its own, whose pairs of A against A say whether the first metric is corrected and by how much.

use judge::experiment::{Bounds, FEWEST_PROBED_PAIRS, Levels, probe_gain};
use stats::Looks;

use crate::experiments::{
    ExperimentKind, ExperimentTally, LEVEL, Promise, SimulatedDesign, TIME_ERROR, kind, until_decided,
};
use crate::flipped::Experiments;
use crate::random::Random;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProbedKind {
    /// What it is, in a few words.
    pub name: &'static str,
    /// The metrics, as they would be on a machine of one speed.
    steady: ExperimentKind,
    /// The standard deviation of the difference of the machine's speed within pairs: of logarithms.
    wander: f64,
    /// What of the probe's difference is not the machine's, in the same way; none without a probe.
    probe_error: Option<f64>,
    /// The true change of the first metric, as a share.
    effect: f64,
    pub promise: Promise,
}

/// Every kind that is simulated.
pub fn probed() -> Vec<ProbedKind> {
    let of = |name, effect, probe_error, promise| ProbedKind {
        name,
        steady: kind(name, 0.01, 0.0, promise),
        wander: 0.11,
        probe_error,
        effect,
        promise,
    };
    let (same, slower) = ("wandering speed, A against A", "wandering speed, 5 % more CPU");
    let (no_alarm, found) = (Promise::AlarmsAtMost(0.01), Promise::FoundAtLeast(0.90));
    // What is found without a probe, or with one that sees little, is no promise.
    let shown = Promise::FoundAtLeast(0.0);
    vec![
        of(same, 0.0, None, no_alarm),
        of(same, 0.0, Some(0.01), no_alarm),
        of(same, 0.0, Some(0.11), no_alarm),
        of(slower, 0.05, None, shown),
        of(slower, 0.05, Some(0.01), found),
        of(slower, 0.05, Some(0.11), shown),
    ]
}

impl ProbedKind {
    /// What is simulated, in one line.
    pub fn description(&self) -> String {
        let probe = match self.probe_error {
            None => "no probe".to_owned(),
            Some(error) => format!(
                "a probe with an error of {} %, calibrated by {FEWEST_PROBED_PAIRS} pairs",
                error * 100.0
            ),
        };
        let machine = self.wander * 100.0;
        format!("{}; the machine's speed {machine} %, {probe}", self.steady.description())
    }

    /// So many experiments.
    pub fn run(&self, many: Experiments) -> ExperimentTally {
        let bounds = self.steady.metrics().iter().map(Bounds::for_metric).collect();
        let design = SimulatedDesign { looks: Looks::default(), levels: Levels::for_alarm(LEVEL), bounds };
        let mut tally = ExperimentTally::default();
        for number in 0..many.count {
            self.one(&design, &mut Random::new(many.seed.wrapping_add(number)), &mut tally);
        }
        tally
    }

    fn one(&self, design: &SimulatedDesign, random: &mut Random, tally: &mut ExperimentTally) {
        let slope = self.calibrated_slope(random);
        let (mut squares, mut made) = (0.0, 0.0_f64);
        let (pairs, found) = until_decided(design, |differences| {
            squares += self.steady.pair(differences, self.effect.ln_1p(), random);
            made += 1.0;
            let [machine, probe] = self.speeds(random);
            if let Some(first) = differences[0].last_mut() {
                *first += machine - slope * probe;
            }
            let mut least = vec![TIME_ERROR; differences.len()];
            least[differences.len() - 1] = (squares / made).sqrt();
            least
        });
        tally.add(pairs, &found);
    }

    /// By how much of the probe's change the first metric is corrected: 0 where the calibration does not show that it helps.
    fn calibrated_slope(&self, random: &mut Random) -> f64 {
        let pair = |_| {
            let [machine, probe] = self.speeds(random);
            (self.steady.difference(random) + machine, probe)
        };
        let (differences, of_probe): (Vec<f64>, Vec<f64>) = (0..FEWEST_PROBED_PAIRS).map(pair).unzip();
        let gain = probe_gain(&differences, &of_probe).filter(|gain| gain.is_enough);
        gain.filter(|_| self.probe_error.is_some()).map_or(0.0, |gain| gain.slope)
    }

    /// How much slower the machine is in B's run than in A's, and what the probe says of it.
    fn speeds(&self, random: &mut Random) -> [f64; 2] {
        let machine = self.wander * random.normal();
        [machine, machine + self.probe_error.unwrap_or_default() * random.normal()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Few, so that tests are fast: the published table has many.
    const MANY: Experiments = Experiments { count: 1_000, seed: 1 };

    #[test]
    fn a_machine_whose_speed_wanders_raises_no_alarm_and_a_probe_that_sees_it_finds_what_it_hides() {
        let kinds = probed();
        let tallies: Vec<ExperimentTally> = kinds.iter().map(|kind| kind.run(MANY)).collect();
        for (kind, tally) in kinds.iter().zip(&tallies) {
            assert!(tally.keeps(kind.promise), "{} ({}): {tally:?}", kind.name, kind.description());
        }
        let found = |at: usize| tallies[at].share(Promise::FoundAtLeast(0.0));
        assert!(found(3) < 0.05 && found(4) > 0.9 && found(3) <= found(5), "{tallies:?}");
    }

    /// A probe that sees nothing must not be taken for one that does.
    #[test]
    fn a_probe_that_sees_nothing_seldom_seems_to_help() {
        let mut random = Random::new(1);
        let pair = |random: &mut Random| [0.1 * random.normal(), 0.1 * random.normal()];
        let seems = (0..4_000).filter(|_| {
            let drawn: Vec<[f64; 2]> = (0..FEWEST_PROBED_PAIRS).map(|_| pair(&mut random)).collect();
            let side = |at: usize| -> Vec<f64> { drawn.iter().map(|pair| pair[at]).collect() };
            probe_gain(&side(0), &side(1)).is_some_and(|gain| gain.is_enough)
        });
        let share = seems.count() as f64 / 4_000.0;
        assert!(share < 0.05, "{share}");
    }
}
