//! The run over time. Seconds are joined into bins by merging their histograms and adding their counts; percentiles are
//! never averaged.

use std::collections::{BTreeMap, BTreeSet};

use evidence::key::Name;
use evidence::run::ReadError;
use evidence::{Histogram, Key, Metric, Outcome, Run, STALL, SeriesKey};
use figures::RowKey;
use workload::{Measure, Objective, Workload};

use super::binned::{Aggregation, BinnedSeries, Binning};
use super::bins::Bins;
use super::counts::Outcomes;
use super::endpoint_tally::PatternTally;
use super::header::PhaseCoverage;
use super::ms;
use super::tally::{RunTally, known_outcome};

/// The most endpoints that get lines of their own.
const MAX_ENDPOINTS: usize = 12;

/// Response times of one endpoint's successes over time, with its failures.
#[derive(Debug, Clone)]
pub struct EndpointTimeline {
    /// The endpoint's name, with its scenario's where several scenarios have an endpoint of that name.
    pub label: String,
    /// Median per bin, in milliseconds.
    pub p50_ms: Vec<Option<f64>>,
    /// 95th percentile per bin, in milliseconds.
    pub p95_ms: Vec<Option<f64>>,
    /// 99th percentile per bin, in milliseconds.
    pub p99_ms: Vec<Option<f64>>,
    /// Share of the bin's requests that failed, 0 to 1; none where none ended, and where outcomes are not known.
    pub failed_share: Vec<Option<f64>>,
    /// Requests of the whole run by outcome.
    pub outcomes: Outcomes,
    /// The bounds that its response times must stay below.
    pub bounds: Vec<TimeBound>,
}

/// The upper bound of an objective on response times.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeBound {
    /// The objective's text, such as `p95(list) < 50ms`.
    pub label: String,
    /// In milliseconds.
    pub ms: f64,
}

/// Arrivals per second.
#[derive(Debug, Clone)]
pub struct ArrivalRates {
    /// Due.
    pub offered: Vec<f64>,
    pub started: Vec<f64>,
    pub dropped: Vec<f64>,
}

/// The run over time.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// Seconds per bin.
    pub bin_s: u32,
    /// Seconds of the run.
    pub seconds: u32,
    /// Arrivals per second; none where none were counted.
    pub arrivals: Option<ArrivalRates>,
    /// Whether each arrival is one request, so that both have the same unit.
    pub arrivals_are_requests: bool,
    /// Successes, and responses whose outcome is not known, per second.
    pub ok: Vec<f64>,
    /// Failures, per second; none where outcomes are not known.
    pub failed: Option<Vec<f64>>,
    /// Whether a loop of the generator was stalled for more than a tenth of the bin.
    pub stalled: Vec<bool>,
    /// Requests in flight, time-averaged, summed over loops.
    pub in_flight: Vec<Option<f64>>,
    /// Response times of the busiest endpoints, in the order of the plan.
    pub endpoints: Vec<EndpointTimeline>,
    /// How many further endpoints have no line.
    pub endpoints_left_out: usize,
    /// CPU by target, in cores.
    pub cpu: Vec<BinnedSeries>,
    /// Resident memory by target, in bytes: the highest of each bin.
    pub rss: Vec<BinnedSeries>,
}

impl Timeline {
    /// Requests that ended per second, in whatever outcome.
    pub(crate) fn completed(&self) -> Vec<f64> {
        let failed = |bin: usize| self.failed.as_ref().and_then(|failed| failed.get(bin).copied());
        self.ok.iter().enumerate().map(|(bin, ok)| ok + failed(bin).unwrap_or(0.0)).collect()
    }
}

