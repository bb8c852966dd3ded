//! What is balanced between pairs: which arm runs first, and how arms at the same moment share the load.

use evidence::PairOrder;
use workload::draw::mix;

const ORDER: u64 = 0x006f_7264_6572;
const SPLIT: u64 = 0x73_706c_6974;
const LARGER: u64 = 0x6c61_7267_6572;
const LOAD: u64 = 0x6c6f_6164;

/// How many pairs of windows there are for one whose load is not split in halves.
const TWOS: u64 = 3;

/// The order of pair `number`, from 1. Of each two pairs one begins with A and one with B, and a coin decides which: at every
/// even number of pairs both orders are equally frequent, so that a drift favours neither arm.
pub(crate) fn order(seed: u64, number: u32) -> PairOrder {
    if coin_of_twos(seed ^ ORDER, number) { PairOrder::Ab } else { PairOrder::Ba }
}

/// In which shares A and B have the arrivals of window `number`, from 1. Of each three times two windows two, one after the
/// other, are split unevenly, once in favour of each arm: whether a version is slower where the other has more to do.
pub(crate) fn shares(seed: u64, number: u32) -> [u32; 2] {
    let two = u64::from(number.saturating_sub(1) / 2);
    let uneven = random(seed ^ SPLIT, two / TWOS) % TWOS;
    match two % TWOS == uneven {
        false => [1, 1],
        true if coin_of_twos(seed ^ LARGER, number) => [2, 3],
        true => [3, 2],
    }
}

/// The load of window `number`, from 1, as a share of what is usual: of each two windows one has less and one more.
pub(crate) fn load(seed: u64, number: u32) -> f64 {
    if coin_of_twos(seed ^ LOAD, number) { 1.1 } else { 0.9 }
}

/// A coin that falls on either side once in each two numbers, from 1.
fn coin_of_twos(seed: u64, number: u32) -> bool {
    let block = u64::from(number.saturating_sub(1) / 2);
    let is_first_of_block = number % 2 == 1;
    (random(seed, block) & 1 == 0) == is_first_of_block
}

fn random(seed: u64, number: u64) -> u64 {
    mix(mix(seed) ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOKS: [u32; 3] = [6, 10, 16];

    #[test]
    fn orders_are_balanced_at_every_look_and_differ_by_seed() {
        for seed in 0..200 {
            for look in LOOKS {
                let ab = (1..=look).filter(|number| order(seed, *number) == PairOrder::Ab).count();
                assert_eq!(ab, look as usize / 2, "seed {seed}");
            }
        }
        let firsts = (0..1_000).filter(|seed| order(*seed, 1) == PairOrder::Ab).count();
        assert!((430..570).contains(&firsts), "{firsts}");
        let seconds = (0..1_000).filter(|seed| order(*seed, 1) == order(*seed, 3)).count();
        assert!((430..570).contains(&seconds), "{seconds}");
    }

    #[test]
    fn a_third_of_the_windows_is_split_unevenly_as_often_for_either_arm() {
        for seed in 0..200 {
            let splits: Vec<_> = (1..=48).map(|number| shares(seed, number)).collect();
            assert_eq!(splits.iter().filter(|split| **split == [2, 3]).count(), 8, "seed {seed}");
            assert_eq!(splits.iter().filter(|split| **split == [3, 2]).count(), 8, "seed {seed}");
            for look in LOOKS {
                let sums = splits[..look as usize].iter().fold([0, 0], |[a, b], [c, d]| [a + c, b + d]);
                assert_eq!(sums[0], sums[1], "seed {seed}, look {look}");
            }
        }
        let early = (0..1_000).filter(|seed| shares(*seed, 1) != [1, 1]).count();
        assert!((270..400).contains(&early), "{early}");
    }
}
