//! What observers saw: CPU-seconds, CPU a request, levels of series.

use std::collections::BTreeMap;

use evidence::run::ReadError;
use evidence::{Run, Sample, SeriesKey};
use serde::Serialize;
use workload::Workload;

use super::header::PhaseSpan;
use super::timeline::Line;

/// Below this share of the run, CPU-seconds are not held against requests: part of the work was not seen.
const ENOUGH_COVERAGE: f64 = 0.9;
/// A sample speaks for at most this many usual intervals before it; what is longer is a gap.
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
    /// Cores used, on average over what is covered.
    pub mean_cores: Option<f64>,
    /// CPU-seconds for 1,000 answered requests of the whole run; none when too little was covered.
    pub per_1000_requests_s: Option<f64>,
    /// Why something is missing or means less than it seems; empty when all is well.
    pub note: String,
}

/// An observed series over the whole run.
#[derive(Debug, Clone, Serialize)]
pub struct SeriesSummary {
    /// The target it describes.
    pub target: String,
    /// Its name.
    pub name: String,
    /// What tells several of one name apart; may be empty.
    pub part: String,
    /// The unit of its values.
    pub unit: String,
    /// What its values were.
    #[serde(flatten)]
    pub level: Level,
    /// What they were in each phase, in the phases' order; none where nothing was sampled.
    #[serde(skip)]
    pub phases: Vec<Option<Level>>,
}

/// What values were.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Level {
    /// How many samples.
    pub samples: u64,
    /// Their arithmetic mean.
    pub mean: f64,
    /// The lowest.
    pub min: f64,
    /// The highest.
    pub max: f64,
    /// The last.
    pub last: f64,
}

impl Level {
    fn of(samples: &[Sample]) -> Option<Level> {
        let last = samples.last()?.value;
        let values = || samples.iter().map(|s| s.value);
        Some(Level {
            samples: samples.len() as u64,
            mean: values().sum::<f64>() / samples.len() as f64,
            min: values().fold(f64::INFINITY, f64::min),
            max: values().fold(f64::NEG_INFINITY, f64::max),
            last,
        })
    }
}

pub(super) fn series(run: &dyn Run, phases: &[PhaseSpan]) -> Result<Vec<SeriesSummary>, ReadError> {
    let mut all = Vec::new();
    for key in run.series() {
        let samples = run.samples(key, run.whole())?;
        if let Some(level) = Level::of(&samples) {
            all.push(SeriesSummary {
                target: key.target.to_string(),
                name: key.name.to_string(),
                part: key.part.to_string(),
                unit: key.unit.to_string(),
                level,
                phases: phases.iter().map(|phase| in_phase(&samples, phase)).collect(),
            });
        }
    }
    let is_generator = |s: &SeriesSummary| s.target == SeriesKey::GENERATOR;
    all.sort_by_key(|s| (is_generator(s), s.target.clone(), s.name.clone(), s.part.clone()));
    Ok(all)
}

/// A sample stands at the end of the interval it covers, so the one at the phase's end belongs to it.
fn in_phase(samples: &[Sample], phase: &PhaseSpan) -> Option<Level> {
    let second = |sample: &Sample| sample.at.offset().as_secs_f64();
    let from = samples.partition_point(|sample| second(sample) <= phase.start_s);
    let to = samples.partition_point(|sample| second(sample) <= phase.end_s);
    Level::of(samples.get(from..to)?)
}

/// CPU of the generator first, then of every target whose process the plan names or somebody observed.
pub(super) fn cpu(run: &dyn Run, workload: &Workload, answered: u64) -> Result<Vec<CpuUse>, ReadError> {
    let mut targets: Vec<&str> = vec![SeriesKey::GENERATOR];
    let with_process = workload.targets.iter().filter(|(_, target)| target.process.is_some());
    targets.extend(with_process.map(|(name, _)| name.as_str()));
    let observed = run.series().iter().filter(|s| &*s.name == "cpu").map(|s| &*s.target);
    targets.extend(observed);
    let mut seen = Vec::new();
    targets.retain(|t| {
        !seen.contains(t) && {
            seen.push(*t);
            true
        }
    });
    targets.into_iter().map(|target| cpu_of(run, target, answered)).collect()
}

