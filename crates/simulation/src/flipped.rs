//! Live pairs of A against A, of which a coin decides which run is A: experiments without a difference, with all that a real
//! host does to a run.
//!
//! If both arms are the same, each pair is as likely with its sides exchanged. Each experiment draws its pairs from those that
//! were made, in random order, and flips each by a coin. A planted effect is added to the first metric.

use judge::experiment::{Bounds, Differences, Levels, SlotValue};
use stats::Looks;
use workload::experiment::GateMetric;

use crate::experiments::{ExperimentTally, LEVEL, SimulatedDesign, until_decided};
use crate::random::Random;

/// Pairs of A against A, by metric.
#[derive(Debug, Clone)]
pub struct LivePairs {
    bounds: Vec<Bounds>,
    metrics: Vec<Differences>,
    pairs: usize,
}

/// Why pairs cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unusable(pub String);

impl LivePairs {
    /// The pairs of these metrics.
    ///
    /// # Errors
    /// [`Unusable`] where a metric has no value in a pair, or there are fewer pairs than an experiment has.
    pub fn new(metrics: &[GateMetric], values: &[Vec<[SlotValue; 2]>]) -> Result<LivePairs, Unusable> {
        let pairs = values.first().map_or(0, Vec::len);
        let needed = Looks::default().last();
        if pairs < needed as usize {
            return Err(Unusable(format!("{pairs} pairs, and an experiment has up to {needed}")));
        }
        let differences = |(metric, values): (&GateMetric, &Vec<[SlotValue; 2]>)| {
            Differences::of_all(metric, values)
                .map_err(|why| Unusable(format!("`{}` cannot be used: {why}", metric.name)))
        };
        Ok(LivePairs {
            bounds: metrics.iter().map(Bounds::for_metric).collect(),
            metrics: metrics.iter().zip(values).map(differences).collect::<Result<_, _>>()?,
            pairs,
        })
    }

    /// The standard deviation of the differences of each metric.
    pub fn deviations(&self) -> Vec<f64> {
        let deviation = |differences: &Differences| stats::standard_deviation(&differences.values);
        self.metrics.iter().map(|metric| deviation(metric).unwrap_or_default()).collect()
    }

    /// So many experiments from this seed on, in which metric `planted` (from 0) of B is this much more than A's: 0.05 is
    /// 5 %. The tally's `regressed` is that of the planted metric.
    pub fn run(&self, planted: usize, effect: f64, many: Experiments) -> ExperimentTally {
        let design = SimulatedDesign {
            looks: Looks::default(),
            levels: Levels::for_alarm(LEVEL),
            bounds: self.bounds.clone(),
        };
        let mut tally = ExperimentTally::default();
        for number in 0..many.count {
            let mut random = Random::new(many.seed.wrapping_add(number));
            let mut left: Vec<usize> = (0..self.pairs).collect();
            let (pairs, mut found) = until_decided(&design, |differences| {
                let drawn = left.swap_remove((random.uniform() * left.len() as f64) as usize % left.len());
                let sign = if random.uniform() < 0.5 { -1.0 } else { 1.0 };
                for (at, (metric, differences)) in self.metrics.iter().zip(differences).enumerate() {
                    let shift = if at == planted { effect.ln_1p() } else { 0.0 };
                    differences.push(sign * metric.values[drawn] + shift);
                }
                self.metrics.iter().map(|metric| metric.least).collect()
            });
            found.swap(0, planted);
            tally.add(pairs, &found);
        }
        tally
    }
}

/// How many experiments, from which seed on.
#[derive(Debug, Clone, Copy)]
pub struct Experiments {
    pub count: u64,
    /// Of the first; the next one has the next number.
    pub seed: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::objective::parse_quantity;

    fn metric(of: &str) -> GateMetric {
        GateMetric::new(of, of, parse_quantity(of, &|_| true).unwrap())
    }

    fn pairs(count: usize) -> Vec<[SlotValue; 2]> {
        let mut random = Random::new(3);
        let known = |value: f64| SlotValue::Known { value, error: 0.0005, lag: 0.0 };
        (0..count).map(|_| [known(10.0), known(10.0 * (0.02 * random.normal()).exp())]).collect()
    }

    #[test]
    fn flipped_pairs_hardly_raise_alarms_and_a_planted_effect_is_found() {
        let metrics = [metric("p50(list)"), metric("p95(list)")];
        let live = LivePairs::new(&metrics, &[pairs(30), pairs(30)]).unwrap();
        let many = Experiments { count: 400, seed: 1 };
        let same = live.run(0, 0.0, many);
        assert!(same.alarms <= 6, "{same:?}");
        assert!(live.run(1, 0.10, many).regressed > 380);
        assert!((live.deviations()[1] - 0.02).abs() < 0.01, "{:?}", live.deviations());
        assert!(LivePairs::new(&metrics, &[pairs(10), pairs(10)]).is_err());
    }
}
