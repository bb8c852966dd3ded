//! The machine that the generator ran on, as far as its observer saw it.

use evidence::run::ReadError;
use evidence::{Run, Sample, SeriesKey};

use crate::thresholds::WINDOW_S;

/// The name of the machine's series, as of a target.
const HOST: &str = "host";

/// What the machine went through; shares are from 0 to 1.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Host {
    /// Processor time that neighbours took, in the mean and in the worst [`WINDOW_S`].
    pub(crate) steal: Option<(f64, f64)>,
    /// The lowest and the highest mean frequency of a [`WINDOW_S`], in Hz.
    pub(crate) frequency: Option<(f64, f64)>,
    /// The worst [`WINDOW_S`] of waiting for memory.
    pub(crate) memory_pressure: Option<f64>,
    /// What others than the generator and the targets watched used in the worst [`WINDOW_S`] in which anybody waited
    /// for a processor: cores, and the share of time in which somebody waited.
    pub(crate) others: Option<(f64, f64)>,
}

/// What is known of the machine; none if it was not watched.
pub(super) fn host(run: &dyn Run) -> Result<Option<Host>, ReadError> {
    let windows = |name: &str| windows(run, |series| &*series.target == HOST && &*series.name == name);
    let steal = windows("host_steal")?;
    let host = Host {
        steal: stats::mean(&steal).zip(highest(&steal)),
        frequency: {
            let frequency = windows("host_frequency")?;
            frequency.iter().copied().reduce(f64::min).zip(highest(&frequency))
        },
        memory_pressure: highest(&windows("host_pressure_memory")?),
        others: others(run, (&windows("host_cpu")?, &windows("host_pressure_cpu")?))?,
    };
    Ok((host != Host::default()).then_some(host))
}

fn highest(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::max)
}

/// What nobody who is known used of the processors, where somebody waited longest for one.
fn others(run: &dyn Run, (all, waited): (&[f64], &[f64])) -> Result<Option<(f64, f64)>, ReadError> {
    let own = windows(run, |series| &*series.target == SeriesKey::GENERATOR && &*series.name == "loop_cpu")?;
    let targets = windows(run, |series| &*series.target != HOST && &*series.name == "cpu")?;
    // Without the targets everything they do would be that of others.
    let known = own.iter().zip(&targets).map(|(own, targets)| own + targets);
    let rest = all.iter().zip(known).map(|(all, known)| (all - known).max(0.0));
    Ok(rest.zip(waited.iter().copied()).max_by(|a, b| (a.0 * a.1).total_cmp(&(b.0 * b.1))))
}

/// The mean of each whole window of the run, over all seconds that have a sample; parts of it are added up.
fn windows(run: &dyn Run, wanted: impl Fn(&SeriesKey) -> bool) -> Result<Vec<f64>, ReadError> {
    let count = run.seconds() / WINDOW_S;
    let mut sums: Vec<Option<f64>> = vec![None; count as usize];
    for series in run.series().iter().filter(|series| wanted(series)) {
        for (window, sum) in (0..count).zip(&mut sums) {
            let samples: Vec<Sample> = run.samples(series, window * WINDOW_S..(window + 1) * WINDOW_S)?;
            let values: Vec<f64> = samples.iter().map(|s| s.value).filter(|v| v.is_finite()).collect();
            if let Some(mean) = stats::mean(&values) {
                *sum = Some(sum.unwrap_or(0.0) + mean);
            }
        }
    }
    Ok(sums.into_iter().flatten().collect())
}
