//! What the run of a script came to, in k6's terms: its summary, its thresholds.

mod derived;
mod thresholds;

use std::collections::BTreeMap;

use evidence::metric::MetricSums;
use evidence::run::ReadError;
use evidence::{Name, Run};

use crate::options::ConsolidatedOptions;
use crate::options::thresholds::MetricThresholds as CompiledThresholds;
use crate::summary::{
    MetricDefinition, MetricThresholds, RunRecord, RunState, Series, SummaryData, SummaryOptions, Threshold,
};
use crate::{BUILTINS, Script};

pub use thresholds::Measured;

/// Metrics with their tags, over all phases.
type SeriesSums = Vec<(Name, BTreeMap<Name, Name>, MetricSums)>;

/// A script with what it was run by.
#[derive(Clone, Copy)]
pub struct FinishedScript<'a> {
    pub script: &'a Script,
    pub options: &'a ConsolidatedOptions,
    pub thresholds: &'a [CompiledThresholds],
}

/// Whether k6's standard streams are terminals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminals {
    /// Standard output is one.
    pub stdout: bool,
    /// Standard error is one.
    pub stderr: bool,
}

/// What a run came to.
pub struct RunResults {
    /// What its summary shows.
    pub summary: SummaryData,
    /// The metrics of which a threshold is crossed.
    pub crossed: Vec<String>,
    /// Whether an iteration ran to its end.
    pub has_whole_iterations: bool,
}

impl RunResults {
    /// Of a run of this script.
    ///
    /// # Errors
    /// [`ReadError`] when the evidence cannot be read.
    pub fn read(
        run: &dyn Run,
        script: FinishedScript<'_>,
        terminals: Terminals,
    ) -> Result<RunResults, ReadError> {
        let mut sums = sums(run)?;
        sums.extend(derived::derived(run, script.options)?);
        let thresholds = evaluated(run, script.thresholds, &sums);
        let is_crossed = |of: &&MetricThresholds| of.thresholds.iter().any(|threshold| !threshold.ok);
        let crossed = thresholds.iter().filter(is_crossed).map(|of| of.metric.clone()).collect();
        let series: Vec<Series<'_, MetricSums>> =
            sums.iter().map(|(metric, tags, sums)| Series { metric, tags, sums }).collect();
        let record = RunRecord {
            definitions: &definitions(script.script),
            series: &series,
            thresholds: &thresholds,
            state: RunState {
                stdout_is_terminal: terminals.stdout,
                stderr_is_terminal: terminals.stderr,
                duration_ms: run.recorded().as_secs_f64() * 1e3,
            },
            options: summary_options(script.options),
            setup_data: script.script.setup_data().and_then(|json| serde_json::from_str(json).ok()),
        };
        let has_whole_iterations = sums.iter().any(|(metric, ..)| **metric == *"iterations");
        Ok(RunResults { summary: record.summary(), crossed, has_whole_iterations })
    }
}

/// Every metric that there is.
#[must_use]
pub fn definitions(script: &Script) -> Vec<MetricDefinition> {
    let own = script.metrics().iter().map(|(name, kind, contains)| (name.as_str(), *kind, *contains));
    let derived = derived::DERIVED.iter().map(|(name, kind)| (*name, *kind, crate::Contains::Default));
    let all = BUILTINS.iter().copied().chain(derived).chain(own);
    all.map(|(name, kind, contains)| MetricDefinition { name: name.to_owned(), kind, contains }).collect()
}

/// Whether each threshold is met. The time is the one that the judge divides by, so that no claim contradicts the mark beside it.
fn evaluated(run: &dyn Run, thresholds: &[CompiledThresholds], sums: &SeriesSums) -> Vec<MetricThresholds> {
    let of_metric = |of: &CompiledThresholds| {
        let measured = Measured { kind: of.kind, sums: part(sums, of), duration: run.recorded() };
        let evaluated = of
            .thresholds
            .iter()
            .map(|threshold| Threshold { source: threshold.source.clone(), ok: measured.meets(threshold) });
        MetricThresholds { metric: of.source.clone(), thresholds: evaluated.collect(), is_asked: true }
    };
    thresholds.iter().map(of_metric).collect()
}

fn sums(run: &dyn Run) -> Result<SeriesSums, ReadError> {
    let mut all: SeriesSums = Vec::new();
    for (id, key) in run.metrics() {
        let sums = run.metric(*id, run.whole())?;
        match all.iter_mut().find(|(name, tags, _)| *name == key.name && *tags == key.tags) {
            Some((_, _, known)) => known.merge(&sums),
            None => all.push((key.name.clone(), key.tags.clone(), sums)),
        }
    }
    Ok(all)
}

/// The values that a threshold is about.
fn part(sums: &SeriesSums, of: &CompiledThresholds) -> MetricSums {
    let mut part = MetricSums::default();
    for (name, tags, sums) in sums {
        let value_of = |name: &str| tags.get(name).map(|value| &**value);
        if **name == *of.selector.name && of.selector.matches(value_of) {
            part.merge(sums);
        }
    }
    part
}

fn summary_options(options: &ConsolidatedOptions) -> SummaryOptions {
    let options = &options.options;
    let trend_stats = options.trend_statistics().iter().map(ToString::to_string).collect();
    SummaryOptions { trend_stats, time_unit: options.summary_time_unit, no_color: false }
}
