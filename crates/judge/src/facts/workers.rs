//! The processes that offered the load, where those were others than the one that recorded it.

use evidence::manifest::Worker;
use evidence::run::ReadError;
use evidence::worker_load::{WorkerLoad, vanishing};
use evidence::{Instance, Instant, Run, SeriesKey};
use figures::number::brief;
use figures::{Figures, PhaseWindow};

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

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WorkerState {
    /// Its number in the run, from 1.
    pub(crate) number: u32,
    pub(crate) worker: Worker,
    /// Whether any second of its loops was recorded.
    pub(crate) has_offered: bool,
    /// When it vanished, with what was noticed.
    pub(crate) vanished: Option<(Instant, String)>,
    pub(crate) clock: WorkerClock,
    pub(crate) load: WorkerLoad,
}

/// What is known of a worker's clock, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct WorkerClock {
    /// How far from the truth it may have been taken to be when the load began.
    pub(crate) error_ms: f64,
    /// The furthest from the truth that it may have been taken to be later.
    pub(crate) later_error_ms: f64,
    /// The furthest that it was from where it was at the beginning, of the times at which that is known to [`CLOCK_MS`].
    pub(crate) drift_ms: f64,
}

/// A clock is known well enough that is known to so many milliseconds.
pub(crate) const CLOCK_MS: f64 = 5.0;

impl WorkerState {
    /// `worker 2 (127.0.0.1:7400)`
    pub(crate) fn name(&self) -> String {
        Worker::name_of(self.number, &self.worker.address)
    }
}

impl Workers {
    /// How many arrivals have no result because workers vanished, and which and when: `200 arrivals have no result, because worker 2
    /// (127.0.0.1:7402) vanished at 4 s: some of them may have been sent`. None where no worker vanished.
    pub(crate) fn unsent_of_vanished(&self) -> Option<String> {
        let vanished = || self.all.iter().filter_map(|worker| Some((worker, worker.load.vanished_at_s?)));
        let unsent: u64 = vanished().map(|(worker, _)| worker.load.dropped_late).sum();
        let which: Vec<String> =
            vanished().map(|(worker, at)| format!("{} vanished at {at} s", worker.name())).collect();
        let have = if unsent == 1 { "has" } else { "have" };
        let counted = brief::counted(unsent, "arrival");
        (unsent > 0).then(|| {
            format!(
                "{counted} {have} no result, because {}: what it did in its last second was not handed over, so some of them may \
                 have been sent",
                which.join(" and ")
            )
        })
    }

    pub(super) fn read(run: &dyn Run, figures: &Figures) -> Result<Workers, ReadError> {
        let load_s = figures.phases.iter().map(PhaseWindow::length_s).sum();
        let manifest = run.manifest();
        let version = manifest.generator.get("version").cloned().unwrap_or_default();
        let state = |(number, worker)| OfWorker { run, number, worker, load_s }.state();
        let all = (1..).zip(&manifest.workers).map(state).collect::<Result<_, _>>()?;
        Ok(Workers { all, version, workload_digest: manifest.workload_digest.clone() })
    }
}

/// What a run has of one of its workers.
struct OfWorker<'a> {
    run: &'a dyn Run,
    number: u32,
    worker: &'a Worker,
    load_s: f64,
}

impl<'a> OfWorker<'a> {
    fn has(&self, instance: Option<Instance>) -> bool {
        instance.is_some_and(|instance| instance.is_in_process_of(self.worker.place))
    }

    fn series(&self, name: &'static str) -> impl Iterator<Item = &'a SeriesKey> {
        let own =
            |s: &&SeriesKey| &*s.target == SeriesKey::GENERATOR && &*s.name == name && self.has(s.instance);
        self.run.series().iter().filter(own).collect::<Vec<_>>().into_iter()
    }

    fn state(&self) -> Result<WorkerState, ReadError> {
        let vanished = vanishing(self.run, self.worker)?.map(|notice| (notice.at, notice.text));
        let load = WorkerLoad::read(self.run, self.worker, self.load_s)?;
        Ok(WorkerState {
            number: self.number,
            worker: self.worker.clone(),
            has_offered: load.cpu_cores.is_some(),
            vanished,
            clock: self.clock()?,
            load,
        })
    }

    fn clock(&self) -> Result<WorkerClock, ReadError> {
        let error_ms = self.worker.clock_error_ns as f64 / 1e6;
        let mut clock = WorkerClock { error_ms, later_error_ms: 0.0, drift_ms: 0.0 };
        let mut errors = Vec::new();
        for series in self.series(SeriesKey::CLOCK_ERROR) {
            errors.extend(self.run.samples(series, self.run.whole())?);
        }
        for error in errors.iter().filter(|error| error.at > Instant::EPOCH) {
            clock.later_error_ms = clock.later_error_ms.max(error.value * 1e3);
        }
        for series in self.series(SeriesKey::CLOCK_DRIFT) {
            for sample in self.run.samples(series, self.run.whole())? {
                let error = errors.iter().find(|error| error.at == sample.at);
                if error.is_none_or(|error| error.value * 1e3 <= CLOCK_MS) {
                    clock.drift_ms = clock.drift_ms.max(sample.value.abs() * 1e3);
                }
            }
        }
        Ok(clock)
    }
}
