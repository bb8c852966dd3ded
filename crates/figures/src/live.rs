//! A run that goes on, folded tick by tick: what the live display shows.

mod endpoint;
pub mod heat;
pub mod objective;

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Range;

use evidence::delivered::DeliveredSeconds;
use evidence::key::Name;
use evidence::{Histogram, Instance, Key, KeyId, Metric, Outcome, Tick};
use workload::Workload;

pub use endpoint::{Ended, EndpointFigures, EndpointRow, EndpointTable};

/// The whole seconds over which rates and percentiles are computed.
const WINDOW_S: u32 = 5;

/// The figures of a run so far.
#[derive(Debug, Clone)]
pub struct LiveFigures {
    /// Name and end in seconds of each phase.
    phases: Vec<(String, f64)>,
    total_s: u32,
    keys: HashMap<LoopKey, Key>,
    delivered: DeliveredSeconds,
    loops: BTreeMap<Instance, LoopProgress>,
    /// The last seconds, and those that a lagging loop may still add to.
    seconds: VecDeque<LiveSecond>,
    endpoints: Option<EndpointTable>,
    ok: u64,
    failed: u64,
    dropped: u64,
    disturbed: u64,
    /// By scenario and phase: arrivals due, and those that the generator dropped because it was late.
    arrivals: BTreeMap<(Name, Name), [u64; 2]>,
    /// Failures since the start, in the order in which each outcome first occurred.
    failures: Vec<(Outcome, u64)>,
    iterations: u64,
    iteration: Iteration,
    /// After how many iterations the run ends, if it ends by their number.
    planned_iterations: Option<u64>,
}

/// A key id is unique only within its loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct LoopKey {
    instance: Instance,
    id: KeyId,
}

/// What an arrival starts. With several requests, a rate of iterations is not a rate of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Iteration {
    /// One request.
    OneRequest,
    /// Several requests, or as many as a script sends.
    SeveralRequests,
}

#[derive(Debug, Clone, Copy)]
struct LoopProgress {
    second: u32,
    in_flight: u32,
}

/// What was counted in one second, over all loops.
#[derive(Debug, Clone)]
struct LiveSecond {
    second: u32,
    offered: u64,
    completed: u64,
    /// Response times of successes.
    response: Histogram,
}

/// The numbers of the last whole seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveNumbers {
    /// Seconds of the run that have passed.
    pub elapsed_s: u32,
    /// Length of the plan in seconds.
    pub total_s: u32,
    /// The phase; `draining` after the end of the plan.
    pub phase: String,
    /// What an arrival starts.
    pub iteration: Iteration,
    /// Arrivals due per second.
    pub offered_per_s: f64,
    /// Requests that ended per second, in success or failure.
    pub throughput_per_s: f64,
    /// Requests in flight at the end of each loop's last tick.
    pub in_flight: u64,
    /// Failures since the start.
    pub failed: u64,
    /// Completed requests since the start.
    pub completed: u64,
    /// Arrivals dropped since the start.
    pub dropped: u64,
    /// Requests that were in flight while the generator stalled, since the start.
    pub disturbed: u64,
    /// 95th percentile of response times of successes.
    pub p95_ms: Option<f64>,
    /// Failures since the start by outcome, the most frequent first.
    pub failures: Vec<(Outcome, u64)>,
    /// Iterations done and planned, if the run ends by their number.
    pub iterations: Option<(u64, u64)>,
}

impl LiveFigures {
    /// Of a run with so many loops that has not started.
    pub fn new(workload: &Workload, loops: u16) -> LiveFigures {
        let phases: Vec<_> = workload.phases.iter().map(|p| (p.name.clone(), p.end.as_secs_f64())).collect();
        let total = phases.last().map_or(0.0, |(_, end)| end.ceil());
        let is_one_request = workload.scenarios.iter().all(|scenario| scenario.flow.is_one_request());
        LiveFigures {
            phases,
            total_s: total as u32,
            keys: HashMap::new(),
            delivered: DeliveredSeconds::new(loops),
            loops: BTreeMap::new(),
            seconds: VecDeque::new(),
            endpoints: None,
            ok: 0,
            failed: 0,
            dropped: 0,
            disturbed: 0,
            arrivals: BTreeMap::new(),
            failures: Vec::new(),
            iterations: 0,
            iteration: if is_one_request { Iteration::OneRequest } else { Iteration::SeveralRequests },
            planned_iterations: workload
                .scenarios
                .iter()
                .map(|scenario| scenario.executor.iterations())
                .sum(),
        }
    }

    /// The same, with figures of each endpoint.
    #[must_use]
    pub fn by_endpoint(self, workload: &Workload) -> LiveFigures {
        LiveFigures { endpoints: Some(EndpointTable::new(workload)), ..self }
    }

