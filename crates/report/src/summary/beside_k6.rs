//! What a script's run shows that the metrics of k6 do not: times from the due instant, iterations that were never begun by
//! whose fault, and what the script itself cost.

use evidence::coverage::Coverage;
use evidence::metric::MetricSums;
use evidence::run::ReadError;
use evidence::{Histogram, Key, Metric, Outcome, Run, STALL, SeriesKey, Window};
use serde::Serialize;
use workload::{Flow, Workload};

use super::Times;
use crate::number;

/// From this share of the generator's CPU on, the script decides how much load it can offer.
const MOST: f64 = 0.5;

/// What the metrics of k6 do not show of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BesideK6 {
    /// Times as k6 counts them, and of the same requests and iterations from the instant at which they were due.
    pub times: Vec<TimesBeside>,
    /// Iterations that were due and never begun.
    pub never_begun: NeverBegun,
    /// How those ended that were begun.
    pub ended: EndedIterations,
    /// CPU of the script; none where it was not measured.
    pub script_cpu: Option<ScriptCpu>,
}

/// A trend of k6, and the times from the due instant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimesBeside {
    /// The name of the trend.
    pub metric: &'static str,
    /// The values of the trend.
    pub in_k6: Times,
    /// From the due instant, those of failed ones too.
    pub from_due: Times,
}

/// Iterations that were due and never begun, by whose fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct NeverBegun {
    /// Iterations that were due.
    pub due: u64,
    /// All virtual users were busy with the target.
    pub users_busy: u64,
    /// All virtual users were busy while the generator itself was held up.
    pub users_held_up: u64,
    /// The generator was too late to begin them.
    pub generator_late: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct EndedIterations {
    /// They came to their end, with an exception or without.
    pub done: u64,
    pub threw: u64,
    /// They were cut short by the end of the load or of the run.
    pub interrupted: u64,
    /// What they threw, the most frequent first.
    pub exceptions: Vec<ThrownException>,
}

/// What iterations threw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ThrownException {
    /// Its text; empty for the rest, where there were too many different ones.
    pub what: String,
    /// How many iterations threw it.
    pub count: u64,
}

/// CPU that the JavaScript of a script used, estimated from a sample of its calls.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ScriptCpu {
    /// Of all loops together, in seconds.
    pub cpu_seconds: f64,
    /// Of an iteration in the mean, in microseconds; none without any.
    pub per_iteration_us: Option<f64>,
    /// The share of the CPU of the generator's loops, 0 to 1.
    pub share_of_loops: f64,
}

/// None of a run without a script.
pub(super) fn of(run: &dyn Run, workload: &Workload) -> Result<Option<BesideK6>, ReadError> {
    let is_script = workload.scenarios.iter().any(|s| matches!(s.flow, Flow::Script { .. }));
    if !is_script {
        return Ok(None);
    }
    let pairs = [("http_req_duration", Metric::ResponseTime), ("iteration_duration", Metric::IterationTime)];
    let mut times = Vec::new();
    for (metric, from_due) in pairs {
        let beside =
            TimesBeside { metric, in_k6: of_trend(run, metric)?, from_due: of_metric(run, from_due)? };
        times.extend((beside.in_k6.count > 0 && beside.from_due.count > 0).then_some(beside));
    }
    let never_begun = NeverBegun::of(run)?;
    let ended = EndedIterations::of(run)?;
    Ok(Some(BesideK6 { times, never_begun, ended, script_cpu: ScriptCpu::of(run)? }))
}

fn of_trend(run: &dyn Run, name: &str) -> Result<Times, ReadError> {
    let mut all = MetricSums::default();
    for (id, _) in
        run.metrics().iter().filter(|(_, key)| *key.name == *name && !Key::is_beside_load(&key.phase))
    {
        all.merge(&run.metric(*id, run.whole())?);
    }
    let is_any = all.count > 0;
    Ok(Times {
        count: all.count,
        avg_ms: is_any.then(|| all.sum / all.count as f64),
        p50_ms: all.quantile(0.50),
        p90_ms: all.quantile(0.90),
        p95_ms: all.quantile(0.95),
        p99_ms: all.quantile(0.99),
        max_ms: is_any.then_some(all.max),
    })
}

