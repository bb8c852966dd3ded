//! When virtual users start and stop while their number is ramped: a function of the stages alone.
//!
//! The planned number changes linearly within each stage; a virtual user starts or stops whenever it reaches a whole
//! number. Virtual users are numbered from 0; the last to start is the first to stop.

use std::time::Duration;

use crate::executor::VuStage;

/// A virtual user starts or stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VuChange {
    /// When, from the scenario's start.
    pub at: Duration,
    /// The virtual user's number, from 0.
    pub user: u32,
    /// Whether it starts or stops.
    pub kind: ChangeKind,
}

/// What a virtual user does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// It starts to make iterations.
    Comes,
    /// It starts no further iteration.
    Goes,
}

/// All changes of a ramp, in order of time.
#[derive(Debug, Clone)]
pub struct VuRamp {
    /// The first stage starts the virtual users that the ramp begins with.
    stages: Vec<VuStage>,
    /// The current stage: an index into `stages`.
    stage: usize,
    /// The number of virtual users at the start of the stage.
    from: u32,
    /// How many of the stage's changes are done.
    done: u32,
    /// The start of the stage.
    begin: Duration,
}

impl VuRamp {
    /// The ramp of an executor that begins with `start_vus`.
    pub fn new(start_vus: u32, stages: &[VuStage]) -> VuRamp {
        let first = VuStage { to: start_vus, over: Duration::ZERO };
        let stages = std::iter::once(first).chain(stages.iter().cloned()).collect();
        VuRamp { stages, stage: 0, from: 0, done: 0, begin: Duration::ZERO }
    }

    /// The planned number of virtual users at `at` from the start, after the changes of that instant.
    pub fn vus_at(&self, at: Duration) -> u32 {
        let (mut from, mut begin) = (0u32, Duration::ZERO);
        for stage in &self.stages {
            let end = begin + stage.over;
            if at < end {
                let done = changes_after(at.saturating_sub(begin), stage.over, from.abs_diff(stage.to));
                return if stage.to > from { from + done } else { from - done };
            }
            (from, begin) = (stage.to, end);
        }
        from
    }
}

/// How many of `changes` that are spread evenly over `whole` are done when `passed` of it has passed.
fn changes_after(passed: Duration, whole: Duration, changes: u32) -> u32 {
    let done = u128::from(changes) * passed.as_nanos() / whole.as_nanos().max(1);
    u32::try_from(done).unwrap_or(changes).min(changes)
}

impl Iterator for VuRamp {
    type Item = VuChange;

    fn next(&mut self) -> Option<VuChange> {
        loop {
            let stage = self.stages.get(self.stage)?;
            let changes = self.from.abs_diff(stage.to);
            if self.done < changes {
                self.done += 1;
                let since = stage.over.as_nanos() * u128::from(self.done);
                let since = since.div_ceil(u128::from(changes));
                let at = self.begin + Duration::from_nanos(u64::try_from(since).unwrap_or(u64::MAX));
                return Some(match stage.to > self.from {
                    true => VuChange { at, user: self.from + self.done - 1, kind: ChangeKind::Comes },
                    false => VuChange { at, user: self.from - self.done, kind: ChangeKind::Goes },
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
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::schedule::Segment;

    fn ramp(start: u32, stages: &[(u32, u64)]) -> VuRamp {
        let stage = |(to, ms): &(u32, u64)| VuStage { to: *to, over: Duration::from_millis(*ms) };
        VuRamp::new(start, &stages.iter().map(stage).collect::<Vec<_>>())
    }

    fn changes(ramp: impl Iterator<Item = VuChange>) -> Vec<(u128, u32, bool)> {
        ramp.map(|c| (c.at.as_millis(), c.user, c.kind == ChangeKind::Comes)).collect()
    }

    #[test]
    fn a_virtual_user_starts_or_stops_whenever_the_planned_number_is_whole() {
        assert_eq!(
            changes(ramp(1, &[(3, 2_000), (3, 500), (0, 3_000)])),
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
        let expected = [(0, 0, true), (0, 1, true), (1_000, 1, false), (1_000, 0, false), (1_000, 0, true)];
        assert_eq!(changes(ramp(0, &[(2, 0), (2, 1_000), (0, 0), (1, 0)])), expected);
    }

    #[test]
    fn an_empty_ramp_has_no_virtual_users() {
        assert_eq!(changes(ramp(0, &[(0, 1_000)])), []);
        assert_eq!(ramp(0, &[]).vus_at(Duration::ZERO), 0);
    }

    proptest! {
        #[test]
        fn the_changes_add_up_to_the_planned_number(
            start in 0..50u32,
            stages in proptest::collection::vec((0..60u32, 0..5_000u64), 0..6),
            cut in 0..20_000u64,
        ) {
            let whole = ramp(start, &stages);
            let cut = Duration::from_millis(cut);
            let mut active = BTreeSet::new();
            let mut last = Duration::ZERO;
            for change in whole.clone() {
                prop_assert!(last <= change.at);
                last = change.at;
                if change.at > cut {
                    break;
                }
                match change.kind {
                    ChangeKind::Comes => prop_assert!(active.insert(change.user)),
                    ChangeKind::Goes => prop_assert!(active.remove(&change.user)),
                }
            }
            prop_assert_eq!(active.len() as u32, whole.vus_at(cut));
            // Numbers have no gap, so every loop has its share of the active virtual users.
            prop_assert!(active.iter().copied().eq(0..active.len() as u32));
            let segment = Segment { index: 1, count: 3 };
            let mine = active.iter().filter(|user| segment.owns(u64::from(**user))).count() as u64;
            prop_assert_eq!(mine, segment.share(active.len() as u64));
        }
    }
}
