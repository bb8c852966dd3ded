//! Which virtual users scenarios have that follow each other: those that earlier ones have returned, the first to be returned first,
//! as in k6.

use std::collections::VecDeque;
use std::time::Duration;

/// From when to when a scenario has so many virtual users of a loop from its start on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NeededVus {
    pub(crate) from: Duration,
    /// Its end, with the time that its last iterations may take.
    pub(crate) to: Duration,
    pub(crate) count: u32,
}

/// The numbers of the virtual users of a loop, from 0.
#[derive(Debug, Default)]
pub(crate) struct VuNumbers {
    /// By scenario, those that it has from its start on, in the order in which it gets them.
    planned: Vec<VecDeque<u32>>,
    /// The first that no scenario has.
    next: u32,
}

impl VuNumbers {
    /// Numbers for scenarios that need so many. No number is that of two scenarios at once.
    pub(crate) fn planned(needed: &[NeededVus]) -> VuNumbers {
        let most = most_at_once(needed);
        let mut free: VecDeque<u32> = (0..most).collect();
        let mut planned = vec![VecDeque::new(); needed.len()];
        let mut by_start: Vec<usize> = (0..needed.len()).collect();
        by_start.sort_by_key(|scenario| needed[*scenario].from);
        let mut by_end: Vec<usize> = (0..needed.len()).collect();
        by_end.sort_by_key(|scenario| needed[*scenario].to);
        let mut ends = by_end.into_iter().peekable();
        for scenario in by_start {
            while let Some(ended) = ends.next_if(|ended| needed[*ended].to <= needed[scenario].from) {
                free.extend(&planned[ended]);
            }
            planned[scenario] = free.drain(..needed[scenario].count as usize).collect();
        }
        VuNumbers { planned, next: most }
    }

    /// The number of the next virtual user of a scenario.
    pub(crate) fn take(&mut self, scenario: usize) -> u32 {
        let planned = self.planned.get_mut(scenario).and_then(VecDeque::pop_front);
        planned.unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }
}

/// How many virtual users all scenarios have at once, at most.
fn most_at_once(needed: &[NeededVus]) -> u32 {
    let at = |time: Duration| -> u32 {
        needed.iter().filter(|of| of.from <= time && time < of.to).map(|of| of.count).sum()
    };
    needed.iter().map(|of| at(of.from)).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn needed(all: &[(u64, u64, u32)]) -> Vec<NeededVus> {
        let seconds = Duration::from_secs;
        all.iter()
            .map(|(from, to, count)| NeededVus { from: seconds(*from), to: seconds(*to), count: *count })
            .collect()
    }

    fn numbers(all: &[(u64, u64, u32)]) -> Vec<Vec<u32>> {
        let mut numbers = VuNumbers::planned(&needed(all));
        let of = |(scenario, (_, _, count)): (usize, &(u64, u64, u32))| {
            (0..*count).map(|_| numbers.take(scenario)).collect()
        };
        all.iter().enumerate().map(of).collect()
    }

    #[test]
    fn scenarios_that_follow_each_other_share_their_virtual_users() {
        assert_eq!(numbers(&[(0, 1, 2), (1, 2, 2)]), [[0, 1], [0, 1]]);
        assert_eq!(numbers(&[(0, 2, 2), (1, 2, 2)]), [[0, 1], [2, 3]]);
        // Those that were not needed before come first.
        assert_eq!(numbers(&[(0, 1, 2), (1, 2, 2), (2, 3, 3)]), [&[0, 1][..], &[2, 0], &[1, 2, 0]]);
        assert_eq!(numbers(&[(5, 9, 1), (0, 5, 3)]), [&[0][..], &[0, 1, 2]]);
    }

    #[test]
    fn further_virtual_users_have_numbers_of_their_own() {
        let mut numbers = VuNumbers::planned(&needed(&[(0, 1, 1), (1, 2, 1)]));
        let taken = [0, 0, 1, 1, 0].map(|scenario| numbers.take(scenario));
        assert_eq!(taken, [0, 1, 0, 2, 3]);
    }

    proptest! {
        #[test]
        fn no_number_is_that_of_two_scenarios_at_once(
            all in prop::collection::vec((0_u64..20, 1_u64..10, 0_u32..6), 0..8),
        ) {
            let all: Vec<_> = all.into_iter().map(|(from, long, count)| (from, from + long, count)).collect();
            let numbers = numbers(&all);
            let most = numbers.iter().flatten().map(|number| number + 1).max().unwrap_or(0);
            prop_assert!(most <= most_at_once(&needed(&all)));
            for (one, own) in all.iter().zip(&numbers) {
                prop_assert_eq!(own.len(), one.2 as usize);
                let at_once = all.iter().zip(&numbers).filter(|(other, _)| one != *other && other.0 < one.1 && one.0 < other.1);
                for (_, others) in at_once {
                    prop_assert!(own.iter().all(|number| !others.contains(number)));
                }
            }
        }
    }
}
