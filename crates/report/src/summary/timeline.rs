//! The run over time, in at most [`MAX_BINS`] bins of whole seconds. Seconds are joined by merging their
//! histograms and adding their counts; no percentile is ever averaged.

use std::collections::BTreeMap;

use evidence::key::Name;
use evidence::run::ReadError;
use evidence::{Histogram, Metric, Outcome, Run, SeriesKey};

use super::ms;
use super::observed::{self, Join};
use super::sweep::Sweep;

/// The most points a line has.
pub(super) const MAX_BINS: u32 = 300;
/// The most endpoints that get lines of their own.
pub(super) const MAX_ENDPOINTS: usize = 12;

/// Sums a bin.
#[derive(Debug)]
pub(super) struct Bins {
    bin_s: u32,
    seconds: u32,
    scheduled: Vec<u64>,
    started: Vec<u64>,
    dropped: Vec<u64>,
    ok: Vec<u64>,
    failed: Vec<u64>,
}

impl Bins {
    pub(super) fn of(seconds: u32) -> Bins {
        let bin_s = seconds.div_ceil(MAX_BINS).max(1);
        let empty = vec![0; seconds.div_ceil(bin_s) as usize];
        Bins {
            bin_s,
            seconds,
            scheduled: empty.clone(),
            started: empty.clone(),
            dropped: empty.clone(),
            ok: empty.clone(),
            failed: empty,
        }
    }

    pub(super) fn answers(&mut self, second: u32, outcome: Outcome, n: u64) {
        let bins = match outcome {
            Outcome::Ok => &mut self.ok,
            Outcome::Cancelled => return,
            _ => &mut self.failed,
        };
        add(bins, second / self.bin_s, n);
    }

    pub(super) fn counter(&mut self, metric: Metric, second: u32, n: u64) {
        let bins = match metric {
            Metric::Scheduled => &mut self.scheduled,
            Metric::Started => &mut self.started,
            Metric::DroppedCap | Metric::DroppedLate => &mut self.dropped,
            _ => return,
        };
        add(bins, second / self.bin_s, n);
    }

    /// Sums as rates; the last bin may be shorter than the others.
    fn rates(&self, sums: &[u64]) -> Vec<f64> {
        let length = |bin: usize| {
            let start = bin as u32 * self.bin_s;
            f64::from((self.seconds - start).min(self.bin_s).max(1))
        };
        sums.iter().enumerate().map(|(bin, n)| *n as f64 / length(bin)).collect()
    }
}

fn add(bins: &mut [u64], bin: u32, n: u64) {
    // Evidence past the run's last second cannot come from a sound archive; it has no place in a plot.
    if let Some(place) = bins.get_mut(bin as usize) {
        *place += n;
    }
}

/// A named line; `None` where nothing was measured.
#[derive(Debug, Clone)]
pub struct Line {
    /// What it shows: a target's name.
    pub label: String,
    /// One value a bin.
    pub values: Vec<Option<f64>>,
}

/// Response times of one endpoint's successes over time, with its failures.
#[derive(Debug, Clone)]
pub struct EndpointLine {
    /// The endpoint's name, with its scenario's where that is needed to tell it apart.
    pub label: String,
    /// Median a bin, in milliseconds.
    pub p50_ms: Vec<Option<f64>>,
    /// 95th percentile a bin, in milliseconds.
    pub p95_ms: Vec<Option<f64>>,
    /// 99th percentile a bin, in milliseconds.
    pub p99_ms: Vec<Option<f64>>,
    /// Share of the bin's answers that failed, 0 to 1.
    pub failed_share: Vec<f64>,
    /// Successes in all.
    pub ok: u64,
    /// Failures in all.
    pub failed: u64,
}

/// The run over time.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// How many seconds a bin joins.
    pub bin_s: u32,
    /// How many seconds there are.
    pub seconds: u32,
    /// Arrivals due, a second.
    pub offered: Vec<f64>,
    /// Arrivals begun, a second.
    pub started: Vec<f64>,
    /// Arrivals dropped, a second.
    pub dropped: Vec<f64>,
    /// Correct answers, a second.
    pub ok: Vec<f64>,
    /// Failures, a second.
    pub failed: Vec<f64>,
    /// Requests in flight, time-averaged, summed over loops.
    pub in_flight: Vec<Option<f64>>,
    /// Response times of the busiest endpoints, the plan's first ones first.
    pub endpoints: Vec<EndpointLine>,
    /// How many further endpoints have no line.
    pub endpoints_left_out: usize,
    /// CPU by target, in cores.
    pub cpu: Vec<Line>,
    /// Resident memory by target, in bytes: the highest of each bin.
    pub rss: Vec<Line>,
}

