//! What the load needs at most: virtual users at once, and time.

use std::time::Duration;

use workload::model::{Executor, VuStage};
use workload::vu_ramp::{ChangeKind, VuRamp};

use super::derive::ConsolidatedOptions;
use super::part::Stripes;
use super::shape::ScenarioShape;

/// What a load needs at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requirements {
    /// The highest number of virtual users that may have an iteration at once.
    pub max_vus: u64,
    /// The same without those that are made when they are needed: how many there are before the load begins.
    pub early_vus: u64,
    /// From the start of the load to the end of the last iteration that is let finish.
    pub max_duration: Duration,
}

/// Virtual users begin, or are free at last.
#[derive(Debug, Clone, Copy)]
struct Change {
    at: Duration,
    change: i64,
}

/// Whether a virtual user of a ramp may have an iteration.
#[derive(Debug, Clone, Copy)]
enum UserState {
    Never,
    Active,
    /// It starts no iteration any more, and may have one until then.
    EndsAt(Duration),
}

impl ConsolidatedOptions {
    /// What the load of this run needs at most.
    pub fn requirements(&self) -> Requirements {
        let (early_vus, _) = self.most_at_once(|scenario| match scenario.executor.is_open() {
            true => scenario.preallocated_vus,
            false => scenario.max_vus,
        });
        let (max_vus, max_duration) = self.most_at_once(|scenario| scenario.max_vus);
        Requirements { max_vus, early_vus, max_duration }
    }

    /// How many virtual users there are at once at most if each scenario has so many, and when the last ones go.
    fn most_at_once(&self, vus_of: impl Fn(&ScenarioShape) -> u32) -> (u64, Duration) {
        let mut changes = Vec::new();
        for scenario in &self.scenarios {
            changes_of(scenario, vus_of(scenario), self.part.stripes(), &mut changes);
        }
        // Of one instant, the changes of the scenario that comes first come first, as in k6.
        changes.sort_by_key(|change| change.at);
        let (mut active, mut most, mut last) = (0, 0, Duration::ZERO);
        for Change { at, change } in changes {
            active += change;
            most = most.max(active);
            last = at;
        }
        (u64::try_from(most).unwrap_or(0), last)
    }
}

fn changes_of(scenario: &ScenarioShape, vus: u32, stripes: &Stripes, changes: &mut Vec<Change>) {
    if let Executor::RampingVus { start_vus, stages, graceful_ramp_down } = &scenario.executor {
        let ramp = Ramp { scenario, stripes, start_vus: *start_vus, stages, grace: *graceful_ramp_down };
        return ramp.changes(changes);
    }
    let vus = stripes.share(u64::from(vus)) as i64;
    if vus > 0 {
        let end = scenario.start + scenario.executor.duration() + scenario.graceful_stop;
        changes.extend([Change { at: scenario.start, change: vus }, Change { at: end, change: -vus }]);
    }
}

/// A number of virtual users that follows stages.
struct Ramp<'a> {
    scenario: &'a ScenarioShape,
    stripes: &'a Stripes,
    start_vus: u32,
    stages: &'a [VuStage],
    /// How long the iteration of a virtual user that is removed may take.
    grace: Duration,
}

impl Ramp<'_> {
    fn changes(&self, changes: &mut Vec<Change>) {
        let start = self.scenario.start;
        let end = start + self.scenario.executor.duration() + self.scenario.graceful_stop;
        let mut users = vec![UserState::Never; self.scenario.max_vus as usize];
        let owned = |user: u32| self.stripes.owns(u64::from(user));
        for change in VuRamp::new(self.start_vus, self.stages).filter(|change| owned(change.user)) {
            let at = start + change.at;
            let user = &mut users[change.user as usize];
            *user = match (change.kind, *user) {
                (ChangeKind::Goes, _) => UserState::EndsAt(end.min(at + self.grace)),
                // It is back before it had to be free.
                (ChangeKind::Comes, UserState::EndsAt(then)) if then >= at => UserState::Active,
                (ChangeKind::Comes, before) => {
                    if let UserState::EndsAt(then) = before {
                        changes.push(Change { at: then, change: -1 });
                    }
                    changes.push(Change { at, change: 1 });
                    UserState::Active
                }
            };
        }
        changes.extend(users.into_iter().filter_map(|user| match user {
            UserState::Never => None,
            UserState::Active => Some(Change { at: end, change: -1 }),
            UserState::EndsAt(then) => Some(Change { at: then, change: -1 }),
        }));
    }
}
