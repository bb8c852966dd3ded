//! The live progress display, from the same ticks the archive gets. It formats; whoever owns the terminal
//! decides when to print.

mod panel;
mod watched;

use std::collections::{BTreeMap, HashMap, VecDeque};

use evidence::sink::{Sink, SinkError};
use evidence::{Histogram, Key, KeyId, Metric, Observed, Outcome, RunEnd, Tick};
use workload::Workload;

use crate::number;
use crate::terminal::Style;
use crate::terminal::line::{Line, Tone};
pub use watched::WatchView;

/// Over how many whole seconds rates and percentiles are taken.
const WINDOW_S: u32 = 5;
/// Seconds that are remembered: the window, and as many that a lagging loop may still add to.
const REMEMBERED: usize = 3 * WINDOW_S as usize;

/// The state of a run as its ticks tell it.
#[derive(Debug, Clone)]
pub struct LiveView {
    phases: Vec<(String, f64)>,
    total_s: u32,
    keys: HashMap<(u16, KeyId), Key>,
    loops: BTreeMap<u16, LoopNow>,
    seconds: VecDeque<Second>,
    ok: u64,
    failed: u64,
    dropped: u64,
    /// Failures since the start, in the order in which each kind was first met.
    failures: Vec<(Outcome, u64)>,
    iterations: u64,
    /// How many iterations end the run, where that is what does.
    wanted: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
struct LoopNow {
    second: u32,
    in_flight: u32,
}

#[derive(Debug, Clone)]
struct Second {
    second: u32,
    offered: u64,
    ok: u64,
    failed: u64,
    response: Histogram,
}

/// What the last whole seconds looked like.
#[derive(Debug, Clone, PartialEq)]
pub struct Now {
    /// Seconds of the run that have passed.
    pub elapsed_s: u32,
    /// Seconds the plan lasts.
    pub total_s: u32,
    /// The phase; `draining` once the plan is over.
    pub phase: String,
    /// Arrivals due a second.
    pub offered_per_s: f64,
    /// Answers a second, right or wrong.
    pub achieved_per_s: f64,
    /// Requests in flight at the end of each loop's last tick.
    pub in_flight: u64,
    /// Failures since the start.
    pub failed: u64,
    /// Answers since the start, right or wrong.
    pub answered: u64,
    /// Arrivals dropped since the start.
    pub dropped: u64,
    /// 95th percentile of response times of successes.
    pub p95_ms: Option<f64>,
    /// Response times of successes.
    pub response: Histogram,
    /// Failures since the start by what they were, the most frequent first.
    pub failures: Vec<(Outcome, u64)>,
    /// Iterations done, of how many, where their number is what ends the run.
    pub iterations: Option<(u64, u64)>,
}

impl LiveView {
    /// Of a run that has not begun.
    pub fn new(workload: &Workload) -> LiveView {
        let phases: Vec<_> = workload.phases.iter().map(|p| (p.name.clone(), p.end.as_secs_f64())).collect();
        let total = phases.last().map_or(0.0, |(_, end)| end.ceil());
        let wanted = workload.scenarios.iter().map(|scenario| scenario.executor.iterations()).sum();
        LiveView {
            phases,
            total_s: total as u32,
            keys: HashMap::new(),
            loops: BTreeMap::new(),
            seconds: VecDeque::new(),
            ok: 0,
            failed: 0,
            dropped: 0,
            failures: Vec::new(),
            iterations: 0,
            wanted,
        }
    }

