//! When virtual users come and go while their number is ramped: a function of the stages alone.
//!
//! The wanted number moves along a straight line from stage to stage, and somebody comes or goes whenever the
//! line reaches a whole number. Virtual users are numbered from 0; the last to have come is the first to go.

use std::time::Duration;

use crate::executor::VuStage;

/// A virtual user comes or goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// When, from the scenario's start.
    pub at: Duration,
    /// Its number, from 0.
    pub user: u32,
    /// Which of both.
    pub kind: ChangeKind,
}

/// What a virtual user does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// It begins to make iterations.
    Comes,
    /// It begins no further iteration.
    Goes,
}

/// All comings and goings of a ramp, in order of time.
#[derive(Debug, Clone)]
pub struct VuRamp {
    /// The first stage brings those who are there at the start.
    stages: Vec<VuStage>,
    stage: usize,
    /// How many virtual users there were when the stage began.
    from: u32,
    /// How many of the stage's changes are over.
    done: u32,
    /// When the stage began.
    begin: Duration,
}

impl VuRamp {
    /// The ramp of an executor that begins with `start_vus`.
    pub fn new(start_vus: u32, stages: &[VuStage]) -> VuRamp {
        let first = VuStage { to: start_vus, over: Duration::ZERO };
        let stages = std::iter::once(first).chain(stages.iter().cloned()).collect();
        VuRamp { stages, stage: 0, from: 0, done: 0, begin: Duration::ZERO }
    }

    /// How many virtual users are wanted at `at` from the start, after what changes in that instant.
    pub fn wanted_at(&self, at: Duration) -> u32 {
        let (mut from, mut begin) = (0u32, Duration::ZERO);
        for stage in &self.stages {
            let end = begin + stage.over;
            if at < end {
                let gone = moved(from.abs_diff(stage.to), (at.saturating_sub(begin), stage.over));
                return if stage.to > from { from + gone } else { from - gone };
            }
            (from, begin) = (stage.to, end);
        }
        from
    }
}

/// How many of `changes` that are spread evenly over `whole` have come about when `part` of it has passed.
fn moved(changes: u32, (part, whole): (Duration, Duration)) -> u32 {
    let passed = u128::from(changes) * part.as_nanos() / whole.as_nanos().max(1);
    u32::try_from(passed).unwrap_or(changes).min(changes)
}

impl Iterator for VuRamp {
    type Item = Change;

    fn next(&mut self) -> Option<Change> {
        loop {
            let stage = self.stages.get(self.stage)?;
            let changes = self.from.abs_diff(stage.to);
            if self.done < changes {
                self.done += 1;
                let since = stage.over.as_nanos() * u128::from(self.done);
                let since = since.div_ceil(u128::from(changes));
                let at = self.begin + Duration::from_nanos(u64::try_from(since).unwrap_or(u64::MAX));
                return Some(match stage.to > self.from {
                    true => Change { at, user: self.from + self.done - 1, kind: ChangeKind::Comes },
                    false => Change { at, user: self.from - self.done, kind: ChangeKind::Goes },
                });
            }
            (self.from, self.done) = (stage.to, 0);
            self.begin += stage.over;
            self.stage += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::schedule::Segment;

    fn ramp(start: u32, stages: &[(u32, u64)]) -> VuRamp {
        let stage = |(to, ms): &(u32, u64)| VuStage { to: *to, over: Duration::from_millis(*ms) };
        VuRamp::new(start, &stages.iter().map(stage).collect::<Vec<_>>())
    }

    fn told(changes: impl Iterator<Item = Change>) -> Vec<(u128, u32, bool)> {
        changes.map(|c| (c.at.as_millis(), c.user, c.kind == ChangeKind::Comes)).collect()
    }

    #[test]
    fn somebody_comes_or_goes_whenever_the_line_reaches_a_whole_number() {
        let changes = told(ramp(1, &[(3, 2_000), (3, 500), (0, 3_000)]));
        assert_eq!(
            changes,
            [
                (0, 0, true),
                (1_000, 1, true),
                (2_000, 2, true),
                (3_500, 2, false),
                (4_500, 1, false),
                (5_500, 0, false)
            ]
        );
    }

    #[test]
    fn a_stage_without_length_is_a_step() {
        let changes = told(ramp(0, &[(2, 0), (2, 1_000), (0, 0), (1, 0)]));
        let both = [(0, 0, true), (0, 1, true), (1_000, 1, false), (1_000, 0, false), (1_000, 0, true)];
        assert_eq!(changes, both);
    }

    #[test]
    fn nobody_is_wanted_of_an_empty_ramp() {
        assert_eq!(told(ramp(0, &[(0, 1_000)])), []);
        assert_eq!(ramp(0, &[]).wanted_at(Duration::ZERO), 0);
    }

    proptest! {
        #[test]
        fn comings_and_goings_are_what_is_wanted(
            start in 0..50u32,
            stages in proptest::collection::vec((0..60u32, 0..5_000u64), 0..6),
            cut in 0..20_000u64,
        ) {
            let whole = ramp(start, &stages);
            let cut = Duration::from_millis(cut);
            let mut there = std::collections::BTreeSet::new();
            let mut last = Duration::ZERO;
            for change in whole.clone() {
                prop_assert!(last <= change.at);
                last = change.at;
                if change.at > cut {
                    break;
                }
                match change.kind {
                    ChangeKind::Comes => prop_assert!(there.insert(change.user)),
                    ChangeKind::Goes => prop_assert!(there.remove(&change.user)),
                }
            }
            prop_assert_eq!(there.len() as u32, whole.wanted_at(cut));
            // Numbers have no gap, so every loop has its share of those who are there.
            prop_assert!(there.iter().copied().eq(0..there.len() as u32));
            let segment = Segment { index: 1, count: 3 };
            let mine = there.iter().filter(|user| segment.owns(u64::from(**user))).count() as u64;
            prop_assert_eq!(mine, segment.share(there.len() as u64));
        }
    }
}