    /// Adds one second of one loop. Counts whose key was never announced are ignored.
    pub fn take(&mut self, tick: &Tick) {
        for (id, key) in &tick.new_keys {
            self.keys.insert(LoopKey { instance: tick.instance, id: *id }, key.clone());
        }
        self.delivered.take(tick);
        let progress = LoopProgress { second: tick.second, in_flight: tick.state.in_flight };
        self.loops.insert(tick.instance, progress);
        for (id, histogram) in tick.histograms() {
            let Some(key) = self.keys.get(&LoopKey { instance: tick.instance, id }) else { continue };
            if key.metric == Metric::PerturbedResponseTime {
                self.disturbed += histogram.count();
            }
            let outcome = key.outcome.unwrap_or(Outcome::Ok);
            if key.metric == Metric::ResponseTime && (outcome == Outcome::Ok || outcome.is_failure()) {
                if let Some(table) = &mut self.endpoints {
                    table.add(key, tick.second, histogram);
                }
                self.add_responses(tick.second, outcome, histogram);
            }
        }
        for count in tick.counts() {
            let key = LoopKey { instance: tick.instance, id: count.key };
            let known = self.keys.get(&key);
            if let Some(known) = known {
                let at = match known.metric {
                    Metric::Scheduled => Some(0),
                    Metric::DroppedLate => Some(1),
                    _ => None,
                };
                if let Some(at) = at {
                    let of = (known.scenario.clone(), known.phase.clone());
                    self.arrivals.entry(of).or_default()[at] += count.value;
                }
            }
            match known.map(|key| key.metric) {
                Some(Metric::Scheduled) => {
                    if let Some(second) = self.second_mut(count.second) {
                        second.offered += count.value;
                    }
                }
                Some(Metric::DroppedCap | Metric::DroppedLate) => self.dropped += count.value,
                Some(Metric::IterationsDone) => self.iterations += count.value,
                _ => {}
            }
        }
    }

    fn add_responses(&mut self, second: u32, outcome: Outcome, histogram: &Histogram) {
        let n = histogram.count();
        match outcome {
            Outcome::Ok => self.ok += n,
            failure => self.add_failures(failure, n),
        }
        let Some(second) = self.second_mut(second) else { return };
        second.completed += n;
        if outcome == Outcome::Ok {
            second.response.merge(histogram);
        }
    }

    fn add_failures(&mut self, outcome: Outcome, n: u64) {
        self.failed += n;
        match self.failures.iter_mut().find(|(known, _)| *known == outcome) {
            Some((_, count)) => *count += n,
            None => self.failures.push((outcome, n)),
        }
    }

    /// The counts of a second that is still stored.
    fn second_mut(&mut self, second: u32) -> Option<&mut LiveSecond> {
        let stored = 2 * WINDOW_S as usize;
        let at = self.seconds.partition_point(|s| s.second < second);
        if self.seconds.get(at).is_none_or(|s| s.second != second) {
            if at == 0 && self.seconds.len() >= stored {
                return None;
            }
            let new = LiveSecond { second, offered: 0, completed: 0, response: Histogram::new() };
            self.seconds.insert(at, new);
        }
        let dropped = self.seconds.len().saturating_sub(stored);
        self.seconds.drain(..dropped);
        self.seconds.get_mut(at - dropped)
    }

    /// The figures of each endpoint, where they are kept.
    pub fn endpoints(&self) -> Option<&EndpointTable> {
        self.endpoints.as_ref()
    }

    /// The whole seconds over which rates and percentiles are computed: the last ones for which every loop that is not
    /// over has sent its tick.
    pub fn window(&self) -> Range<u32> {
        let complete_s = self.complete_s();
        complete_s.saturating_sub(WINDOW_S)..complete_s
    }

    /// The numbers of its window.
    pub fn now(&self) -> LiveNumbers {
        let elapsed_s = self.loops.values().map(|l| l.second + 1).max().unwrap_or(0);
        let window = self.window();
        let length = f64::from(window.end - window.start).max(1.0);
        let mut response = Histogram::new();
        let (mut offered, mut completed) = (0, 0);
        for second in self.seconds.iter().filter(|s| window.contains(&s.second)) {
            offered += second.offered;
            completed += second.completed;
            response.merge(&second.response);
        }
        let mut failures = self.failures.clone();
        failures.sort_by_key(|(_, n)| Reverse(*n));
        LiveNumbers {
            elapsed_s,
            total_s: self.total_s,
            phase: self.phase_at(f64::from(elapsed_s)),
            iteration: self.iteration,
            offered_per_s: offered as f64 / length,
            throughput_per_s: completed as f64 / length,
            in_flight: self.loops.values().map(|l| u64::from(l.in_flight)).sum(),
            failed: self.failed,
            completed: self.ok + self.failed,
            dropped: self.dropped,
            disturbed: self.disturbed,
            p95_ms: response.quantile(0.95).finite_us().map(|us| us / 1_000.0),
            failures,
            iterations: self.planned_iterations.map(|planned| (self.iterations, planned)),
        }
    }

    /// The least share of a scenario's arrivals in a phase that the generator did not drop; none where none were due.
    pub fn least_delivered(&self) -> Option<f64> {
        let shares = self.arrivals.values().filter(|[due, _]| *due > 0);
        shares.map(|[due, late]| 1.0 - *late as f64 / *due as f64).reduce(f64::min)
    }

    /// Whether every loop has begun and one is not over.
    pub fn is_under_way(&self) -> bool {
        self.delivered.by_all().is_some()
    }

    /// One past the last second for which every loop that is not over has sent its tick.
    pub fn complete_s(&self) -> u32 {
        let elapsed_s = || self.loops.values().map(|l| l.second + 1).max().unwrap_or(0);
        self.delivered.by_all().unwrap_or_else(elapsed_s)
    }

    fn phase_at(&self, second: f64) -> String {
        let phase = self.phases.iter().find(|(_, end)| second < *end);
        phase.map_or_else(|| "draining".to_owned(), |(name, _)| name.clone())
    }
}
