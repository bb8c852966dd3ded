//! The live display of a run, from the same ticks as the archive. It only formats: its caller prints.

mod history;
mod lines;
mod panel;
mod watch;

use std::collections::{BTreeMap, HashMap, VecDeque};

use evidence::delivered::DeliveredSeconds;
use evidence::sink::{Sink, SinkError};
use evidence::stop_rule::StopRules;
use evidence::{
    Exemplar, Histogram, Instance, Key, KeyId, Metric, Observed, Outcome, RunEnd, TerminalText, Tick,
};
use workload::Workload;

use crate::number;
use crate::terminal::Style;
use crate::terminal::line::{TextLine, Tone, rendered};
use history::HISTORY_S;
pub use watch::WatchView;

/// The whole seconds over which rates and percentiles are computed.
const WINDOW_S: u32 = 5;
/// How many seconds are stored: the history, and seconds that a lagging loop may still add to.
const STORED_SECONDS: usize = (HISTORY_S + 2 * WINDOW_S) as usize;

/// The state of a run, from its ticks.
#[derive(Debug)]
pub struct LiveView {
    /// Name and end in seconds of each phase.
    phases: Vec<(String, f64)>,
    total_s: u32,
    keys: HashMap<LoopKey, Key>,
    delivered: DeliveredSeconds,
    loops: BTreeMap<Instance, LoopProgress>,
    stop_rules: StopRules,
    seconds: VecDeque<SecondCounts>,
    ok: u64,
    failed: u64,
    dropped: u64,
    /// Failures since the start, in the order in which each outcome first occurred.
    failures: Vec<(Outcome, u64)>,
    /// The latest recorded example of each: the step, and what was wrong.
    examples: Vec<(Outcome, String)>,
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

/// What an arrival starts. A rate of iterations with several requests is no rate of requests.
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

#[derive(Debug, Clone)]
struct SecondCounts {
    second: u32,
    offered: u64,
    ok: u64,
    failed: u64,
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
    /// 95th percentile of response times of successes.
    pub p95_ms: Option<f64>,
    /// Response times of successes.
    pub response: Histogram,
    /// Failures since the start by outcome, the most frequent first.
    pub failures: Vec<(Outcome, u64)>,
    /// Iterations done and planned, if the run ends by their number.
    pub iterations: Option<(u64, u64)>,
}

impl LiveView {
    /// The view of a run with so many loops that has not started.
    pub fn new(workload: &Workload, loops: u16) -> LiveView {
        let phases: Vec<_> = workload.phases.iter().map(|p| (p.name.clone(), p.end.as_secs_f64())).collect();
        let total = phases.last().map_or(0.0, |(_, end)| end.ceil());
        let planned_iterations =
            workload.scenarios.iter().map(|scenario| scenario.executor.iterations()).sum();
        LiveView {
            phases,
            total_s: total as u32,
            keys: HashMap::new(),
            delivered: DeliveredSeconds::new(loops),
            loops: BTreeMap::new(),
            stop_rules: StopRules::new(figures::stop_rules(workload), loops),
            seconds: VecDeque::new(),
            ok: 0,
            failed: 0,
            dropped: 0,
            failures: Vec::new(),
            examples: Vec::new(),
            iterations: 0,
            iteration: if workload.scenarios.iter().all(|scenario| scenario.flow.is_one_request()) {
                Iteration::OneRequest
            } else {
                Iteration::SeveralRequests
            },
            planned_iterations,
        }
    }