    /// Take in one second of one loop. A tick whose keys were never announced adds nothing.
    pub fn take(&mut self, tick: &Tick) {
        for (id, key) in &tick.new_keys {
            self.keys.insert((tick.loop_index, *id), key.clone());
        }
        let now = LoopNow { second: tick.second, in_flight: tick.state.in_flight };
        self.loops.insert(tick.loop_index, now);
        for (id, histogram) in tick.histograms() {
            let Some(key) = self.keys.get(&(tick.loop_index, id)) else { continue };
            if key.metric == Metric::ResponseTime {
                let outcome = key.outcome.unwrap_or(Outcome::Ok);
                self.answers((tick.second, outcome), histogram);
            }
        }
        for count in tick.counts() {
            match self.keys.get(&(tick.loop_index, count.key)).map(|key| key.metric) {
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

    fn answers(&mut self, (second, outcome): (u32, Outcome), histogram: &Histogram) {
        let n = histogram.count();
        match outcome {
            Outcome::Cancelled => return,
            Outcome::Ok => self.ok += n,
            failure => self.failed(failure, n),
        }
        let Some(second) = self.second(second) else { return };
        if outcome == Outcome::Ok {
            second.ok += n;
            second.response.merge(histogram);
        } else {
            second.failed += n;
        }
    }

    fn failed(&mut self, outcome: Outcome, n: u64) {
        self.failed += n;
        match self.failures.iter_mut().find(|(known, _)| *known == outcome) {
            Some((_, count)) => *count += n,
            None => self.failures.push((outcome, n)),
        }
    }

    /// The place of a second that is still remembered.
    fn second(&mut self, second: u32) -> Option<&mut Second> {
        let at = self.seconds.partition_point(|s| s.second < second);
        if self.seconds.get(at).is_none_or(|s| s.second != second) {
            if at == 0 && self.seconds.len() >= REMEMBERED {
                return None;
            }
            let new = Second { second, offered: 0, ok: 0, failed: 0, response: Histogram::new() };
            self.seconds.insert(at, new);
        }
        let dropped = self.seconds.len().saturating_sub(REMEMBERED);
        self.seconds.drain(..dropped);
        self.seconds.get_mut(at - dropped)
    }

    /// What the last whole seconds looked like: those that every loop has told of.
    pub fn now(&self) -> Now {
        let elapsed_s = self.loops.values().map(|l| l.second + 1).max().unwrap_or(0);
        let told = self.loops.values().map(|l| l.second + 1).min().unwrap_or(0);
        let window = told.saturating_sub(WINDOW_S)..told;
        let length = f64::from(window.end - window.start).max(1.0);
        let mut response = Histogram::new();
        let (mut offered, mut answered) = (0, 0);
        for second in self.seconds.iter().filter(|s| window.contains(&s.second)) {
            offered += second.offered;
            answered += second.ok + second.failed;
            response.merge(&second.response);
        }
        let mut failures = self.failures.clone();
        failures.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        Now {
            elapsed_s,
            total_s: self.total_s,
            phase: self.phase_at(f64::from(elapsed_s)),
            offered_per_s: offered as f64 / length,
            achieved_per_s: answered as f64 / length,
            in_flight: self.loops.values().map(|l| u64::from(l.in_flight)).sum(),
            failed: self.failed,
            answered: self.ok + self.failed,
            dropped: self.dropped,
            p95_ms: response.quantile(0.95).finite_us().map(|us| us / 1_000.0),
            response,
            failures,
            iterations: self.wanted.map(|wanted| (self.iterations, wanted)),
        }
    }

    fn phase_at(&self, second: f64) -> String {
        let phase = self.phases.iter().find(|(_, end)| second < *end);
        phase.map_or_else(|| "draining".to_owned(), |(name, _)| name.clone())
    }

    /// One line, no wider than `width` columns, without a newline. Short of space, it says the same in
    /// fewer words before it leaves anything out.
    pub fn line(&self, style: Style, width: usize) -> String {
        let now = self.now();
        let full = joined(&now, [loads(&now), failures(&now), left(&now)]);
        if full.width() <= width {
            return full.render(style, width);
        }
        let rate = |per_second| number::rate(per_second).trim_end_matches("/s").to_owned();
        let loads = format!("{} of {}/s", rate(now.achieved_per_s), rate(now.offered_per_s));
        let failures = format!("{} failed", number::count(now.failed + now.dropped));
        joined(&now, [loads, failures, String::new()]).render(style, width)
    }
}

/// The pieces of a line, what matters most first.
fn joined(now: &Now, [loads, failures, left]: [String; 3]) -> Line {
    let mut line = Line::new();
    line.add(Tone::Strong, &progress(now)).add(Tone::Dim, " · ").add(Tone::Accent, &now.phase);
    let pieces = [
        (Tone::Normal, loads),
        (failure_tone(now), failures),
        (Tone::Normal, format!("p95 {}", number::time_or_none(now.p95_ms))),
        (Tone::Normal, format!("{} in flight", number::count(now.in_flight))),
        (Tone::Dim, left),
    ];
    for (tone, text) in pieces.iter().filter(|(_, text)| !text.is_empty()) {
        line.add(Tone::Dim, " · ").add(*tone, text);
    }
    line
}

fn progress(now: &Now) -> String {
    let clock = |s: u32| number::clock(u64::from(s));
    match now.iterations {
        None => format!("{} / {}", clock(now.elapsed_s), clock(now.total_s)),
        Some(_) => clock(now.elapsed_s),
    }
}

fn left(now: &Now) -> String {
    if let Some((done, wanted)) = now.iterations {
        return format!("{} of {} done", number::count(done), number::count(wanted));
    }
    match now.total_s.saturating_sub(now.elapsed_s) {
        0 => "waiting for the last answers".to_owned(),
        left => format!("{} left", number::span(u64::from(left))),
    }
}

fn loads(now: &Now) -> String {
    format!("offered {}, achieved {}", number::rate(now.offered_per_s), number::rate(now.achieved_per_s))
}

fn failures(now: &Now) -> String {
    let share = number::share(now.failed, now.answered);
    let mut text = match now.failed {
        0 => "0 failed".to_owned(),
        n => format!("{} failed ({share})", number::count(n)),
    };
    if now.dropped > 0 {
        text.push_str(&format!(", {} dropped", number::count(now.dropped)));
    }
    text
}

fn failure_tone(now: &Now) -> Tone {
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