pub(super) fn of(
    run: &dyn Run,
    workload: &Workload,
    tally: &RunTally,
    phases: &[PhaseCoverage],
) -> Result<Timeline, ReadError> {
    let bins = &tally.bins;
    let last = last_of_load(phases).unwrap_or(u32::MAX);
    let grid = bins.grid;
    let busiest = busiest(tally, workload);
    let left_out = completed_by_line(tally).len() - busiest.len();
    let mean = Binning { grid, aggregation: Aggregation::Mean };
    let max = Binning { grid, aggregation: Aggregation::Max };
    Ok(Timeline {
        bin_s: grid.bin_s,
        seconds: grid.seconds,
        arrivals: bins.has_arrivals.then(|| ArrivalRates {
            offered: bins.rates(&bins.scheduled),
            started: bins.rates(&bins.started),
            dropped: bins.rates(&bins.dropped),
        }),
        arrivals_are_requests: workload.scenarios.iter().all(|scenario| scenario.flow.is_one_request()),
        ok: bins.rates(&bins.ok),
        failed: (!bins.has_unknown_outcomes).then(|| bins.rates(&bins.failed)),
        stalled: stalled(run, bins)?,
        in_flight: mean.values(run, "in_flight", SeriesKey::GENERATOR)?,
        endpoints: busiest
            .iter()
            .map(|name| endpoint(run, workload, name, tally, last))
            .collect::<Result<_, _>>()?,
        endpoints_left_out: left_out,
        cpu: mean.by_target(run, "cpu")?,
        rss: max.by_target(run, "rss")?,
    })
}

/// An endpoint by scenario and step, or URLs of a scenario that differ in one part, with the label in plots.
pub(super) struct LabelledEndpoint {
    scenario: Name,
    endpoints: BTreeSet<Name>,
    pub label: String,
}

impl LabelledEndpoint {
    /// Whether it counts what has this scenario and endpoint.
    pub(super) fn has(&self, scenario: &Name, endpoint: &Name) -> bool {
        self.scenario == *scenario && self.endpoints.contains(endpoint)
    }
}

/// The endpoints of one line, and how many of their requests ended.
#[derive(Default)]
struct CompletedRequests {
    endpoints: BTreeSet<Name>,
    requests: u64,
}

/// How many requests ended, by scenario and by step or pattern of URLs.
fn completed_by_line(tally: &RunTally) -> BTreeMap<(Name, Name), CompletedRequests> {
    let mut patterns: BTreeMap<(&Name, &Name), &Name> = BTreeMap::new();
    for PatternTally { all, of, .. } in &tally.patterns {
        patterns.extend(of.iter().map(|key| ((&key.scenario, &key.endpoint), &all.key.endpoint)));
    }
    let mut completed: BTreeMap<(Name, Name), CompletedRequests> = BTreeMap::new();
    for (key, counts) in tally.endpoints.iter().filter(|(_, counts)| counts.has_responses()) {
        let line = patterns.get(&(&key.scenario, &key.endpoint)).copied().unwrap_or(&key.endpoint);
        let line = completed.entry((key.scenario.clone(), line.clone())).or_default();
        line.endpoints.insert(key.endpoint.clone());
        line.requests += counts.outcomes.completed();
    }
    completed
}

/// The endpoints with the most requests, in the order of the plan: while a run goes on, it stays.
pub(super) fn busiest(tally: &RunTally, workload: &Workload) -> Vec<LabelledEndpoint> {
    let mut sorted: Vec<_> = completed_by_line(tally).into_iter().collect();
    sorted.sort_by_key(|(name, completed)| (std::cmp::Reverse(completed.requests), name.clone()));
    sorted.truncate(MAX_ENDPOINTS);
    sorted.sort_by_key(|((scenario, endpoint), _)| {
        let key = RowKey { scenario: scenario.clone(), endpoint: endpoint.clone(), ..RowKey::default() };
        (key.position(workload), scenario.clone(), endpoint.clone())
    });
    let labelled = |(name, line): ((Name, Name), CompletedRequests)| LabelledEndpoint {
        label: tally.labels.of(&name.0, &name.1),
        scenario: name.0,
        endpoints: line.endpoints,
    };
    sorted.into_iter().map(labelled).collect()
}

/// The last second in which load was offered.
fn last_of_load(phases: &[PhaseCoverage]) -> Option<u32> {
    let end_s = PhaseCoverage::end_of_load_s(phases)?;
    Some((end_s.ceil() as u32).saturating_sub(1))
}

