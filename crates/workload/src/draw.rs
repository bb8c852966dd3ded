//! Seeded random choices: the same seed, scenario and arrival always give the same choice.
//!
//! Nothing here has state. A dropped arrival, another loop or another machine changes no choice of any other
//! arrival.

use crate::index::ScenarioIndex;

#[cfg(test)]
mod tests;

/// Scrambles 64 bits so that every input bit flips every output bit with probability near one half.
///
/// The finaliser of SplitMix64: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators",
/// OOPSLA 2014, with Stafford's "Mix13" constants.
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The increment of SplitMix64's sequence: 2⁶⁴ divided by the golden ratio, made odd.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The number of the first request beside the schedule, such as one that is sent before the load: above the number of every
/// arrival that takes unique rows, and a number that a 32-bit integer can be.
pub const FIRST_EXTRA: u64 = 1_000_000_000;

/// All random choices of one arrival. Each place of the program that draws has its own `salt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draw {
    state: u64,
    arrival: u64,
}

impl Draw {
    /// The choices of arrival `arrival` (from 0) of a scenario.
    pub fn new(seed: u64, scenario: impl Into<ScenarioIndex>, arrival: u64) -> Draw {
        let run = mix(seed.wrapping_add(GOLDEN));
        let ScenarioIndex(scenario) = scenario.into();
        let scenario = mix(run ^ (scenario as u64).wrapping_add(1).wrapping_mul(GOLDEN));
        Draw { state: mix(scenario.wrapping_add(arrival.wrapping_mul(GOLDEN))), arrival }
    }

    /// The arrival's number.
    pub fn arrival(&self) -> u64 {
        self.arrival
    }

    /// 64 uniformly distributed bits.
    pub fn bits(&self, salt: u64) -> u64 {
        mix(self.state ^ mix(salt.wrapping_add(1).wrapping_mul(GOLDEN)))
    }

    /// A whole number from 0 to `n` − 1; 0 if `n` is 0. The bias is below `n` / 2⁶⁴ (Lemire, "Fast Random
    /// Integer Generation in an Interval", 2019, without its rejection step).
    pub fn below(&self, salt: u64, n: u64) -> u64 {
        ((u128::from(self.bits(salt)) * u128::from(n)) >> 64) as u64
    }

    /// An index into `cumulative`, the running sums of weights, chosen by weight; 0 if it is empty.
    pub fn weighted(&self, salt: u64, cumulative: &[u64]) -> usize {
        let total = cumulative.last().copied().unwrap_or(0);
        let drawn = self.below(salt, total);
        cumulative.partition_point(|sum| *sum <= drawn).min(cumulative.len().saturating_sub(1))
    }

    /// A whole number from `low` to `high`, both included; `low` if `high` is lower.
    pub fn range(&self, salt: u64, low: i64, high: i64) -> i64 {
        if high <= low {
            return low;
        }
        let span = high.wrapping_sub(low) as u64;
        let drawn = match span.checked_add(1) {
            Some(n) => self.below(salt, n),
            None => self.bits(salt),
        };
        low.wrapping_add(drawn as i64)
    }

    /// The bytes of a version 4 UUID (RFC 9562, section 5.4).
    pub fn uuid(&self, salt: u64) -> [u8; 16] {
        let high = self.bits(salt);
        let low = mix(high ^ self.state.wrapping_add(GOLDEN));
        let mut bytes = ((u128::from(high) << 64) | u128::from(low)).to_be_bytes();
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        bytes
    }
}
