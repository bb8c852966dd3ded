//! Seeded random numbers.

use workload::draw::mix;

/// 2⁶⁴ divided by the golden ratio, made odd.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A sequence of random numbers: SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA
/// 2014).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(mix(seed.wrapping_add(GOLDEN)))
    }

    /// A sequence of its own for each `purpose`.
    pub(crate) fn fork(&self, purpose: u64) -> Random {
        Random(mix(self.0 ^ mix(purpose.wrapping_add(1).wrapping_mul(GOLDEN))))
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// Between 0 and 1, neither included.
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.bits() >> 12) as f64 + 0.5) / 2f64.powi(52)
    }

    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.uniform().ln()
    }

    /// Standard normal, by Box and Muller's transform.
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_moments_of_their_distributions() {
        let mut random = Random::new(1);
        let mut mean = |draw: &dyn Fn(&mut Random) -> f64| {
            (0..100_000).map(|_| draw(&mut random)).sum::<f64>() / 100_000.0
        };
        assert!((mean(&|random| random.uniform()) - 0.5).abs() < 0.005);
        assert!((mean(&|random| random.exponential(3.0)) - 3.0).abs() < 0.05);
        assert!(mean(&|random| random.normal()).abs() < 0.02);
        assert!((mean(&|random| random.normal().powi(2)) - 1.0).abs() < 0.02);
    }

    #[test]
    fn forks_differ_and_a_seed_repeats() {
        let random = Random::new(7);
        assert_ne!(random.fork(1).bits(), random.fork(2).bits());
        assert_eq!(random.fork(1).bits(), Random::new(7).fork(1).bits());
    }
}