fn of_metric(run: &dyn Run, metric: Metric) -> Result<Times, ReadError> {
    let mut all = Histogram::new();
    let is_counted = |key: &Key| {
        key.metric == metric && !Key::is_beside_load(&key.phase) && key.outcome != Some(Outcome::Cancelled)
    };
    for (id, _) in run.keys().iter().filter(|(_, key)| is_counted(key)) {
        all.merge(&run.histogram(*id, run.whole())?);
    }
    Ok(Times::of(&all))
}

impl NeverBegun {
    fn of(run: &dyn Run) -> Result<NeverBegun, ReadError> {
        let mut held_up = vec![0.0; run.seconds() as usize];
        for (id, _) in run.keys().iter().filter(|(_, key)| key.metric == Metric::LoopStall) {
            for (second, turns) in run.histograms(*id, run.whole())? {
                let long = turns.buckets().filter(|(low, ..)| u128::from(*low) >= STALL.as_micros());
                let stalled_us: u64 = long.map(|(_, high, count)| high * count).sum();
                if let Some(share) = held_up.get_mut(second as usize) {
                    *share = f64::min(*share + stalled_us as f64 / 1e6, 1.0);
                }
            }
        }
        let mut counts = NeverBegun { due: 0, users_busy: 0, users_held_up: 0, generator_late: 0 };
        for (id, key) in run.keys() {
            match key.metric {
                Metric::Scheduled => counts.due += run.total(*id)?,
                Metric::DroppedLate => counts.generator_late += run.total(*id)?,
                Metric::DroppedCap => {
                    for (second, dropped) in run.counts(*id, run.whole())? {
                        let share = held_up.get(second as usize).copied().unwrap_or(0.0);
                        let by_generator = (dropped as f64 * share).round() as u64;
                        counts.users_held_up += by_generator;
                        counts.users_busy += dropped - by_generator;
                    }
                }
                _ => {}
            }
        }
        Ok(counts)
    }

    pub fn all(&self) -> u64 {
        self.users_busy + self.users_held_up + self.generator_late
    }
}

impl EndedIterations {
    fn of(run: &dyn Run) -> Result<EndedIterations, ReadError> {
        let mut ended = EndedIterations::default();
        for (id, key) in run.keys().iter().filter(|(_, key)| !Key::is_beside_load(&key.phase)) {
            match key.metric {
                Metric::IterationsDone => ended.done += run.total(*id)?,
                Metric::IterationsCancelled => ended.interrupted += run.total(*id)?,
                Metric::IterationsThrew => {
                    let what = key.tags.get(Key::REASON).map(ToString::to_string).unwrap_or_default();
                    ended.threw(what, run.total(*id)?);
                }
                _ => {}
            }
        }
        ended.exceptions.sort_by_key(|thrown| std::cmp::Reverse(thrown.count));
        Ok(ended)
    }

    fn threw(&mut self, what: String, count: u64) {
        self.threw += count;
        match self.exceptions.iter_mut().find(|known| known.what == what) {
            Some(known) => known.count += count,
            None => self.exceptions.push(ThrownException { what, count }),
        }
    }

    /// What is not usual; none where every iteration came to its end without an exception. What was thrown is in a finding.
    fn in_words(&self) -> Option<String> {
        let threw = (self.threw > 0).then(|| format!("{} of them threw", number::count(self.threw)));
        let interrupted =
            (self.interrupted > 0).then(|| format!("{} were interrupted", number::count(self.interrupted)));
        let done = format!("{} came to an end", number::counted(self.done, "iteration"));
        (self.threw + self.interrupted > 0).then(|| {
            [Some(done), threw, interrupted].into_iter().flatten().collect::<Vec<_>>().join("; ") + "."
        })
    }
}

