//! Whether the planned load changes within a time.

use std::time::Duration;

use crate::executor::Executor;
use crate::model::{Scenario, Workload};
use crate::schedule::Schedule;
use crate::vu_ramp::VuRamp;

/// A rate that changes by no more than this share counts as constant.
const CONSTANT: f64 = 0.01;

impl Workload {
    /// Whether no scenario's planned load changes from `start` to `end`; a scenario that begins or ends in between is a
    /// change.
    pub fn is_load_constant(&self, start: Duration, end: Duration) -> bool {
        self.scenarios.iter().all(|scenario| {
            let planned = planned_by_second(scenario, start, end);
            let (least, most) =
                planned.iter().fold((f64::INFINITY, 0.0), |(l, m): (f64, f64), p| (l.min(*p), m.max(*p)));
            most - least.min(most) <= CONSTANT * most
        })
    }
}

/// The planned load of a scenario in the middle of each second: arrivals a second, or virtual users.
fn planned_by_second(scenario: &Scenario, start: Duration, end: Duration) -> Vec<f64> {
    let schedule = Schedule::new(&scenario.executor);
    let ramp = match &scenario.executor {
        Executor::RampingVus { start_vus, stages, .. } => Some(VuRamp::new(*start_vus, stages)),
        _ => None,
    };
    let stop = scenario.start + scenario.executor.duration();
    let planned = |at: Duration| match (&schedule, &ramp, at.checked_sub(scenario.start)) {
        (_, _, None) => 0.0,
        _ if at >= stop => 0.0,
        (Some(schedule), _, Some(elapsed)) => schedule.rate_at(elapsed),
        (_, Some(ramp), Some(elapsed)) => f64::from(ramp.vus_at(elapsed)),
        _ => scenario.executor.peak_vus().map_or(0.0, f64::from),
    };
    let middle = |second: u64| Duration::from_millis(second * 1_000 + 500);
    let seconds = start.as_secs()..end.as_secs() + 1;
    seconds.map(middle).filter(|at| start <= *at && *at < end).map(planned).collect()
}
