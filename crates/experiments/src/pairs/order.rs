//! Which arm of a pair runs first.

use evidence::PairOrder;
use workload::draw::mix;

/// The order of pair `number`, from 1. Of each two pairs one begins with A and one with B, and a coin decides which: at every
/// even number of pairs both orders are equally frequent, so that a drift favours neither arm.
pub(crate) fn order(seed: u64, number: u32) -> PairOrder {
    let block = u64::from(number.saturating_sub(1) / 2);
    let is_first_ab = mix(mix(seed ^ 0x006f_7264_6572) ^ block.wrapping_mul(0x9e37_79b9_7f4a_7c15)) & 1 == 0;
    let is_first_of_block = number % 2 == 1;
    if is_first_ab == is_first_of_block { PairOrder::Ab } else { PairOrder::Ba }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_balanced_at_every_look_and_differ_by_seed() {
        for seed in 0..200 {
            for look in [6, 10, 16] {
                let ab = (1..=look).filter(|number| order(seed, *number) == PairOrder::Ab).count();
                assert_eq!(ab, look as usize / 2, "seed {seed}");
            }
        }
        let firsts = (0..1_000).filter(|seed| order(*seed, 1) == PairOrder::Ab).count();
        assert!((430..570).contains(&firsts), "{firsts}");
        let seconds = (0..1_000).filter(|seed| order(*seed, 1) == order(*seed, 3)).count();
        assert!((430..570).contains(&seconds), "{seconds}");
    }
}