/// What ends after second `last` counts in that: the few requests that were in flight then have no quantiles of their own.
fn endpoint(
    run: &dyn Run,
    workload: &Workload,
    endpoint: &LabelledEndpoint,
    tally: &RunTally,
    last: u32,
) -> Result<EndpointTimeline, ReadError> {
    let grid = tally.bins.grid;
    let mut successes: Vec<Option<Histogram>> = vec![None; grid.bins()];
    let mut failures = vec![0u64; grid.bins()];
    let mut outcomes = Outcomes::default();
    let of_phases = tally.endpoints.iter().filter(|(key, _)| endpoint.has(&key.scenario, &key.endpoint));
    of_phases.for_each(|(_, counts)| outcomes.add(&counts.outcomes));
    let is_its = |key: &evidence::Key| endpoint.has(&key.scenario, &key.endpoint);
    for (id, key) in evidence::run::select(run.keys(), Metric::ResponseTime, is_its) {
        let last = if evidence::Key::is_beside_load(&key.phase) { u32::MAX } else { last };
        let outcome = known_outcome(run, key);
        for (second, histogram) in run.histograms(id, run.whole())? {
            let second = second.min(last);
            if outcome.is_some_and(Outcome::is_failure) {
                grid.add(&mut failures, second, histogram.count());
            } else if outcome != Some(Outcome::Cancelled)
                && let Some(bin) = successes.get_mut(grid.bin(second))
            {
                bin.get_or_insert_default().merge(&histogram);
            }
        }
    }
    let quantile = |q: f64| -> Vec<Option<f64>> {
        successes.iter().map(|h| h.as_ref()?.quantile(q).finite_us().map(ms)).collect()
    };
    let counts: Vec<u64> = successes.iter().map(|h| h.as_ref().map_or(0, Histogram::count)).collect();
    let is_known = outcomes.unknown.is_none();
    let share = |(ok, failed): (&u64, &u64)| {
        (is_known && ok + failed > 0).then(|| *failed as f64 / (ok + failed) as f64)
    };
    Ok(EndpointTimeline {
        label: endpoint.label.clone(),
        p50_ms: quantile(0.50),
        p95_ms: quantile(0.95),
        p99_ms: quantile(0.99),
        failed_share: counts.iter().zip(&failures).map(share).collect(),
        outcomes,
        bounds: bounds(workload, endpoint),
    })
}

/// The bounds of objectives that count this endpoint, each once.
fn bounds(workload: &Workload, of: &LabelledEndpoint) -> Vec<TimeBound> {
    let has = |wanted: &String| of.endpoints.iter().any(|endpoint| **endpoint == **wanted);
    let counts = |objective: &&Objective| {
        matches!(objective.measure, Measure::ResponseTime(_))
            && objective.comparison.is_upper()
            && objective.filter.endpoint.as_ref().is_none_or(has)
            && objective.filter.scenario.as_ref().is_none_or(|wanted| **wanted == *of.scenario)
    };
    let mut bounds: Vec<TimeBound> = Vec::new();
    for objective in workload.objectives.iter().filter(counts) {
        let bound = TimeBound { label: objective.source.clone(), ms: objective.bound };
        if !bounds.iter().any(|known| known.label == bound.label) {
            bounds.push(bound);
        }
    }
    bounds
}

/// From this share of a bin on, stalls of the generator are shown in it.
const MUCH_STALLED: f64 = 0.1;

/// In which bins a loop of the generator was stalled for much of the time. A stall is recorded in the second in which it ends.
fn stalled(run: &dyn Run, bins: &Bins) -> Result<Vec<bool>, ReadError> {
    let mut stalled = vec![false; bins.grid.bins()];
    for (id, key) in run.keys().iter().filter(|(_, key)| key.metric == Metric::LoopStall) {
        if key.tags.contains_key(Key::CAUSE) {
            continue;
        }
        let mut us_by_bin = vec![0u64; bins.grid.bins()];
        for (second, turns) in run.histograms(*id, run.whole())? {
            let long = turns.buckets().filter(|(low, ..)| u128::from(*low) >= STALL.as_micros());
            let mut left_us: u64 = long.map(|(low, _, count)| low * count).sum();
            for at in (0..=second).rev() {
                let part = left_us.min(SECOND_US);
                bins.grid.add(&mut us_by_bin, at, part);
                left_us -= part;
                if left_us == 0 {
                    break;
                }
            }
        }
        let much = MUCH_STALLED * f64::from(bins.grid.bin_s) * SECOND_US as f64;
        let is_much = us_by_bin.iter().map(|us| *us as f64 > much);
        stalled.iter_mut().zip(is_much).for_each(|(known, is_much)| *known |= is_much);
    }
    Ok(stalled)
}

/// A second in microseconds.
const SECOND_US: u64 = 1_000_000;
