//! What one instance offers of a scenario.

use std::time::Duration;

use workload::model::{Executor, Stage, VuStage};
use workload::vu_ramp::{ChangeKind, VuChange, VuRamp};

use super::part::{InstancePart, Numbering, RateStage, Stripes, after};
use super::shape::ScenarioShape;

/// The arrivals of a part, and when they begin, counted from the start of the scenario.
struct OwnArrivals {
    start: Duration,
    executor: Executor,
}

impl ScenarioShape {
    /// What a part of the load has of it; none where that has no virtual user.
    pub(super) fn part(&self, part: &InstancePart) -> Option<ScenarioShape> {
        if part.is_whole() {
            return Some(self.clone());
        }
        let max_vus = part.share(self.max_vus);
        if max_vus == 0 {
            return None;
        }
        let by_users = part.stripes_by(self.max_vus);
        let share_of_rate = f64::from(max_vus) / f64::from(self.max_vus);
        let mut start = self.start;
        let executor = match self.executor.clone() {
            Executor::ConstantVus { duration, .. } => Executor::ConstantVus { vus: max_vus, duration },
            Executor::PerVuIterations { iterations, max_duration, .. } => {
                Executor::PerVuIterations { vus: max_vus, iterations, max_duration }
            }
            Executor::SharedIterations { iterations, max_duration, .. } => {
                let iterations = by_users.share(iterations);
                Executor::SharedIterations { vus: max_vus, iterations, max_duration }
            }
            Executor::RampingVus { start_vus, stages, graceful_ramp_down } => Executor::RampingVus {
                start_vus: part.share(start_vus),
                stages: own_stages(start_vus, &stages, part),
                graceful_ramp_down,
            },
            open @ (Executor::ConstantArrivalRate { .. } | Executor::RampingArrivalRate { .. }) => {
                let own = own_arrivals(&open, &by_users, share_of_rate)?;
                start += own.start;
                own.executor
            }
        };
        let has_own_iterations = matches!(executor, Executor::SharedIterations { .. }) || executor.is_open();
        Some(ScenarioShape {
            executor,
            start,
            max_vus,
            preallocated_vus: part.share(self.preallocated_vus),
            numbering: Numbering {
                users: part.stripes().clone(),
                iterations: if has_own_iterations { by_users } else { part.stripes().clone() },
            },
            ..self.clone()
        })
    }
}

/// The stages of a part: its number of virtual users changes when one of its own comes or goes.
fn own_stages(start_vus: u32, stages: &[VuStage], part: &InstancePart) -> Vec<VuStage> {
    let (mut own, mut vus, mut last) = (Vec::new(), part.share(start_vus), Duration::ZERO);
    let is_own = |change: &VuChange| part.stripes().owns(change.user.into());
    // The first changes are those with which it starts.
    for change in VuRamp::new(start_vus, stages).skip(start_vus as usize).filter(is_own) {
        vus = match change.kind {
            ChangeKind::Comes => vus + 1,
            ChangeKind::Goes => vus - 1,
        };
        own.push(VuStage { to: vus, over: change.at - last });
        last = change.at;
    }
    let end: Duration = stages.iter().map(|stage| stage.over).sum();
    own.push(VuStage { to: vus, over: end - last });
    own
}

/// The arrivals of an open executor that belong to a part, evenly at its share of the rate; none where it has none.
fn own_arrivals(whole: &Executor, stripes: &Stripes, share_of_rate: f64) -> Option<OwnArrivals> {
    let first = stripes.first()? as f64;
    let rest = match whole {
        Executor::ConstantArrivalRate { rate, duration } => {
            after(&[RateStage { from: *rate, to: *rate, over: duration.as_secs_f64() }], first)
        }
        Executor::RampingArrivalRate { start_rate, stages } => {
            let mut from = *start_rate;
            let stages = stages.iter().map(|stage| RateStage {
                from: std::mem::replace(&mut from, stage.to),
                to: stage.to,
                over: stage.over.as_secs_f64(),
            });
            after(&stages.collect::<Vec<_>>(), first)
        }
        _ => None,
    };
    let (passed, stages) = rest?;
    let start = Duration::from_secs_f64(passed);
    let left: f64 = stages.iter().map(|stage| stage.arrivals()).sum();
    // The arrivals of all parts are as many as those of the whole.
    let own_count = stripes.share(count(first + left)) as f64;
    let own_share = match count(left * share_of_rate) as f64 == own_count {
        true => share_of_rate,
        false => own_count / left,
    };
    let own = |rate: f64| rate * own_share;
    let executor = match whole {
        Executor::ConstantArrivalRate { rate, duration } => {
            Executor::ConstantArrivalRate { rate: own(*rate), duration: duration.saturating_sub(start) }
        }
        _ => Executor::RampingArrivalRate {
            start_rate: own(stages.first().map_or(0.0, |stage| stage.from)),
            stages: stages
                .iter()
                .map(|stage| Stage { to: own(stage.to), over: Duration::from_secs_f64(stage.over) })
                .collect(),
        },
    };
    Some(OwnArrivals { start, executor })
}