impl ScriptCpu {
    fn of(run: &dyn Run) -> Result<Option<ScriptCpu>, ReadError> {
        let integral = |name: &str| -> Result<f64, ReadError> {
            let is_it = |s: &&SeriesKey| &*s.target == SeriesKey::GENERATOR && &*s.name == name;
            let parts = run.series().iter().filter(is_it);
            let sums = parts.map(|key| Ok(Coverage::read(run, key)?.integral(Window::new(&run.whole())).sum));
            sums.sum()
        };
        let (script, loops) = (integral(SeriesKey::SCRIPT_CPU)?, integral("loop_cpu")?);
        if script <= 0.0 || loops <= 0.0 {
            return Ok(None);
        }
        let mut started = 0;
        for (id, _) in run.keys().iter().filter(|(_, key)| key.metric == Metric::Started) {
            started += run.total(*id)?;
        }
        Ok(Some(ScriptCpu {
            cpu_seconds: script,
            per_iteration_us: (started > 0).then(|| script * 1e6 / started as f64),
            share_of_loops: (script / loops).min(1.0),
        }))
    }
}

impl BesideK6 {
    /// The heading under which it is shown.
    pub(crate) const HEADING: &str = "What k6 does not say";

    /// The rows of a table: what they are, the number of values, p50, p90, p95, p99 and max.
    pub(crate) fn rows(&self) -> Vec<(String, [String; 6])> {
        let row = |name: String, times: &Times| {
            let [_, quantiles @ ..] = super::time_cells(times);
            let [p50, p90, p95, p99, max] = quantiles;
            (name, [number::count(times.count), p50, p90, p95, p99, max])
        };
        let pair = |TimesBeside { metric, in_k6, from_due }: &TimesBeside| {
            let (name, of_k6) = row(format!("{metric} in k6"), in_k6);
            let (of_due, from_due) = row("the same, from the due instant".to_owned(), from_due);
            if of_k6 == from_due {
                return vec![(format!("{name}, and from the due instant"), of_k6)];
            }
            vec![(name, of_k6), (of_due, from_due)]
        };
        self.times.iter().flat_map(pair).collect()
    }

    /// What it says in sentences.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        if !self.times.is_empty() {
            sentences.push(
                "k6 counts from when a request was sent, and an iteration from when it began: what waited for a virtual \
                 user, for a connection or for the generator is in the times from the due instant alone."
                    .to_owned(),
            );
        }
        sentences.push(self.never_begun.in_words());
        sentences.extend(self.ended.in_words());
        sentences.extend(self.script_cpu.map(ScriptCpu::in_words));
        sentences
    }
}

impl NeverBegun {
    fn in_words(self) -> String {
        let NeverBegun { due, users_busy, users_held_up, generator_late } = self;
        let all = self.all();
        if all == 0 {
            return match due {
                1 => "The one iteration that was due was begun.".to_owned(),
                due => format!("All {} iterations that were due were begun.", number::count(due)),
            };
        }
        let causes = [
            (
                users_busy,
                "because every virtual user was still busy with an earlier iteration (the target was too slow for their number)",
            ),
            (users_held_up, "because every virtual user was busy while the generator itself was held up"),
            (generator_late, "because the generator was too late"),
        ];
        let causes = causes.into_iter().filter(|(count, _)| *count > 0);
        let causes: Vec<String> =
            causes.map(|(count, why)| format!("{} {why}", number::count(count))).collect();
        format!(
            "{} of {} iterations that were due were never begun ({}), and are in none of the times of k6: {}.",
            number::count(all),
            number::count(due),
            number::share(all, due),
            causes.join("; ")
        )
    }
}

impl ScriptCpu {
    fn in_words(self) -> String {
        let each = match self.per_iteration_us {
            Some(us) => format!("{} of CPU an iteration", number::time(us / 1e3)),
            None => format!("{} of CPU", number::cpu(self.cpu_seconds)),
        };
        let share = number::percent(self.share_of_loops, 1.0);
        let most = match self.share_of_loops > MOST {
            true => ": a leaner script, or more loops (--loops) on free cores, can offer more",
            false => "",
        };
        format!("The script itself costs {each}, {share} of what the generator's loops use{most}.")
    }
}
