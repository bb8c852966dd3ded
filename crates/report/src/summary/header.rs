//! A run's name, times, identities and how it ended.

use std::collections::BTreeMap;
use std::time::Duration;

use evidence::run::{ReadError, load_end};
use evidence::{Ending, Instant, Run, Source, Window};
use serde::Serialize;
use workload::Workload;

use super::in_window::{InWindow, PhaseRequests};
use crate::number;
use crate::text::fit;

/// Characters of a SHA-256 digest.
const DIGEST_LENGTH: usize = 64;
const NO_DIGEST: &str = "none: the file has no seal";

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "how", content = "reason")]
pub enum RunEndState {
    /// Every scenario ran to its end.
    Completed,
    /// Stopped by a signal, then drained and sealed.
    Interrupted,
    /// Ended early by the plan's stop rule for this objective, then drained and sealed.
    Stopped(String),
    /// Ended early because every objective was decided, as was asked for, then drained and sealed: when, and at which
    /// confidence.
    Decided(String),
    /// The measurement became impossible, for this reason.
    Aborted(String),
    /// Never sealed: the process was killed or the machine failed.
    Killed,
    /// Its load is still being offered.
    UnderWay,
}

/// A run's name, times, identities and how it ended.
#[derive(Debug, Clone, Serialize)]
pub struct Header {
    /// The plan's name.
    pub name: String,
    /// When it started, RFC 3339 in UTC, as in the archive.
    pub started_at: String,
    /// Seconds for which there is evidence.
    pub seconds: u32,
    /// How long the run took until its last request ended, in seconds.
    pub elapsed_s: f64,
    /// Length of the plan in seconds.
    pub planned_seconds: u32,
    pub end: RunEndState,
    /// When its load was stopped before its planned end, in seconds of the run, where that was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_at_s: Option<f64>,
    /// What ended it early, as its notice says it: a signal, a stop rule, the script's thresholds.
    #[serde(skip)]
    pub stopped_by: Option<String>,
    /// Requests without an outcome, as counted by the engine; none of a killed run and of an imported one.
    pub requests_in_flight: Option<u64>,
    /// The run's seed.
    pub seed: u64,
    /// SHA-256 of the resolved workload.
    pub workload_digest: String,
    /// SHA-256 of the evidence as written at its seal; none of a run that was never sealed.
    pub digest: Option<String>,
    /// The identity of each target.
    pub targets: BTreeMap<String, BTreeMap<String, String>>,
    /// Properties of the machine.
    pub environment: BTreeMap<String, String>,
    /// Properties of the generator.
    pub generator: BTreeMap<String, String>,
    /// The source of an imported run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The resolved workload as indented JSON.
    #[serde(skip)]
    pub workload: String,
}

impl Header {
    /// How it ended as text: `completed`, `killed at second 41 of 105`, `interrupted at 5.2 s of 105 s`.
    pub fn end_in_words(&self) -> String {
        let at = match self.stopped_at_s {
            Some(second) => format!("at {second:.1} s of {} s", self.planned_seconds),
            None => format!("at second {} of {}", self.seconds, self.planned_seconds),
        };
        match &self.end {
            RunEndState::Completed => "completed".to_owned(),
            RunEndState::Interrupted => match &self.stopped_by {
                Some(script) if script.starts_with("ended early by the script") => format!("{script} {at}"),
                _ => format!("interrupted {at}"),
            },
            RunEndState::Stopped(objective) => {
                format!("ended early {at} by the plan's stop rule for {objective}")
            }
            RunEndState::Decided(when) => format!("ended {when}"),
            RunEndState::Aborted(reason) => format!("aborted {at}: {reason}"),
            RunEndState::Killed => format!("killed {at}"),
            RunEndState::UnderWay => format!("under way {at}"),
        }
    }

    /// The digest of the evidence as text, and why there is none. A seal that was changed may contain anything.
    pub fn digest_in_words(&self) -> String {
        self.digest.as_ref().map_or_else(|| NO_DIGEST.to_owned(), |digest| fit(digest, DIGEST_LENGTH))
    }
}

