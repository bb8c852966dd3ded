//! The processes that offered the load, where those were others than the one that recorded it.

use evidence::manifest::Worker;
use evidence::run::ReadError;
use evidence::{Instance, Instant, NoticeKind, Run, SeriesKey};

/// The workers of a run; none in a run of one process.
#[derive(Debug, Default)]
pub(crate) struct Workers {
    /// Each, in the order of their numbers.
    pub(crate) all: Vec<WorkerState>,
    /// The version of the program that recorded.
    pub(crate) version: String,
    /// The digest of the run's workload.
    pub(crate) workload_digest: String,
}

/// One worker.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WorkerState {
    pub(crate) worker: Worker,
    /// Whether any second of its loops was recorded.
    pub(crate) has_offered: bool,
    /// When it vanished, with what was noticed.
    pub(crate) vanished: Option<(Instant, String)>,
    /// The furthest that its clock was from where it was at the beginning, in milliseconds.
    pub(crate) drift_ms: f64,
    /// How far from the truth its clock may have been taken to be at the beginning, in milliseconds.
    pub(crate) error_ms: f64,
}

impl WorkerState {
    /// `process 2 on machine 0 (127.0.0.1:7400)`
    pub(crate) fn name(&self) -> String {
        let Instance { machine, process, .. } = self.worker.place;
        format!("the worker that is process {process} on machine {machine} ({})", self.worker.address)
    }
}

impl Workers {
    pub(super) fn of(run: &dyn Run) -> Result<Workers, ReadError> {
        let manifest = run.manifest();
        let version = manifest.generator.get("version").cloned().unwrap_or_default();
        let all = manifest.workers.iter().map(|worker| state(run, worker)).collect::<Result<_, _>>()?;
        Ok(Workers { all, version, workload_digest: manifest.workload_digest.clone() })
    }
}

fn is_of(worker: &Worker, instance: Option<Instance>) -> bool {
    let place = |of: Instance| (of.machine, of.process);
    instance.is_some_and(|instance| place(instance) == place(worker.place))
}

fn state(run: &dyn Run, worker: &Worker) -> Result<WorkerState, ReadError> {
    let own = |name: &'static str| {
        let is_it = move |s: &&SeriesKey| {
            &*s.target == SeriesKey::GENERATOR && &*s.name == name && is_of(worker, s.instance)
        };
        run.series().iter().find(is_it)
    };
    let mut drift_ms = 0.0_f64;
    if let Some(series) = own(SeriesKey::CLOCK_DRIFT) {
        let samples = run.samples(series, run.whole())?;
        drift_ms = samples.iter().map(|sample| sample.value.abs() * 1e3).fold(0.0, f64::max);
    }
    let is_gone = |notice: &evidence::Notice| {
        notice.kind == NoticeKind::Gone
            && notice.observer == SeriesKey::GENERATOR
            && is_of(worker, notice.instance)
    };
    let vanished = run.notices()?.into_iter().find(is_gone).map(|notice| (notice.at, notice.text));
    Ok(WorkerState {
        worker: worker.clone(),
        has_offered: own("loop_cpu").is_some(),
        vanished,
        drift_ms,
        error_ms: worker.clock_error_ns as f64 / 1e6,
    })
}
