//! The part of a load that one instance offers, as k6 divides it: virtual users, iterations and arrivals are numbered in the whole
//! load, and each number belongs to one part.

use std::iter;

use super::fraction::greatest_common_divisor;

/// The most numbers after which a division repeats.
const LONGEST_PERIOD: u64 = 1_000_000;

/// Which numbers of the whole, from 0, belong to a part; they repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stripes {
    /// Those of the first period, ascending.
    own: Vec<u64>,
    period: u64,
}

impl Stripes {
    /// All numbers.
    pub(super) fn whole() -> Stripes {
        Stripes { own: vec![0], period: 1 }
    }

    /// The numbers of the part at `index`, of parts with these lengths: each next number belongs to the longest part that has
    /// not more than its share of those before.
    fn of(lengths: &[u64], index: usize) -> Stripes {
        let period = lengths.iter().sum::<u64>();
        let mut by_length: Vec<usize> = (0..lengths.len()).collect();
        by_length.sort_by_key(|part| std::cmp::Reverse(lengths[*part]));
        let mut given = vec![0; lengths.len()];
        let mut own = Vec::new();
        for number in 0..period {
            let is_behind = |part: &&usize| {
                let part = **part;
                given[part] < lengths[part] && given[part] * period <= number * lengths[part]
            };
            let Some(part) = by_length.iter().find(is_behind).copied() else { continue };
            given[part] += 1;
            if part == index {
                own.push(number);
            }
        }
        Stripes { own, period: period.max(1) }
    }

    /// The number in the whole of the part's `number`-th, both from 0; of a part without numbers the same.
    pub fn nth(&self, number: u64) -> u64 {
        match self.own.len() as u64 {
            0 => number,
            count => (number / count) * self.period + self.own[(number % count) as usize],
        }
    }

    /// How many of so many numbers belong to the part.
    pub fn share(&self, total: u64) -> u64 {
        let rest = total % self.period;
        let in_rest = self.own.partition_point(|own| *own < rest);
        (total / self.period) * self.own.len() as u64 + in_rest as u64
    }

    /// Whether a number belongs to the part.
    pub fn owns(&self, number: u64) -> bool {
        self.own.binary_search(&(number % self.period)).is_ok()
    }

    /// The first number of the part; none of a part without numbers.
    pub(super) fn first(&self) -> Option<u64> {
        self.own.first().copied()
    }
}

impl Default for Stripes {
    fn default() -> Stripes {
        Stripes::whole()
    }
}

/// The numbers that virtual users and iterations of an instance have in the whole test, from 0.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Numbering {
    /// Those of virtual users.
    pub users: Stripes,
    pub iterations: Stripes,
}

/// The part of a load that one instance offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstancePart {
    /// The lengths of all parts, in lowest terms.
    lengths: Vec<u64>,
    index: usize,
    stripes: Stripes,
}

impl InstancePart {
    /// The part at `index`, of parts with these lengths; none where they are too fine.
    pub(super) fn new(lengths: Vec<u64>, index: usize) -> Option<InstancePart> {
        let period = lengths.iter().try_fold(0u64, |sum, length| sum.checked_add(*length))?;
        let stripes = (period <= LONGEST_PERIOD).then(|| Stripes::of(&lengths, index))?;
        Some(InstancePart { lengths, index, stripes })
    }

    /// The whole load.
    pub(super) fn whole() -> InstancePart {
        InstancePart { lengths: vec![1], index: 0, stripes: Stripes::whole() }
    }

    /// Whether it is the whole load.
    pub fn is_whole(&self) -> bool {
        self.lengths.len() == 1
    }

    /// Its length, from 0 to 1.
    pub fn length(&self) -> f64 {
        self.lengths[self.index] as f64 / self.stripes.period as f64
    }

    /// Which virtual users belong to it, and iterations where each virtual user has its own.
    pub fn stripes(&self) -> &Stripes {
        &self.stripes
    }

    /// Which iterations and arrivals belong to it of a scenario with so many virtual users: parts have as many as their
    /// virtual users can do.
    pub fn stripes_by(&self, vus: u32) -> Stripes {
        if self.is_whole() {
            return self.stripes.clone();
        }
        let share = |part: usize| Stripes::of(&self.lengths, part).share(vus.into());
        let shares: Vec<u64> = (0..self.lengths.len()).map(share).collect();
        // Parts that have all users or none need no long list.
        let divisor = shares.iter().copied().fold(0, greatest_common_divisor).max(1);
        Stripes::of(&shares.iter().map(|share| share / divisor).collect::<Vec<_>>(), self.index)
    }

    /// How many of so many virtual users belong to it.
    pub fn share(&self, vus: u32) -> u32 {
        // Not more than there are.
        self.stripes.share(vus.into()) as u32
    }
}

/// Rates over time: each stage begins at the rate at which the one before it ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct RateStage {
    pub(super) from: f64,
    pub(super) to: f64,
    /// Seconds.
    pub(super) over: f64,
}

impl RateStage {
    pub(super) fn arrivals(self) -> f64 {
        self.over * (self.from + self.to) / 2.0
    }