pub(super) fn of(run: &dyn Run, sweep: &Sweep) -> Result<Timeline, ReadError> {
    let bins = &sweep.bins;
    let busiest = busiest(sweep);
    let left_out = endpoints(sweep).len() - busiest.len();
    let generator = SeriesKey::GENERATOR;
    let grid = observed::Grid { bin_s: bins.bin_s, bins: bins.ok.len() };
    Ok(Timeline {
        bin_s: bins.bin_s,
        seconds: bins.seconds,
        offered: bins.rates(&bins.scheduled),
        started: bins.rates(&bins.started),
        dropped: bins.rates(&bins.dropped),
        ok: bins.rates(&bins.ok),
        failed: bins.rates(&bins.failed),
        in_flight: observed::joined(run, ("in_flight", generator), (grid, Join::Mean))?,
        endpoints: busiest.iter().map(|name| line(run, name, bins)).collect::<Result<_, _>>()?,
        endpoints_left_out: left_out,
        cpu: observed::lines(run, "cpu", (grid, Join::Mean))?,
        rss: observed::lines(run, "rss", (grid, Join::Max))?,
    })
}

/// An endpoint by scenario and step, with what a plot calls it.
pub(super) struct Endpoint {
    pub scenario: Name,
    pub endpoint: Name,
    pub label: String,
}

fn endpoints(sweep: &Sweep) -> BTreeMap<(Name, Name), u64> {
    let mut answered = BTreeMap::new();
    for (place, tally) in sweep.places.iter().filter(|(_, tally)| !tally.outcomes.by_outcome.is_empty()) {
        *answered.entry((place.scenario.clone(), place.endpoint.clone())).or_default() +=
            tally.outcomes.answered();
    }
    answered
}

/// The endpoints with the most answers.
pub(super) fn busiest(sweep: &Sweep) -> Vec<Endpoint> {
    let all = endpoints(sweep);
    let is_shared = |name: &Name| all.keys().filter(|(_, endpoint)| endpoint == name).count() > 1;
    let mut sorted: Vec<_> = all.iter().collect();
    sorted.sort_by_key(|(name, answered)| (std::cmp::Reverse(**answered), (*name).clone()));
    sorted.truncate(MAX_ENDPOINTS);
    let named = |((scenario, endpoint), _): (&(Name, Name), &u64)| Endpoint {
        scenario: scenario.clone(),
        endpoint: endpoint.clone(),
        label: if is_shared(endpoint) { format!("{scenario} / {endpoint}") } else { endpoint.to_string() },
    };
    sorted.into_iter().map(named).collect()
}

fn line(run: &dyn Run, name: &Endpoint, bins: &Bins) -> Result<EndpointLine, ReadError> {
    let mut answers: Vec<Option<Histogram>> = vec![None; bins.ok.len()];
    let mut failures = vec![0u64; bins.ok.len()];
    let wanted = |key: &evidence::Key| key.scenario == name.scenario && key.endpoint == name.endpoint;
    for (id, key) in evidence::run::select(run.keys(), Metric::ResponseTime, wanted) {
        let outcome = key.outcome.unwrap_or(Outcome::Ok);
        for (second, histogram) in run.histograms(id, run.whole())? {
            let bin = (second / bins.bin_s) as usize;
            if outcome.is_failure() {
                add(&mut failures, second / bins.bin_s, histogram.count());
            } else if outcome == Outcome::Ok
                && let Some(place) = answers.get_mut(bin)
            {
                place.get_or_insert_default().merge(&histogram);
            }
        }
    }
    let quantile = |q: f64| -> Vec<Option<f64>> {
        answers.iter().map(|h| h.as_ref()?.quantile(q).finite_us().map(ms)).collect()
    };
    let counts: Vec<u64> = answers.iter().map(|h| h.as_ref().map_or(0, Histogram::count)).collect();
    let share = |(ok, failed): (&u64, &u64)| *failed as f64 / (ok + failed).max(1) as f64;
    Ok(EndpointLine {
        label: name.label.clone(),
        p50_ms: quantile(0.50),
        p95_ms: quantile(0.95),
        p99_ms: quantile(0.99),
        failed_share: counts.iter().zip(&failures).map(share).collect(),
        ok: counts.iter().sum(),
        failed: failures.iter().sum(),
    })
}