    /// Add one second of one loop. Counts whose key was never announced are ignored.
    pub fn take(&mut self, tick: &Tick) {
        for (id, key) in &tick.new_keys {
            self.keys.insert(LoopKey { instance: tick.instance, id: *id }, key.clone());
        }
        self.delivered.take(tick);
        self.stop_rules.take(tick);
        let progress = LoopProgress { second: tick.second, in_flight: tick.state.in_flight };
        self.loops.insert(tick.instance, progress);
        for (id, histogram) in tick.histograms() {
            let Some(key) = self.keys.get(&LoopKey { instance: tick.instance, id }) else { continue };
            if key.metric == Metric::ResponseTime {
                let outcome = key.outcome.unwrap_or(Outcome::Ok);
                self.add_responses(tick.second, outcome, histogram);
            }
        }
        tick.exemplars.iter().filter(|e| e.outcome.is_failure()).for_each(|e| self.keep_example(e));
        for count in tick.counts() {
            let key = LoopKey { instance: tick.instance, id: count.key };
            match self.keys.get(&key).map(|key| key.metric) {
                Some(Metric::Scheduled) => {
                    if let Some(second) = self.second(count.second) {
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
            Outcome::Cancelled => return,
            Outcome::Ok => self.ok += n,
            failure => self.add_failures(failure, n),
        }
        let Some(second) = self.second(second) else { return };
        if outcome == Outcome::Ok {
            second.ok += n;
            second.response.merge(histogram);
        } else {
            second.failed += n;
        }
    }

    fn keep_example(&mut self, exchange: &Exemplar) {
        let text = format!("{}: {}", exchange.endpoint, exchange.detail);
        match self.examples.iter_mut().find(|(known, _)| *known == exchange.outcome) {
            Some((_, example)) => *example = text,
            None => self.examples.push((exchange.outcome, text)),
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
    fn second(&mut self, second: u32) -> Option<&mut SecondCounts> {
        let at = self.seconds.partition_point(|s| s.second < second);
        if self.seconds.get(at).is_none_or(|s| s.second != second) {
            if at == 0 && self.seconds.len() >= STORED_SECONDS {
                return None;
            }
            let new = SecondCounts { second, offered: 0, ok: 0, failed: 0, response: Histogram::new() };
            self.seconds.insert(at, new);
        }
        let dropped = self.seconds.len().saturating_sub(STORED_SECONDS);
        self.seconds.drain(..dropped);
        self.seconds.get_mut(at - dropped)
    }

    /// The numbers of the last whole seconds for which every loop that is not over has sent its tick.
    pub fn now(&self) -> LiveNumbers {
        let elapsed_s = self.loops.values().map(|l| l.second + 1).max().unwrap_or(0);
        let complete_s = self.complete_s();
        let window = complete_s.saturating_sub(WINDOW_S)..complete_s;
        let length = f64::from(window.end - window.start).max(1.0);
        let mut response = Histogram::new();
        let (mut offered, mut completed) = (0, 0);
        for second in self.seconds.iter().filter(|s| window.contains(&s.second)) {
            offered += second.offered;
            completed += second.ok + second.failed;
            response.merge(&second.response);
        }
        let mut failures = self.failures.clone();
        failures.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
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
            p95_ms: response.quantile(0.95).finite_us().map(|us| us / 1_000.0),
            response,
            failures,
            iterations: self.planned_iterations.map(|planned| (self.iterations, planned)),
        }
    }

    /// One past the last second for which every loop that is not over has sent its tick.
    fn complete_s(&self) -> u32 {
        let elapsed_s = || self.loops.values().map(|l| l.second + 1).max().unwrap_or(0);
        self.delivered.by_all().unwrap_or_else(elapsed_s)
    }

    fn phase_at(&self, second: f64) -> String {
        let phase = self.phases.iter().find(|(_, end)| second < *end);
        phase.map_or_else(|| "draining".to_owned(), |(name, _)| name.clone())
    }

    /// One line of at most `width` columns, without a newline. If that is too narrow, the offered rate is left out first.
    pub fn line(&self, style: Style, width: usize) -> TerminalText {
        let now = self.now();
        let full = joined(&now, [loads(&now), failures(&now), remaining(&now)]);
        if full.width() <= width {
            return rendered([&full], style, width);
        }
        let throughput = format!("{} req/s", number::rate_or_none(Some(now.throughput_per_s)));
        let failed = format!("{} failed", number::count(now.failed));
        rendered([&joined(&now, [throughput, with_dropped(failed, &now), String::new()])], style, width)
    }
}

/// A line of these pieces, the most important first.
fn joined(now: &LiveNumbers, [loads, failures, remaining]: [String; 3]) -> TextLine {
    let mut line = TextLine::new();
    line.add(Tone::Strong, &progress(now)).add(Tone::Dim, " · ").add(Tone::Accent, &now.phase);
    let pieces = [
        (Tone::Normal, loads),
        (failure_tone(now), failures),
        (Tone::Normal, format!("p95 {}", number::time_or_none(now.p95_ms))),
        (Tone::Normal, format!("{} in flight", number::count(now.in_flight))),
        (Tone::Dim, remaining),
    ];
    for (tone, text) in pieces.iter().filter(|(_, text)| !text.is_empty()) {
        line.add(Tone::Dim, " · ").add(*tone, text);
    }
    line
}

fn progress(now: &LiveNumbers) -> String {
    let clock = |s: u32| number::clock(u64::from(s));
    match now.iterations {
        None => format!("{} / {}", clock(now.elapsed_s), clock(now.total_s)),
        Some(_) => clock(now.elapsed_s),
    }
}

fn remaining(now: &LiveNumbers) -> String {
    if let Some((done, planned)) = now.iterations {
        return format!("{} of {} done", number::count(done), number::count(planned));
    }
    match now.total_s.saturating_sub(now.elapsed_s) {
        0 => "waiting for the last responses".to_owned(),
        seconds => format!("{} left", number::duration(u64::from(seconds))),
    }
}

fn loads(now: &LiveNumbers) -> String {
    match now.iteration {
        Iteration::OneRequest => format!(
            "offered {}, throughput {}",
            number::rate(now.offered_per_s),
            number::rate(now.throughput_per_s)
        ),
        Iteration::SeveralRequests => format!(
            "throughput {} requests/s · offered {} iterations/s",
            number::rate_or_none(Some(now.throughput_per_s)),
            number::rate_or_none(Some(now.offered_per_s))
        ),
    }
}

fn failures(now: &LiveNumbers) -> String {
    let share = number::share(now.failed, now.completed);
    let failed = match now.failed {
        0 => "0 failed".to_owned(),
        n => format!("{} failed ({share})", number::count(n)),
    };
    with_dropped(failed, now)
}

/// What was never sent has not failed.
fn with_dropped(failed: String, now: &LiveNumbers) -> String {
    match now.dropped {
        0 => failed,
        n => format!("{failed}, {} dropped", number::count(n)),
    }
}

fn failure_tone(now: &LiveNumbers) -> Tone {
    if now.failed + now.dropped > 0 { Tone::Bad } else { Tone::Good }
}

impl Sink for LiveView {
    fn tick(&mut self, tick: &Tick) -> Result<(), SinkError> {
        self.take(tick);
        Ok(())
    }

    fn observed(&mut self, _observed: &Observed) -> Result<(), SinkError> {
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        Ok(())
    }

    fn end(&mut self, _end: &RunEnd) -> Result<(), SinkError> {
        Ok(())
    }
}
