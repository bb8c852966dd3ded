//! How small a probability must be at each look, so that all looks together are no more often wrong than one test: where the
//! constants of [`stats::Looks`] come from.

use crate::random::Random;

/// The lowest two-sided probability of each sequence over looks after these numbers of pairs, and its lowest one-sided one;
/// both ascending.
pub(crate) struct LowestProbabilities {
    two_sided: Vec<f64>,
    one_sided: Vec<f64>,
}

impl LowestProbabilities {
    /// Of so many sequences of normal differences without an effect, from this seed on.
    pub(crate) fn simulate(looks: &[u32], sequences: usize, seed: u64) -> LowestProbabilities {
        let mut random = Random::new(seed);
        let mut lowest = LowestProbabilities { two_sided: Vec::new(), one_sided: Vec::new() };
        for _ in 0..sequences {
            let (mut sum, mut squares, mut made) = (0.0, 0.0, 0_u32);
            let (mut two, mut one) = (1.0_f64, 1.0_f64);
            for look in looks {
                for _ in made..*look {
                    let difference = random.normal();
                    sum += difference;
                    squares += difference * difference;
                }
                made = *look;
                let n = f64::from(made);
                let variance = (squares - sum * sum / n) / (n - 1.0);
                let t = sum / n / (variance / n).sqrt();
                let p = stats::t_two_sided(t, made - 1);
                two = two.min(p);
                one = one.min(if t > 0.0 { p / 2.0 } else { 1.0 - p / 2.0 });
            }
            lowest.two_sided.push(two);
            lowest.one_sided.push(one);
        }
        lowest.two_sided.sort_by(f64::total_cmp);
        lowest.one_sided.sort_by(f64::total_cmp);
        lowest
    }

    /// The two-sided nominal probability at which this share of the sequences rejects.
    pub(crate) fn two_sided(&self, level: f64) -> f64 {
        at(&self.two_sided, level)
    }

    pub(crate) fn one_sided(&self, level: f64) -> f64 {
        at(&self.one_sided, level)
    }
}

fn at(sorted: &[f64], level: f64) -> f64 {
    sorted[((level * sorted.len() as f64) as usize).min(sorted.len() - 1)]
}

#[cfg(test)]
mod tests {
    use stats::Looks;

    use super::*;

    #[test]
    fn the_constants_are_those_that_simulation_gives() {
        const SEQUENCES: usize = 40_000;
        for looks in Looks::known() {
            let known = Looks::new(looks).unwrap();
            let simulated = LowestProbabilities::simulate(looks, SEQUENCES, 1);
            // So many sequences say the level of 5 % to within 4 %, and that of 1 % to within 10 %.
            for (level, within) in [(0.05, 0.06), (0.01, 0.15)] {
                let ratio = known.nominal(level) / simulated.two_sided(level);
                assert!((ratio - 1.0).abs() < within, "{looks:?} at {level}: {ratio}");
            }
            let ratio = known.one_sided(0.05) / simulated.one_sided(0.05);
            assert!((ratio - 1.0).abs() < 0.06, "{looks:?}, one-sided: {ratio}");
            let ratio = known.one_sided(0.005) / simulated.one_sided(0.005);
            assert!((ratio - 1.0).abs() < 0.25, "{looks:?}, one-sided at 0.5 %: {ratio}");
        }
    }
}
