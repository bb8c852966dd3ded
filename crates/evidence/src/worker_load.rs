//! How each worker of a run offered its part of the load.

use crate::coverage::{Coverage, Window};
use crate::histogram::Histogram;
use crate::instance::Instance;
use crate::key::Metric;
use crate::manifest::Worker;
use crate::observed::{Notice, NoticeKind};
use crate::run::{ReadError, Run, select};
use crate::series::SeriesKey;

/// A turn of a loop of this many microseconds or more is a stall.
pub const STALL_US: u64 = 2_000;

/// How a worker offered its load, over the whole run; none of what was not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize)]
pub struct WorkerLoad {
    /// Arrivals that it began, per second.
    pub offered_per_s: Option<f64>,
    /// CPU of its loops, in cores.
    pub cpu_cores: Option<f64>,
    /// The start lag that 99 % of its arrivals did not exceed, in milliseconds.
    pub start_lag_p99_ms: Option<f64>,
    /// Share of the time of its loops that they were stalled, 0 to 1.
    pub stalled: Option<f64>,
    /// Arrivals that it dropped because it was late.
    pub dropped_late: u64,
    /// The second of the run in which it vanished; none of one that stayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vanished_at_s: Option<u32>,
}

/// What was noticed when this worker of a run vanished; none of one that stayed.
///
/// # Errors
/// [`ReadError`] when the evidence cannot be read.
pub fn vanishing(run: &dyn Run, worker: &Worker) -> Result<Option<Notice>, ReadError> {
    let is_its = |notice: &Notice| {
        let is_of_generator = notice.kind == NoticeKind::Gone && notice.observer == SeriesKey::GENERATOR;
        is_of_generator && notice.instance.is_some_and(|place| place.is_in_process_of(worker.place))
    };
    Ok(run.notices()?.into_iter().find(is_its))
}

impl WorkerLoad {
    /// Of this worker of a run whose load was offered for so many seconds.
    ///
    /// # Errors
    /// [`ReadError`] when the evidence cannot be read.
    pub fn read(run: &dyn Run, worker: &Worker, load_s: f64) -> Result<WorkerLoad, ReadError> {
        let part = WorkerPart { run, worker, load_s };
        let cpu_cores = part.per_second("loop_cpu")?;
        let stalled = part.times(Metric::LoopStall)?.map(|turns| part.stalled(&turns));
        let lag = part.times(Metric::StartLag)?;
        let mut dropped_late = 0;
        for (id, _) in part.keys(Metric::DroppedLate) {
            dropped_late += run.total(id)?;
        }
        Ok(WorkerLoad {
            offered_per_s: part.per_second(SeriesKey::OFFERED)?,
            cpu_cores,
            start_lag_p99_ms: lag.and_then(|lag| lag.quantile(0.99).finite_us()).map(|us| us / 1e3),
            stalled: stalled.or(cpu_cores.map(|_| 0.0)),
            dropped_late,
            vanished_at_s: vanishing(run, worker)?.map(|notice| notice.at.second()),
        })
    }
}

/// What a run has of one of its workers.
struct WorkerPart<'a> {
    run: &'a dyn Run,
    worker: &'a Worker,
    load_s: f64,
}

impl<'a> WorkerPart<'a> {
    fn has(&self, instance: Option<Instance>) -> bool {
        instance.is_some_and(|instance| instance.is_in_process_of(self.worker.place))
    }

    fn keys(&self, metric: Metric) -> Vec<(crate::KeyId, &'a crate::Key)> {
        let place = self.worker.place;
        let has = move |instance: Option<Instance>| instance.is_some_and(|one| one.is_in_process_of(place));
        select(self.run.keys(), metric, move |key| has(key.instance)).collect()
    }

    /// The sum of a series of rates over its loops, in the mean over the load.
    fn per_second(&self, name: &str) -> Result<Option<f64>, ReadError> {
        let whole = Window::new(&self.run.whole());
        let is_own =
            |s: &&SeriesKey| &*s.target == SeriesKey::GENERATOR && &*s.name == name && self.has(s.instance);
        let mut sum = None;
        for series in self.run.series().iter().filter(is_own) {
            *sum.get_or_insert(0.0) += Coverage::read(self.run, series)?.integral(whole).sum;
        }
        Ok(sum.filter(|_| self.load_s > 0.0).map(|sum| sum / self.load_s))
    }

    fn times(&self, metric: Metric) -> Result<Option<Histogram>, ReadError> {
        let mut times: Option<Histogram> = None;
        for (id, _) in self.keys(metric) {
            times.get_or_insert_default().merge(&self.run.histogram(id, self.run.whole())?);
        }
        Ok(times)
    }

    fn stalled(&self, turns: &Histogram) -> f64 {
        let long = turns.buckets().filter(|(low, ..)| *low >= STALL_US);
        let us: f64 = long.map(|(low, high, count)| (low + high) as f64 / 2.0 * count as f64).sum();
        let time_us = self.load_s * f64::from(self.worker.loops) * 1e6;
        (us / time_us.max(1.0)).min(1.0)
    }
}