/// How many arrivals come while so many are expected: the first comes at once.
fn count(expected: f64) -> u64 {
    // What a sum of fractions is above a whole number is not an arrival.
    (expected - 1e-6).ceil().max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{ConsolidatedOptions, Layer, consolidate};
    use super::*;

    fn offered(scenario: &serde_json::Value, part: &str, all: &str) -> ConsolidatedOptions {
        let options = json!({ "scenarios": { "a": scenario }, "executionSegment": part, "executionSegmentSequence": all });
        consolidate([Layer::of_script(&options).unwrap()]).unwrap()
    }

    #[test]
    fn a_ramp_changes_when_virtual_users_of_the_part_come_and_go() {
        let ramp = json!({ "executor": "ramping-vus", "startVUs": 1, "stages": [
            { "target": 4, "duration": "3s" }, { "target": 4, "duration": "1s" }, { "target": 0, "duration": "4s" } ] });
        let changes = |part: &str| {
            let options = offered(&ramp, part, "0,1/2,1");
            let Executor::RampingVus { start_vus, stages, .. } = &options.offered[0].executor else {
                panic!("a ramp")
            };
            assert_eq!(options.offered[0].executor.duration(), Duration::from_secs(8));
            let changes = VuRamp::new(*start_vus, stages);
            changes.map(|change| (change.at.as_secs(), change.user, change.kind)).collect::<Vec<_>>()
        };
        use ChangeKind::{Comes, Goes};
        assert_eq!(changes("0:1/2"), [(0, 0, Comes), (2, 1, Comes), (6, 1, Goes), (8, 0, Goes)]);
        assert_eq!(changes("1/2:1"), [(1, 0, Comes), (3, 1, Comes), (5, 1, Goes), (7, 0, Goes)]);
    }

    #[test]
    fn arrivals_of_parts_begin_one_after_the_other() {
        let constant = json!({ "executor": "constant-arrival-rate", "rate": 10, "duration": "1s", "preAllocatedVUs": 8 });
        let part = |part: &str| {
            let shape = offered(&constant, part, "0,1/4,1/2,3/4,1").offered[0].clone();
            (shape.start.as_millis(), shape.executor.peak_rate(), shape.max_vus)
        };
        assert_eq!(part("0:1/4"), (0, 2.5, 2));
        assert_eq!(part("3/4:1"), (300, 2.5, 2));
        // Of 15 arrivals parts with 3, 3, 3 and 2 of 11 virtual users have 4, 4, 4 and 3.
        let faster = json!({ "executor": "ramping-arrival-rate", "startRate": 10, "preAllocatedVUs": 11,
            "stages": [{ "target": 20, "duration": "1s" }] });
        let arrivals = |part: &str| {
            let shape = offered(&faster, part, "0,1/4,1/2,3/4,1").offered[0].clone();
            let Executor::RampingArrivalRate { start_rate, stages } = &shape.executor else {
                panic!("arrivals")
            };
            count((start_rate + stages[0].to) / 2.0 * stages[0].over.as_secs_f64())
        };
        assert_eq!(["0:1/4", "1/4:1/2", "1/2:3/4", "3/4:1"].map(arrivals), [4, 4, 4, 3]);
        let rising = json!({ "executor": "ramping-arrival-rate", "startRate": 0, "preAllocatedVUs": 2,
            "stages": [{ "target": 10, "duration": "5s" }, { "target": 10, "duration": "1s" }] });
        let shape = offered(&rising, "1/2:1", "0,1/2,1").offered[0].clone();
        let Executor::RampingArrivalRate { start_rate, stages } = &shape.executor else { panic!("arrivals") };
        assert_eq!((shape.start, *start_rate), (Duration::from_secs(1), 1.0));
        assert_eq!(stages.iter().map(|stage| stage.to).collect::<Vec<_>>(), [5.0, 5.0]);
    }
}
