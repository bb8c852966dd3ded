//! Observed series: CPU-seconds, CPU per request, statistics of each series.

use evidence::run::ReadError;
use evidence::{Run, Sample, SeriesKey};
use serde::Serialize;
use workload::Workload;

use super::binned::parts;
use super::header::PhaseCoverage;

/// Below this covered share of the run, CPU-seconds are not divided by requests: part of the work was not measured.
const ENOUGH_COVERAGE: f64 = 0.9;
/// A sample covers at most this many usual intervals before it; a longer interval is a gap.
const LONGEST_INTERVALS: f64 = 2.0;

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
    /// CPU-seconds per 1,000 requests that ended in the run; none when too little was covered.
    pub per_1000_requests_s: Option<f64>,
    /// Why a number is missing or incomplete; empty otherwise.
    pub note: String,
}

/// An observed series over the whole run.
#[derive(Debug, Clone, Serialize)]
pub struct SeriesSummary {
    /// The target it describes.
    pub target: String,
    /// Its name.
    pub name: String,
    /// Distinguishes several series of one name; may be empty.
    pub part: String,
    /// The unit of its values.
    pub unit: String,
    /// Its statistics.
    #[serde(flatten)]
    pub statistics: SeriesStatistics,
    /// Its statistics in each phase, in the order of the phases; none where there are no samples.
    #[serde(skip)]
    pub phases: Vec<Option<SeriesStatistics>>,
}

/// Statistics of samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SeriesStatistics {
    /// How many samples.
    pub samples: u64,
    /// Their arithmetic mean.
    pub mean: f64,
    /// The lowest value.
    pub min: f64,
    /// The highest value.
    pub max: f64,
    /// The last value.
    pub last: f64,
}

impl SeriesStatistics {
    fn of(samples: &[Sample]) -> Option<SeriesStatistics> {
        let last = samples.last()?.value;
        let values = || samples.iter().map(|s| s.value);
        Some(SeriesStatistics {
            samples: samples.len() as u64,
            mean: values().sum::<f64>() / samples.len() as f64,
            min: values().fold(f64::INFINITY, f64::min),
            max: values().fold(f64::NEG_INFINITY, f64::max),
            last,
        })
    }
}

pub(super) fn series(run: &dyn Run, phases: &[PhaseCoverage]) -> Result<Vec<SeriesSummary>, ReadError> {
    let mut all = Vec::new();
    for key in run.series() {
        let samples = run.samples(key, run.whole())?;
        if let Some(statistics) = SeriesStatistics::of(&samples) {
            all.push(SeriesSummary {
                target: key.target.to_string(),
                name: key.name.to_string(),
                part: key.part.to_string(),
                unit: key.unit.to_string(),
                statistics,
                phases: phases.iter().map(|phase| in_phase(&samples, phase)).collect(),
            });
        }
    }
    let is_generator = |s: &SeriesSummary| s.target == SeriesKey::GENERATOR;
    all.sort_by_key(|s| (is_generator(s), s.target.clone(), s.name.clone(), s.part.clone()));
    Ok(all)
}

/// A sample is taken at the end of the interval it covers, so the sample at the phase's end belongs to the phase.
fn in_phase(samples: &[Sample], phase: &PhaseCoverage) -> Option<SeriesStatistics> {
    let second = |sample: &Sample| sample.at.offset().as_secs_f64();
    let from = samples.partition_point(|sample| second(sample) <= phase.start_s);
    let to = samples.partition_point(|sample| second(sample) <= phase.end_s);
    SeriesStatistics::of(samples.get(from..to)?)
}

/// CPU of the generator, then of every target with a process in the plan or an observed CPU series.
pub(super) fn cpu(run: &dyn Run, workload: &Workload, completed: u64) -> Result<Vec<CpuUse>, ReadError> {
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
    distinct.into_iter().map(|target| cpu_of(run, target, completed)).collect()
}

fn cpu_of(run: &dyn Run, target: &str, completed: u64) -> Result<CpuUse, ReadError> {
    let mut note = String::new();
    let mut keys = parts(run, "cpu", target);
    if keys.is_empty() && target == SeriesKey::GENERATOR {
        keys = parts(run, "loop_cpu", target);
        note = "loops only: the process was not observed".to_owned();
    }
    let mut seconds = 0.0;
    let mut covered_s: f64 = 0.0;
    for key in &keys {
        let (part_seconds, part_covered) = integral(&run.samples(key, run.whole())?);
        seconds += part_seconds;
        covered_s = covered_s.max(part_covered);
    }
    let is_measured = covered_s > 0.0;
    let is_covered = covered_s >= ENOUGH_COVERAGE * f64::from(run.seconds());
    if !is_measured {
        note = "not measured".to_owned();
    } else if !is_covered {
        note = format!("measured for {covered_s:.0} of {} s only", run.seconds());
    }
    let has_cost = is_measured && is_covered && completed > 0;
    Ok(CpuUse {
        target: target.to_owned(),
        cpu_seconds: is_measured.then_some(seconds),
        covered_s,
        mean_cores: is_measured.then(|| seconds / covered_s),
        per_1000_requests_s: has_cost.then(|| seconds * 1_000.0 / completed as f64),
        note,
    })
}

/// The integral of a rate over the time that its samples cover, and that time, in seconds. Each sample covers the
/// interval before it. Gaps are not filled.
pub(super) fn integral(samples: &[Sample]) -> (f64, f64) {
    let mut gaps: Vec<f64> = samples.windows(2).map(|w| w[1].at.since(w[0].at).as_secs_f64()).collect();
    gaps.sort_by(f64::total_cmp);
    let usual = gaps.get(gaps.len() / 2).copied().unwrap_or(1.0);
    let mut sum = 0.0;
    let mut covered = 0.0;
    let mut before = None;
    for sample in samples {
        let since = before.map_or(usual, |at| sample.at.since(at).as_secs_f64());
        let interval = if since > LONGEST_INTERVALS * usual { usual } else { since };
        let interval = interval.min(sample.at.offset().as_secs_f64());
        sum += sample.value * interval;
        covered += interval;
        before = Some(sample.at);
    }
    (sum, covered)
}

#[cfg(test)]
mod tests {
    use evidence::Instant;

    use super::*;

    fn at(second: u64, value: f64) -> Sample {
        Sample { at: Instant::from_nanos(second * 1_000_000_000), value }
    }

    #[test]
    fn a_phase_has_the_samples_whose_intervals_end_in_it() {
        let phase = |start_s, end_s| PhaseCoverage {
            name: String::new(),
            start_s,
            end_s,
            covered_s: end_s - start_s,
        };
        let samples: Vec<_> = (1..=10).map(|s| at(s, s as f64)).collect();
        let mean_and_max = |phase| in_phase(&samples, &phase).map(|of| (of.mean, of.max));
        assert_eq!(mean_and_max(phase(0.0, 4.0)), Some((2.5, 4.0)));
        assert_eq!(mean_and_max(phase(4.0, 6.0)), Some((5.5, 6.0)));
        assert_eq!(mean_and_max(phase(20.0, 30.0)), None);
    }

    #[test]
    fn a_gap_is_not_filled() {
        let even: Vec<_> = (1..=10).map(|s| at(s, 0.5)).collect();
        assert_eq!(integral(&even), (5.0, 10.0));
        let with_gap: Vec<_> = (1..=5).chain(50..=54).map(|s| at(s, 0.5)).collect();
        assert_eq!(integral(&with_gap), (5.0, 10.0));
        assert_eq!(integral(&[]), (0.0, 0.0));
    }
}