fn cpu_of(run: &dyn Run, target: &str, answered: u64) -> Result<CpuUse, ReadError> {
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
    let of_requests = is_measured && is_covered && answered > 0;
    Ok(CpuUse {
        target: target.to_owned(),
        cpu_seconds: is_measured.then_some(seconds),
        covered_s,
        mean_cores: is_measured.then(|| seconds / covered_s),
        per_1000_requests_s: of_requests.then(|| seconds * 1_000.0 / answered as f64),
        note,
    })
}

fn parts<'a>(run: &'a dyn Run, name: &str, target: &str) -> Vec<&'a SeriesKey> {
    run.series().iter().filter(|s| &*s.name == name && &*s.target == target).collect()
}

/// The integral of a rate over the time its samples cover, and that time, in seconds. Each sample stands
/// for the interval that it ends. Where samples are missing, nothing is made up.
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

/// The bins of a timeline.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid {
    pub bin_s: u32,
    pub bins: usize,
}

/// How the samples of one bin become one value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Join {
    Mean,
    Max,
}

/// One line for each target that has the series, the generator last.
pub(super) fn lines(run: &dyn Run, name: &str, how: (Grid, Join)) -> Result<Vec<Line>, ReadError> {
    let named = run.series().iter().filter(|s| &*s.name == name);
    let targets: BTreeMap<(bool, &str), ()> =
        named.map(|s| ((&*s.target == SeriesKey::GENERATOR, &*s.target), ())).collect();
    let line = |(_, target): &(bool, &str)| {
        Ok(Line { label: (*target).to_owned(), values: joined(run, (name, target), how)? })
    };
    targets.keys().map(line).collect()
}

/// One value a bin, summed over the parts of the series. Each part is joined on its own first, so that
/// parts sampled at different moments do not count twice.
pub(super) fn joined(
    run: &dyn Run,
    (name, target): (&str, &str),
    (grid, join): (Grid, Join),
) -> Result<Vec<Option<f64>>, ReadError> {
    let mut sums: Vec<Option<f64>> = vec![None; grid.bins];
    for key in parts(run, name, target) {
        let mut held: Vec<Vec<f64>> = vec![Vec::new(); grid.bins];
        for sample in run.samples(key, run.whole())? {
            if let Some(bin) = held.get_mut((sample.at.second() / grid.bin_s) as usize) {
                bin.push(sample.value);
            }
        }
        for (sum, values) in sums.iter_mut().zip(held).filter(|(_, values)| !values.is_empty()) {
            let value = match join {
                Join::Mean => values.iter().sum::<f64>() / values.len() as f64,
                Join::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            };
            *sum = Some(sum.unwrap_or(0.0) + value);
        }
    }
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evidence::Instant;

    fn at(second: u64, value: f64) -> Sample {
        Sample { at: Instant::from_nanos(second * 1_000_000_000), value }
    }

    #[test]
    fn a_phase_has_the_samples_that_end_in_it() {
        let phase =
            |start_s, end_s| PhaseSpan { name: String::new(), start_s, end_s, covered_s: end_s - start_s };
        let samples: Vec<_> = (1..=10).map(|s| at(s, s as f64)).collect();
        let shown = |phase| in_phase(&samples, &phase).map(|level| (level.mean, level.max));
        assert_eq!(shown(phase(0.0, 4.0)), Some((2.5, 4.0)));
        assert_eq!(shown(phase(4.0, 6.0)), Some((5.5, 6.0)));
        assert_eq!(shown(phase(20.0, 30.0)), None);
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
