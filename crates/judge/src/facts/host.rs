//! The machine that the generator ran on, as far as it was observed.

use evidence::run::ReadError;
use evidence::{Coverage, Run, Seconds, SeriesKey, Window, coverage};

use workload::Workload;

use crate::facts::WINDOW_S;

/// The target name of the machine's series.
const HOST: &str = "host";

/// The state of the machine; shares are from 0 to 1.
#[derive(Debug, Clone)]
pub(crate) struct Host {
    /// Mean of each [`WINDOW_S`].
    steal: Vec<Option<f64>>,
    pub(crate) frequency: Option<FrequencyRange>,
    /// The worst [`WINDOW_S`] of waiting for memory.
    pub(crate) memory_pressure: Option<f64>,
    /// Mean share of each [`WINDOW_S`] in which a task waited for a processor.
    cpu_pressure: Vec<Option<f64>>,
    /// Of each [`WINDOW_S`].
    others: Vec<Option<OtherProcesses>>,
}

/// Processor time that neighbours took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StealShares {
    pub(crate) mean: f64,
    /// In the worst [`WINDOW_S`].
    pub(crate) worst: f64,
}

/// Mean frequencies of a [`WINDOW_S`], in Hz.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FrequencyRange {
    pub(crate) lowest: f64,
    pub(crate) highest: f64,
}

/// Use by processes other than the generator and the observed targets, in a [`WINDOW_S`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct OtherProcesses {
    pub(crate) cores: f64,
    /// Share of the time in which a process waited.
    pub(crate) waited: f64,
}

impl Host {
    /// Steal in the windows that have any of these seconds.
    pub(crate) fn steal(&self, seconds: &Seconds) -> Option<StealShares> {
        let known: Vec<f64> = within(&self.steal, seconds).collect();
        stats::mean(&known).zip(highest(&known)).map(|(mean, worst)| StealShares { mean, worst })
    }

    /// The mean share of the time in which a task waited for a processor, in the windows that have any of these seconds.
    pub(crate) fn cpu_pressure(&self, seconds: &Seconds) -> Option<f64> {
        stats::mean(&within(&self.cpu_pressure, seconds).collect::<Vec<_>>())
    }

    /// The machine of a run of this workload: where another version runs at the same moment, its use of processors is not that
    /// of neighbours, and not known here.
    pub(crate) fn beside(self, workload: &Workload) -> Host {
        let others = if workload.interleaved.is_some() { Vec::new() } else { self.others };
        Host { others, ..self }
    }

    /// Use by other processes in each window that has any of these seconds.
    pub(crate) fn others(&self, seconds: &Seconds) -> impl Iterator<Item = OtherProcesses> {
        within(&self.others, seconds)
    }
}

/// What is known of the windows that have any of these seconds.
fn within<T: Copy>(windows: &[Option<T>], seconds: &Seconds) -> impl Iterator<Item = T> {
    let has_any = |window: u32| window * WINDOW_S < seconds.end && (window + 1) * WINDOW_S > seconds.start;
    (0..).zip(windows).filter(move |(window, _)| has_any(*window)).filter_map(|(_, value)| *value)
}

/// The state of the machine; none if it was not observed.
pub(crate) fn host(run: &dyn Run) -> Result<Option<Host>, ReadError> {
    let windows = |name: &str| window_means(run, |series| &*series.target == HOST && &*series.name == name);
    let known = |name: &str| Ok::<_, ReadError>(windows(name)?.into_iter().flatten().collect::<Vec<f64>>());
    let frequency = known("host_frequency")?;
    let lowest = frequency.iter().copied().reduce(f64::min);
    let cpu_pressure = windows("host_pressure_cpu")?;
    let host = Host {
        steal: windows("host_steal")?,
        frequency: lowest
            .zip(highest(&frequency))
            .map(|(lowest, highest)| FrequencyRange { lowest, highest }),
        memory_pressure: highest(&known("host_pressure_memory")?),
        others: others(run, &windows("host_cpu")?, &cpu_pressure)?,
        cpu_pressure,
    };
    let is_known = host.frequency.is_some()
        || host.memory_pressure.is_some()
        || host.steal.iter().any(Option::is_some)
        || host.others.iter().any(Option::is_some);
    Ok(is_known.then_some(host))
}

fn highest(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::max)
}

/// Use by other processes in each window.
fn others(
    run: &dyn Run,
    all: &[Option<f64>],
    waited: &[Option<f64>],
) -> Result<Vec<Option<OtherProcesses>>, ReadError> {
    let is_own = |series: &SeriesKey| &*series.target == SeriesKey::GENERATOR;
    let process = window_means(run, |series| is_own(series) && &*series.name == "cpu")?;
    let loops = window_means(run, |series| is_own(series) && &*series.name == "loop_cpu")?;
    let own: Vec<Option<f64>> =
        process.iter().zip(&loops).map(|(process, loops)| process.or(*loops)).collect();
    let is_target = |series: &SeriesKey| &*series.target != HOST && !is_own(series);
    let targets = window_means(run, |series| is_target(series) && &*series.name == "cpu")?;
    // Without the targets' own use, all of it would count as that of other processes.
    let window = |index: usize| {
        let at = |means: &[Option<f64>]| means.get(index).copied().flatten();
        let rest = at(all)? - (at(&own)? + at(&targets)?);
        Some(OtherProcesses { cores: rest.max(0.0), waited: at(waited)? })
    };
    Ok((0..all.len()).map(window).collect())
}

/// The mean of each whole window of the run, over the time that samples cover, summed over the selected series; none
/// where one of them has no sample.
fn window_means(
    run: &dyn Run,
    is_selected: impl Fn(&SeriesKey) -> bool,
) -> Result<Vec<Option<f64>>, ReadError> {
    let count = run.seconds() / WINDOW_S;
    let selected: Vec<&SeriesKey> = run.series().iter().filter(|series| is_selected(series)).collect();
    let none = if selected.is_empty() { None } else { Some(0.0) };
    let mut sums: Vec<Option<f64>> = vec![none; count as usize];
    for series in selected {
        let covered = Coverage::read(run, series)?;
        for (window, sum) in (0..count).zip(&mut sums) {
            let window = Window::new(&(window * WINDOW_S..(window + 1) * WINDOW_S));
            let mean = coverage::mean(covered.within(window).iter());
            *sum = sum.zip(mean).map(|(sum, mean)| sum + mean);
        }
    }
    Ok(sums)
}
