//! What is true of a target: how it behaves over a long time under the load, with a generator that is never late.

use std::time::Duration;

use evidence::{Instant, Outcome};
use stats::Proportion;
use workload::{Executor, Segment, Timetable, Workload};

use crate::episodes::Episodes;
use crate::generator::{self, Offering, SimulatedRequest};
use crate::random::Random;
use crate::target::{Target, TargetShape};

/// Batches whose shares show how observations cluster.
const BATCH_S: u32 = judge::shares::BATCH_S as u32;
/// Wait for responses so long after the last arrival.
const DRAIN: Duration = Duration::from_secs(30);

/// The response times over a long time.
#[derive(Debug)]
pub(crate) struct Truth {
    /// In the order in which they were due, with the second of that; infinite where the request failed.
    times_ms: Vec<(u32, f64)>,
    /// The times alone, ascending.
    sorted_ms: Vec<f64>,
}

impl Truth {
    /// Of this target under the load of `workload`.
    pub(crate) fn simulate(workload: &Workload, shape: TargetShape) -> Truth {
        let random = Random::new(workload.seed);
        let mut target = Target::new(shape, &random);
        let arrivals = arrivals(workload);
        let never_late = Episodes::new(None, random);
        let end = Instant::at(workload.phases.last().map_or(Duration::ZERO, |phase| phase.end) + DRAIN);
        let offering = Offering {
            repeated_until: repeated_until(workload),
            stalls: never_late,
            time_limit: time_limit(workload),
            end,
        };
        let offered = generator::offer(&arrivals, &mut target, offering);
        let time = |request: &SimulatedRequest| match request.response_time() {
            Some(time) if request.outcome == Outcome::Ok => time.as_secs_f64() * 1e3,
            _ => f64::INFINITY,
        };
        let times_ms: Vec<(u32, f64)> =
            offered.requests.iter().map(|request| (request.due.second(), time(request))).collect();
        let mut sorted_ms: Vec<f64> = times_ms.iter().map(|(_, time)| *time).collect();
        sorted_ms.sort_by(f64::total_cmp);
        Truth { times_ms, sorted_ms }
    }

    /// The time that this share of the requests exceeds.
    pub(crate) fn exceeded_by(&self, share: f64) -> f64 {
        let at = ((1.0 - share) * self.sorted_ms.len() as f64) as usize;
        self.sorted_ms[at.min(self.sorted_ms.len() - 1)]
    }

    /// The share that failed.
    pub(crate) fn failed(&self) -> f64 {
        let failed = self.sorted_ms.len() - self.sorted_ms.partition_point(|time| time.is_finite());
        failed as f64 / self.sorted_ms.len() as f64
    }

    /// How many requests act as one in the share of those that exceed `ms`.
    pub(crate) fn design_effect(&self, ms: f64) -> f64 {
        let batches: Vec<Proportion> = self
            .times_ms
            .chunk_by(|one, other| one.0 / BATCH_S == other.0 / BATCH_S)
            .map(|batch| {
                let part = batch.iter().filter(|(_, time)| *time > ms || time.is_infinite()).count();
                Proportion { part: part as u64, whole: batch.len() as u64 }
            })
            .collect();
        stats::design_effect_of_shares(&batches, 0.5).unwrap_or(1.0)
    }
}

/// When the arrivals of the first scenario are due; of a closed model those of each user's first request, which are a
/// millisecond apart.
pub(crate) fn arrivals(workload: &Workload) -> Vec<Instant> {
    if let Executor::ConstantVus { vus, .. } = workload.scenarios[0].executor {
        return (0..vus).map(|user| Instant::at(Duration::from_millis(user.into()))).collect();
    }
    let timetable = Timetable::new(workload, 0, Segment::WHOLE);
    timetable.into_iter().flatten().map(|(_, due)| Instant::at(due)).collect()
}

/// Until when users of the first scenario send their next request; none in an open model.
pub(crate) fn repeated_until(workload: &Workload) -> Option<Instant> {
    let executor = &workload.scenarios[0].executor;
    (!executor.is_open()).then(|| Instant::at(executor.duration()))
}

/// How long requests of the first scenario wait.
pub(crate) fn time_limit(workload: &Workload) -> Duration {
    workload.scenarios[0].steps().map(|step| step.timeout).max().unwrap_or(Duration::MAX)
}