    /// When so many arrivals, fewer than there are, have come, in seconds.
    fn time_of(self, arrivals: f64) -> f64 {
        let slope = (self.to - self.from) / self.over;
        // The root of from·t + slope·t²/2 = arrivals, in a form that holds for a slope of 0 too.
        2.0 * arrivals / (self.from + (self.from * self.from + 2.0 * slope * arrivals).sqrt())
    }
}

/// The stages after so many arrivals, and how long these take in seconds; none where there are no more.
pub(super) fn after(stages: &[RateStage], mut arrivals: f64) -> Option<(f64, Vec<RateStage>)> {
    let mut passed = 0.0;
    for (index, stage) in stages.iter().enumerate() {
        if stage.arrivals() > arrivals {
            let time = if arrivals > 0.0 { stage.time_of(arrivals) } else { 0.0 };
            let from = stage.from + (stage.to - stage.from) * time / stage.over;
            let rest = RateStage { from, over: stage.over - time, ..*stage };
            return Some((
                passed + time,
                iter::once(rest).chain(stages[index + 1..].iter().copied()).collect(),
            ));
        }
        arrivals -= stage.arrivals();
        passed += stage.over;
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn first(lengths: &[u64], index: usize, count: u64) -> Vec<u64> {
        let stripes = Stripes::of(lengths, index);
        (0..count).map(|number| stripes.nth(number)).collect()
    }

    /// The numbers that k6 v1.8.1 gives its iterations and virtual users.
    #[test]
    fn numbers_belong_to_the_parts_that_k6_gives_them() {
        assert_eq!(first(&[1, 3], 0, 3), [1, 5, 9]);
        assert_eq!(first(&[3, 3, 2, 2], 0, 3), [0, 4, 7]);
        assert_eq!(first(&[3, 3, 2, 2], 1, 3), [1, 5, 8]);
        assert_eq!(first(&[3, 3, 2, 2], 3, 2), [3, 9]);
        assert_eq!(first(&[3, 7], 0, 6), [1, 4, 7, 11, 14, 17]);
        assert_eq!(first(&[3, 7], 1, 7), [0, 2, 3, 5, 6, 8, 9]);
        assert_eq!(first(&[3, 5, 5], 0, 6), [2, 5, 10, 15, 18, 23]);
        assert_eq!(first(&[3, 5, 5], 1, 11), [0, 3, 6, 8, 11, 13, 16, 19, 21, 24, 26]);
        assert_eq!(first(&[3, 5, 5], 2, 10), [1, 4, 7, 9, 12, 14, 17, 20, 22, 25]);
    }

    #[test]
    fn rates_continue_after_the_first_arrivals() {
        let constant = [RateStage { from: 10.0, to: 10.0, over: 1.0 }];
        let (passed, rest) = after(&constant, 2.0).unwrap();
        assert_eq!((passed, rest[0].over), (0.2, 0.8));
        assert!(after(&constant, 10.0).is_none());
        let ramp =
            [RateStage { from: 0.0, to: 10.0, over: 1.0 }, RateStage { from: 10.0, to: 0.0, over: 1.0 }];
        let (passed, rest) = after(&ramp, 1.25).unwrap();
        assert_eq!((passed, rest[0].from, rest.len()), (0.5, 5.0, 2));
        assert_eq!(after(&ramp, 5.0).unwrap().0, 1.0);
    }

    proptest! {
        /// Parts of any lengths, each over workers with loops: each iteration of the whole is made once.
        #[test]
        fn each_iteration_of_uneven_parts_is_made_by_one_loop_of_one_worker(
            lengths in prop::collection::vec(1_u64..9, 1..5),
            (workers, loops) in (1_u32..6, 1_u16..4),
            total in 0_u64..200,
        ) {
            let mut made = Vec::new();
            for index in 0..lengths.len() {
                let part = Stripes::of(&lengths, index);
                let share = part.share(total);
                let groups = vec![(loops, evidence::Instance::default()); workers as usize];
                for group in engine::LoopGroup::several(&groups) {
                    for segment in (0..loops).map(|index| group.segment(index)) {
                        made.extend((0..segment.share(share)).map(|number| part.nth(segment.nth(number))));
                    }
                }
            }
            made.sort_unstable();
            prop_assert_eq!(made, (0..total).collect::<Vec<_>>());
        }

        #[test]
        fn each_number_belongs_to_one_part(lengths in prop::collection::vec(1u64..9, 1..6), total in 0u64..200) {
            let all: Vec<Stripes> = (0..lengths.len()).map(|index| Stripes::of(&lengths, index)).collect();
            for number in 0..total {
                prop_assert_eq!(all.iter().filter(|stripes| stripes.owns(number)).count(), 1);
            }
            prop_assert_eq!(all.iter().map(|stripes| stripes.share(total)).sum::<u64>(), total);
            for stripes in &all {
                let own: Vec<u64> = (0..total).filter(|number| stripes.owns(*number)).collect();
                let listed: Vec<u64> = (0..own.len() as u64).map(|number| stripes.nth(number)).collect();
                prop_assert_eq!(own, listed);
            }
        }
    }
}
