//! What the run was and how it ended.

use std::collections::BTreeMap;

use evidence::{Ending, Run, Source};
use serde::Serialize;
use workload::Workload;

/// How a run ended, told with the second it got to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "how", content = "reason")]
pub enum End {
    /// Every scenario ran its course.
    Completed,
    /// Stopped by a person or a signal, drained and sealed.
    Interrupted,
    /// The measurement became impossible, for this reason.
    Aborted(String),
    /// Never sealed: killed, or the machine died.
    Killed,
}

/// What the run was and how it ended.
#[derive(Debug, Clone, Serialize)]
pub struct Header {
    /// The plan's name.
    pub name: String,
    /// When it began, RFC 3339 in UTC, as the archive has it.
    pub started_at: String,
    /// Seconds for which there is evidence.
    pub seconds: u32,
    /// Seconds the plan lasts.
    pub planned_seconds: u32,
    /// How it ended.
    pub end: End,
    /// Requests begun that have no outcome, as the engine counted them; none when it was killed.
    pub requests_in_flight: Option<u64>,
    /// The run's seed.
    pub seed: u64,
    /// SHA-256 of the resolved workload.
    pub workload_digest: String,
    /// What answered at each target.
    pub targets: BTreeMap<String, BTreeMap<String, String>>,
    /// The machine.
    pub environment: BTreeMap<String, String>,
    /// The generator.
    pub generator: BTreeMap<String, String>,
    /// Where an imported run comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The resolved workload as indented JSON.
    #[serde(skip)]
    pub workload: String,
}

impl Header {
    /// How it ended, in words: `completed`, `killed at second 41 of 105`.
    pub fn end_in_words(&self) -> String {
        let at = format!("at second {} of {}", self.seconds, self.planned_seconds);
        match &self.end {
            End::Completed => "completed".to_owned(),
            End::Interrupted => format!("interrupted {at}"),
            End::Aborted(reason) => format!("aborted {at}: {reason}"),
            End::Killed => format!("killed {at}"),
        }
    }
}

/// A phase as far as the run got.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseSpan {
    /// Its name.
    pub name: String,
    /// Where it begins, in seconds of the run.
    pub start_s: f64,
    /// Where it ends in the plan, in seconds of the run.
    pub end_s: f64,
    /// How much of it there is evidence for, in seconds.
    pub covered_s: f64,
}

pub(super) fn of(run: &dyn Run, workload: &Workload) -> Header {
    let manifest = run.manifest();
    let planned = workload.phases.last().map(|p| p.end.as_secs_f64().ceil()).unwrap_or_default();
    Header {
        name: manifest.name.clone(),
        started_at: manifest.started_at.clone(),
        seconds: run.seconds(),
        planned_seconds: planned as u32,
        end: match run.end().map(|end| &end.ending) {
            Some(Ending::Completed) => End::Completed,
            Some(Ending::Interrupted) => End::Interrupted,
            Some(Ending::Aborted(reason)) => End::Aborted(reason.clone()),
            None => End::Killed,
        },
        requests_in_flight: run.end().map(|end| end.requests_in_flight),
        seed: manifest.seed,
        workload_digest: manifest.workload_digest.clone(),
        targets: manifest.targets.clone(),
        environment: manifest.environment.clone(),
        generator: manifest.generator.clone(),
        source: manifest.source.clone(),
        workload: serde_json::to_string_pretty(&manifest.workload).unwrap_or_default(),
    }
}

pub(super) fn phases(workload: &Workload, seconds: u32) -> Vec<PhaseSpan> {
    let reached = f64::from(seconds);
    let span = |phase: &workload::Phase| {
        let (start_s, end_s) = (phase.start.as_secs_f64(), phase.end.as_secs_f64());
        PhaseSpan {
            name: phase.name.clone(),
            start_s,
            end_s,
            covered_s: (end_s.min(reached) - start_s).max(0.0),
        }
    };
    workload.phases.iter().map(span).collect()
}