/// A phase, and how much of it the run covered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseCoverage {
    pub name: String,
    /// Its start in seconds of the run.
    pub start_s: f64,
    /// Its planned end in seconds of the run.
    pub end_s: f64,
    /// Seconds of it in which the load was offered: what rates are divided by.
    pub covered_s: f64,
    /// Its requests by when they began and ended; none where the run file does not say.
    pub requests: Option<PhaseRequests>,
}

impl PhaseCoverage {
    /// From when to when its load was offered: `10 to 30 s`.
    pub(crate) fn when(&self) -> String {
        number::span(self.start_s, self.start_s + self.covered_s)
    }

    /// When the last of `phases` ended of which load was offered, in seconds of the run.
    pub(crate) fn end_of_load_s(phases: &[PhaseCoverage]) -> Option<f64> {
        let covered = phases.iter().filter(|phase| phase.covered_s > 0.0);
        covered.map(|phase| phase.start_s + phase.covered_s).reduce(f64::max)
    }

    /// Whether its load ended before it was over.
    pub(crate) fn is_cut(&self) -> bool {
        self.start_s + self.covered_s < self.end_s
    }

    /// The window of its samples.
    pub(super) fn window(&self) -> Window {
        self.window_to(self.end_s)
    }

    /// The part of it with evidence.
    pub(super) fn recorded_window(&self) -> Window {
        self.window_to(self.start_s + self.covered_s)
    }

    fn window_to(&self, end_s: f64) -> Window {
        let at = |seconds: f64| Instant::at(Duration::try_from_secs_f64(seconds).unwrap_or_default());
        Window { begin: at(self.start_s), end: at(end_s) }
    }
}

pub(super) fn of(run: &dyn Run, workload: &Workload) -> Result<Header, ReadError> {
    let stop = evidence::run::stop(run)?;
    let stopped_at = stop.as_ref().map(|stop| stop.at);
    let manifest = run.manifest();
    let planned = workload.phases.last().map(|p| p.end.as_secs_f64().ceil()).unwrap_or_default();
    Ok(Header {
        name: manifest.name.clone(),
        started_at: manifest.started_at.clone(),
        seconds: run.seconds(),
        elapsed_s: run.recorded().as_secs_f64(),
        planned_seconds: planned as u32,
        end: match run.end().map(|end| &end.ending) {
            Some(Ending::Completed) => RunEndState::Completed,
            Some(Ending::Interrupted) => RunEndState::Interrupted,
            Some(Ending::Stopped(objective)) => RunEndState::Stopped(objective.clone()),
            Some(Ending::Decided) => RunEndState::Decided(decided(workload, stopped_at)),
            Some(Ending::Aborted(reason)) => RunEndState::Aborted(reason.clone()),
            None => RunEndState::Killed,
        },
        stopped_at_s: stopped_at.map(|at| at.offset().as_secs_f64()),
        stopped_by: stop.map(|stop| stop.text),
        // What was in flight at the end of another tool's run is not in its results.
        requests_in_flight: run.end().filter(|_| manifest.source.is_none()).map(|end| end.requests_in_flight),
        seed: manifest.seed,
        workload_digest: manifest.workload_digest.clone(),
        digest: run.digest().map(str::to_owned),
        targets: manifest.targets.clone(),
        environment: manifest.environment.clone(),
        generator: manifest.generator.clone(),
        source: manifest.source.clone(),
        workload: serde_json::to_string_pretty(&manifest.workload).unwrap_or_default(),
    })
}

/// `after 50 % of the planned time, decided at 98.1 %`.
fn decided(workload: &Workload, stopped_at: Option<Instant>) -> String {
    let at = stopped_at.map(|at| at.offset()).unwrap_or_default();
    workload.until_decided.as_ref().map(|until| until.ended_at(at)).unwrap_or_default()
}

pub(super) fn phases(
    run: &dyn Run,
    workload: &Workload,
    in_window: &InWindow,
) -> Result<Vec<PhaseCoverage>, ReadError> {
    let load = load_end(run)?;
    let coverage = |(index, phase): (usize, &workload::Phase)| PhaseCoverage {
        name: phase.name.clone(),
        start_s: phase.start.as_secs_f64(),
        end_s: phase.end.as_secs_f64(),
        covered_s: workload.offered_of(phase, load).as_secs_f64(),
        requests: in_window.requests(index),
    };
    Ok(workload.phases.iter().enumerate().map(coverage).collect())
}
