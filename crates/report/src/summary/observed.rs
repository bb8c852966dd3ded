//! Observed series: CPU-seconds, CPU per request, statistics of each series.

use evidence::run::ReadError;
use evidence::{Coverage, CoveredSample, Run, SeriesKey, Window, coverage};
use serde::Serialize;
use workload::Workload;

use super::binned::parts;
use super::cost::{AnswersBySecond, Cost, SecondRanges};
use super::header::PhaseCoverage;

/// CPU time that the generator or a target used.
#[derive(Debug, Clone, Serialize)]
pub struct CpuUse {
    /// The target's name, or [`SeriesKey::GENERATOR`].
    pub target: String,
    /// CPU-seconds over the run; none when they were not measured.
    pub cpu_seconds: Option<f64>,
    /// Seconds of the run that the measurement covers.
    pub covered_s: f64,
    /// Mean cores over the covered seconds.
    pub mean_cores: Option<f64>,
    /// CPU-seconds per 1,000 requests, both of exactly [`CpuUse::seconds`]; none when these are too few.
    pub per_1000_requests_s: Option<f64>,
    /// The whole seconds of the run that samples cover.
    pub seconds: SecondRanges,
    /// How long the run was, in whole seconds.
    #[serde(skip)]
    pub run_s: u32,
    /// Requests that ended in these seconds, in success or failure; none when nothing is covered.
    pub requests: Option<u64>,
    /// Why a number is missing or incomplete; empty otherwise.
    pub note: String,
}

impl CpuUse {
    /// Which part of the run the cost of a request is of: `whole run`, or `seconds 4 to 17`.
    pub(crate) fn part_of_run(&self) -> String {
        match self.seconds.0.as_slice() {
            [all] if all.start == 0 && all.end >= self.run_s => "whole run".to_owned(),
            _ => self.seconds.to_string(),
        }
    }
}

/// An observed series over the whole run.
#[derive(Debug, Clone, Serialize)]
pub struct SeriesSummary {
    /// The target it describes.
    pub target: String,
    pub name: String,
    /// Distinguishes several series of one name; may be empty.
    pub part: String,
    /// The unit of its values.
    pub unit: String,
    #[serde(flatten)]
    pub statistics: SeriesStatistics,
    /// Its statistics in each phase, in the order of the phases; none where there are no samples.
    #[serde(skip)]
    pub phases: Vec<Option<SeriesStatistics>>,
}

/// Statistics of the samples that mostly cover the run or a phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SeriesStatistics {
    pub samples: u64,
    /// Their mean over the time that they cover.
    pub mean: f64,
    pub min: f64,
    pub max: f64,
    /// The last value.
    pub last: f64,
}

impl SeriesStatistics {
    fn of(samples: &[CoveredSample]) -> Option<SeriesStatistics> {
        let last = samples.last()?.value;
        let values = || samples.iter().map(|s| s.value);
        Some(SeriesStatistics {
            samples: samples.len() as u64,
            mean: coverage::mean(samples.iter())?,
            min: values().fold(f64::INFINITY, f64::min),
            max: values().fold(f64::NEG_INFINITY, f64::max),
            last,
        })
    }
}

pub(super) fn series(run: &dyn Run, phases: &[PhaseCoverage]) -> Result<Vec<SeriesSummary>, ReadError> {
    let mut all = Vec::new();
    for key in run.series() {
        let covered = Coverage::read(run, key)?;
        let of = |window: Window| SeriesStatistics::of(covered.within(window));
        if let Some(statistics) = of(Window::new(&run.whole())) {
            all.push(SeriesSummary {
                target: key.target.to_string(),
                name: key.name.to_string(),
                part: key.label(),
                unit: key.unit.to_string(),
                statistics,
                phases: phases.iter().map(|phase| of(phase.window())).collect(),
            });
        }
    }
    let is_generator = |s: &SeriesSummary| s.target == SeriesKey::GENERATOR;
    all.sort_by_key(|s| (is_generator(s), s.target.clone(), s.name.clone(), s.part.clone()));
    Ok(all)
}

/// CPU of the generator, then of every target with a process in the plan or an observed CPU series.
pub(super) fn cpu(
    run: &dyn Run,
    workload: &Workload,
    answers: &AnswersBySecond,
) -> Result<Vec<CpuUse>, ReadError> {
    let mut targets: Vec<&str> = vec![SeriesKey::GENERATOR];
    let with_process = workload.targets.iter().filter(|(_, target)| target.process.is_some());
    targets.extend(with_process.map(|(name, _)| name.as_str()));
    let observed = run.series().iter().filter(|s| &*s.name == "cpu").map(|s| &*s.target);
    targets.extend(observed);
    let mut distinct: Vec<&str> = Vec::new();
    for target in targets {
        if !distinct.contains(&target) {
            distinct.push(target);
        }
    }
    distinct.into_iter().map(|target| cpu_of(run, target, answers)).collect()
}

fn cpu_of(run: &dyn Run, target: &str, answers: &AnswersBySecond) -> Result<CpuUse, ReadError> {
    let mut note = String::new();
    let mut keys = parts(run, "cpu", target);
    if keys.is_empty() && target == SeriesKey::GENERATOR {
        keys = parts(run, "loop_cpu", target);
        note = "loops only: the process was not observed".to_owned();
    }
    let covered: Vec<Coverage> = keys.iter().map(|key| Coverage::read(run, key)).collect::<Result<_, _>>()?;
    let integrals = covered.iter().map(|part| part.integral(Window::new(&run.whole())));
    let (seconds, covered_s) = integrals
        .fold((0.0, 0.0_f64), |(sum, covered_s), part| (sum + part.sum, covered_s.max(part.covered_s)));
    let cost = Cost::of(&covered, &run.whole(), answers);
    let is_measured = covered_s > 0.0;
    if !is_measured {
        note = "not measured".to_owned();
    } else if !cost.is_covered {
        note = format!("measured for {covered_s:.0} of {} s only", run.seconds());
    }
    Ok(CpuUse {
        target: target.to_owned(),
        cpu_seconds: is_measured.then_some(seconds),
        covered_s,
        mean_cores: is_measured.then(|| seconds / covered_s),
        per_1000_requests_s: cost.per_request().map(|seconds| seconds * 1_000.0),
        requests: (cost.seconds.count() > 0).then_some(cost.requests),
        run_s: run.seconds(),
        seconds: cost.seconds,
        note,
    })
}
