//! How the generator itself did, by phase.

use std::collections::BTreeMap;

use evidence::run::{ReadError, select};
use evidence::{Histogram, Metric, Run, Sample, SeriesKey};
use workload::Workload;

use super::tables::{Span, Tables};
use crate::thresholds::WINDOW_S;

/// How the generator itself did.
#[derive(Debug, Default)]
pub(crate) struct Generator {
    /// CPU of each loop in each phase with load; empty where it was not measured.
    pub(crate) loops: Vec<LoopUse>,
    /// The 99th percentile of loop stalls of each phase that has any, in milliseconds.
    pub(crate) stall_p99_ms: BTreeMap<String, f64>,
    /// How close scenarios came to their caps.
    pub(crate) at_cap: Vec<AtCap>,
}

/// What a loop used of a core.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LoopUse {
    pub(crate) phase: String,
    /// Such as `loop 0`.
    pub(crate) part: String,
    /// The highest mean over [`WINDOW_S`] of the phase (or over the phase, if shorter), in cores.
    pub(crate) cores: f64,
}

/// How long a scenario was at its cap in a phase.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AtCap {
    pub(crate) phase: String,
    pub(crate) scenario: String,
    /// Share of the phase, 0 to 1.
    pub(crate) share: f64,
}

impl Generator {
    pub(crate) fn of(run: &dyn Run, workload: &Workload, tables: &Tables) -> Result<Generator, ReadError> {
        let mut generator = Generator::default();
        for span in &tables.spans {
            generator.loops.extend(loops(run, span)?);
            if let Some(p99) = stall_p99_ms(run, span)? {
                generator.stall_p99_ms.insert(span.name.clone(), p99);
            }
            for scenario in &workload.scenarios {
                if let Some(share) = at_cap(run, span, &scenario.name)? {
                    let (phase, scenario) = (span.name.clone(), scenario.name.clone());
                    generator.at_cap.push(AtCap { phase, scenario, share });
                }
            }
        }
        Ok(generator)
    }
}

/// The samples of one series that were taken in a phase.
pub(crate) fn samples_in(run: &dyn Run, series: &SeriesKey, span: &Span) -> Result<Vec<Sample>, ReadError> {
    let seconds = span.seconds();
    // A sample stands at the end of the interval it covers, so the one at the phase's end belongs to it.
    let samples = run.samples(series, seconds.start..seconds.end.saturating_add(1))?;
    let is_in = |sample: &Sample| span.start < sample.at.offset() && sample.at.offset() <= span.end;
    Ok(samples.into_iter().filter(is_in).collect())
}

fn own_series<'a>(run: &'a dyn Run, name: &'a str) -> impl Iterator<Item = &'a SeriesKey> {
    run.series().iter().filter(move |s| &*s.target == SeriesKey::GENERATOR && &*s.name == name)
}

fn loops(run: &dyn Run, span: &Span) -> Result<Vec<LoopUse>, ReadError> {
    let mut uses = Vec::new();
    for series in own_series(run, "loop_cpu") {
        let samples = samples_in(run, series, span)?;
        let values: Vec<f64> = samples.iter().map(|s| s.value).collect();
        let width = values.len().min(WINDOW_S as usize).max(1);
        let means = values.windows(width).filter_map(stats::mean);
        if let Some(cores) = means.reduce(f64::max) {
            uses.push(LoopUse { phase: span.name.clone(), part: series.part.to_string(), cores });
        }
    }
    uses.sort_by(|a, b| a.part.cmp(&b.part));
    Ok(uses)
}

fn stall_p99_ms(run: &dyn Run, span: &Span) -> Result<Option<f64>, ReadError> {
    let mut stalls = Histogram::new();
    for (id, _) in select(run.keys(), Metric::LoopStall, |_| true) {
        stalls.merge(&run.histogram(id, span.seconds())?);
    }
    Ok(stalls.quantile(0.99).finite_us().map(|us| us / 1_000.0))
}

/// The mean over the loops that were active; a loop's series is named after the scenario, and from the
/// second loop on after both.
fn at_cap(run: &dyn Run, span: &Span, scenario: &str) -> Result<Option<f64>, ReadError> {
    let is_its = |part: &str| {
        part.strip_prefix(scenario).is_some_and(|rest| rest.is_empty() || rest.starts_with(" loop "))
    };
    let mut values = Vec::new();
    for series in own_series(run, "at_cap").filter(|s| is_its(&s.part)) {
        values.extend(samples_in(run, series, span)?.iter().map(|s| s.value));
    }
    Ok(stats::mean(&values))
}
