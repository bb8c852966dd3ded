//! The levels of load of one run.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use evidence::run::{ReadError, select};
use evidence::{Coverage, Key, Metric, Outcome, Run, Seconds, SeriesKey, Window};
use figures::{Figures, PhaseWindow};
use workload::capacity::Searched;
use workload::{Flow, Phase, Scenario, Workload};

use super::super::{LoadWindow, UseWindow, uses};

/// A phase of constant load is cut into windows of at least so many seconds, which show the scatter of its readings …
const WINDOW_S: u32 = 5;
/// … and into so many at most.
const MOST_WINDOWS: u32 = 6;
/// The shortest constant load that is a level of its own.
const SHORTEST_LEVEL_S: u32 = 3;
/// This share of such a phase, from one second to so many, is warm-up.
const WARM_UP: f64 = 1.0 / 6.0;
const LONGEST_WARM_UP_S: u32 = 10;
/// A ramp is cut into levels of so many seconds or more, which have so many completions …
const RAMP_S: u32 = 10;
const FEWEST_COMPLETIONS: u64 = 100;
/// … and into so many levels at most.
const MOST_LEVELS: u32 = 12;
/// Arrivals that the generator dropped, and CPU of a loop, from which the generator is at its limit.
const MOST_LATE: f64 = 0.01;
const MOST_LOOP_CPU: f64 = 0.80;

/// A load that was offered for some time.
#[derive(Debug, Clone)]
pub(super) struct Level {
    pub(super) phase: String,
    pub(super) seconds: Seconds,
    /// Requests offered a second; none where the target decides how many.
    pub(super) offered_per_s: Option<f64>,
    /// Requests that were answered correctly, a second.
    pub(super) completions_per_s: f64,
    /// Their mean response time, in seconds.
    pub(super) response_s: Option<f64>,
    pub(super) is_generator_limited: bool,
    /// Whether objectives break there.
    pub(super) breaks: bool,
    /// Its parts.
    pub(super) windows: Vec<LoadWindow>,
}

impl Level {
    /// What was offered, or what was completed where that is not known.
    pub(super) fn load_per_s(&self) -> f64 {
        self.offered_per_s.unwrap_or(self.completions_per_s)
    }

    /// All of it as one window.
    pub(super) fn whole(&self) -> LoadWindow {
        let parts = self.windows.iter().flat_map(|window| window.resources.iter());
        let mut resources: Vec<evidence::diagnosis::ResourceUse> = Vec::new();
        for part in parts {
            if resources.iter().all(|known| known.name != part.name) {
                let same = || {
                    let of = |window: &LoadWindow| {
                        window.resources.iter().find(|it| it.name == part.name).cloned()
                    };
                    self.windows.iter().filter_map(of)
                };
                let used: Vec<f64> = same().map(|it| it.used).collect();
                let waits: Vec<f64> = same().filter_map(|it| it.wait_s).collect();
                let (used, wait_s) = (stats::mean(&used).unwrap_or(0.0), stats::mean(&waits));
                resources.push(evidence::diagnosis::ResourceUse { used, wait_s, ..part.clone() });
            }
        }
        LoadWindow {
            offered_per_s: self.offered_per_s,
            completions_per_s: self.completions_per_s,
            response_s: self.response_s,
            resources,
        }
    }
}

/// What was counted in each second of a run.
struct BySecond<'a> {
    workload: &'a Workload,
    figures: &'a Figures,
    /// Response times of correct answers that ended in it, added up, in microseconds.
    times_us: BTreeMap<u32, f64>,
    /// Arrivals that the generator dropped.
    late: BTreeMap<u32, u64>,
    /// Requests of an arrival.
    requests_each: f64,
}

/// What was counted over some seconds.
struct Counted {
    arrivals: u64,
    ok: u64,
    times_us: f64,
    late: u64,
}

impl<'a> BySecond<'a> {
    fn read(run: &dyn Run, workload: &'a Workload, figures: &'a Figures) -> Result<BySecond<'a>, ReadError> {
        let (times_us, late) = (BTreeMap::new(), BTreeMap::new());
        let mut all = BySecond { workload, figures, times_us, late, requests_each: 1.0 };
        let is_ok = |key: &Key| key.outcome.is_none_or(|outcome| outcome == Outcome::Ok);
        for (id, _) in select(run.keys(), Metric::ResponseTime, is_ok) {
            for (second, times) in run.histograms(id, run.whole())? {
                let sum = times.mean_us().unwrap_or(0.0) * times.count() as f64;
                *all.times_us.entry(second).or_default() += sum;
            }
        }
        for (id, _) in select(run.keys(), Metric::DroppedLate, |_| true) {
            for (second, late) in run.counts(id, run.whole())? {
                *all.late.entry(second).or_default() += late;
            }
        }
        Ok(all)
    }

    fn over(&self, seconds: &Seconds) -> Counted {
        let range = seconds.start as usize..(seconds.end as usize).min(self.figures.seconds.len());
        let counts = self.figures.seconds.get(range).unwrap_or_default();
        Counted {
            arrivals: counts.iter().map(|second| second.scheduled).sum(),
            ok: counts.iter().map(|second| second.ok).sum(),
            times_us: self.times_us.range(seconds.clone()).map(|(_, sum)| sum).sum(),
            late: self.late.range(seconds.clone()).map(|(_, late)| late).sum(),
        }
    }

    fn window(&self, run: &dyn Run, seconds: &Seconds) -> Result<LoadWindow, ReadError> {
        let counted = self.over(seconds);
        let length_s = f64::from(seconds.end - seconds.start);
        let completions_per_s = counted.ok as f64 / length_s;
        let response_s = (counted.ok > 0).then(|| counted.times_us / counted.ok as f64 / 1e6);
        let window = Window::new(seconds);
        Ok(LoadWindow {
            offered_per_s: (counted.arrivals > 0)
                .then(|| counted.arrivals as f64 * self.requests_each / length_s),
            completions_per_s,
            response_s,
            resources: uses(run, self.workload, UseWindow { window, completions_per_s, response_s })?,
        })
    }

    fn level(&self, run: &dyn Run, part: Part) -> Result<Level, ReadError> {
        let Part { phase, seconds, windows } = part;
        let counted = self.over(&seconds);
        let whole = self.window(run, &seconds)?;
        let is_late = counted.late as f64 > MOST_LATE * counted.arrivals as f64;
        Ok(Level {
            phase,
            offered_per_s: whole.offered_per_s,
            completions_per_s: whole.completions_per_s,
            response_s: whole.response_s,
            is_generator_limited: is_late || loop_cpu(run, &seconds)? > MOST_LOOP_CPU,
            breaks: false,
            windows: windows.iter().map(|window| self.window(run, window)).collect::<Result<_, _>>()?,
            seconds,
        })
    }
}

/// Seconds of one load, and how they are cut.
struct Part {
    phase: String,
    seconds: Seconds,
    windows: Vec<Seconds>,
}

/// The levels of a run, in order of time.
pub(super) fn levels(run: &dyn Run, workload: &Workload, figures: &Figures) -> Result<Vec<Level>, ReadError> {
    let mut by_second = BySecond::read(run, workload, figures)?;
    let is_load = |phase: &&PhaseWindow| !phase.name.starts_with("warm") && !Key::is_beside_load(&phase.name);
    let phases = figures.phases.iter().filter(is_load);
    let parts: Vec<Part> =
        phases.flat_map(|phase| parts(phase, workload, &by_second, run.seconds())).collect();
    by_second.requests_each = requests_each(workload, &parts, &by_second);
    let levels: Result<Vec<Level>, ReadError> =
        parts.into_iter().map(|part| by_second.level(run, part)).collect();
    Ok(levels?.into_iter().filter(|level| level.completions_per_s > 0.0).collect())
}

/// Requests that an arrival makes by the plan; of scripts, which decide that themselves, what is answered at the lowest load.
fn requests_each(workload: &Workload, parts: &[Part], by_second: &BySecond<'_>) -> f64 {
    let is_script = |scenario: &Scenario| matches!(scenario.flow, Flow::Script { .. });
    let sum = |of: &dyn Fn(&Phase) -> f64| workload.phases.iter().map(of).sum::<f64>();
    let arrivals = sum(&|phase| workload.level(Searched::Rate, phase));
    if arrivals > 0.0 && !workload.scenarios.iter().any(is_script) {
        return sum(&|phase| workload.requests_per_s(phase)) / arrivals;
    }
    let counted = parts.iter().map(|part| (by_second.over(&part.seconds), part.seconds.len() as f64));
    let offered = counted.filter(|(counted, _)| counted.arrivals > 0);
    let rate = |(counted, length): &(Counted, f64)| counted.arrivals as f64 / length;
    let lowest = offered.min_by(|a, b| rate(a).total_cmp(&rate(b)));
    lowest.map_or(1.0, |(counted, _)| counted.ok as f64 / counted.arrivals as f64)
}

fn parts(phase: &PhaseWindow, workload: &Workload, by_second: &BySecond<'_>, recorded: u32) -> Vec<Part> {
    let second = |seconds: f64| seconds as u32;
    let start = second(phase.start.as_secs_f64().ceil());
    let whole = start..second(phase.end.as_secs_f64()).min(recorded).max(start);
    let part = |(seconds, windows)| Part { phase: phase.name.clone(), seconds, windows };
    let stretches = stretches(&whole, workload).into_iter();
    let cut = stretches.flat_map(|(seconds, is_constant)| match is_constant {
        true => constant(&seconds).into_iter().collect(),
        false => rising(&seconds, by_second),
    });
    cut.map(part).collect()
}

/// Where the planned load is constant, from second to second and as a whole, and the rest of the seconds.
fn stretches(whole: &Seconds, workload: &Workload) -> Vec<(Seconds, bool)> {
    let is_constant = |seconds: &Seconds| {
        let [start, end] = [seconds.start, seconds.end].map(|second| Duration::from_secs(second.into()));
        workload.is_load_constant(start, end)
    };
    let mut same: Vec<Seconds> = Vec::new();
    for second in whole.clone() {
        match same.last_mut().filter(|last| is_constant(&(last.end - 1..second + 1))) {
            Some(last) => last.end = second + 1,
            None => same.push(second..second + 1),
        }
    }
    let mut stretches: Vec<(Seconds, bool)> = Vec::new();
    for seconds in same {
        let is_level = seconds.len() as u32 >= SHORTEST_LEVEL_S && is_constant(&seconds);
        match stretches.last_mut().filter(|(_, is_constant)| !is_level && !is_constant) {
            Some((last, _)) => last.end = seconds.end,
            None => stretches.push((seconds, is_level)),
        }
    }
    stretches
}

/// A stretch of constant load without its warm-up, and its windows.
fn constant(whole: &Seconds) -> Option<(Seconds, Vec<Seconds>)> {
    let length = whole.end - whole.start;
    let warm_up = ((f64::from(length) * WARM_UP) as u32).clamp(1, LONGEST_WARM_UP_S);
    let kept = whole.start + warm_up..whole.end;
    let count = ((kept.end - kept.start) / WINDOW_S).clamp(1, MOST_WINDOWS);
    (!kept.is_empty()).then(|| (kept.clone(), cut(&kept, count)))
}

/// The levels of a ramp. Where the load falls, what is left of a higher one is waited for.
fn rising(whole: &Seconds, by_second: &BySecond<'_>) -> Vec<(Seconds, Vec<Seconds>)> {
    let completions = by_second.over(whole).ok;
    let most = u32::try_from(completions / FEWEST_COMPLETIONS).unwrap_or(u32::MAX);
    let count = ((whole.end - whole.start) / RAMP_S).min(MOST_LEVELS).min(most);
    let rises = |seconds: &Seconds| {
        let middle = seconds.start.midpoint(seconds.end);
        let of = |half: Range<u32>| by_second.over(&half).arrivals;
        of(seconds.start..middle) <= of(middle..seconds.end)
    };
    cut(whole, count).into_iter().filter(rises).map(|seconds| (seconds.clone(), vec![seconds])).collect()
}

/// So many parts of about the same length.
fn cut(whole: &Seconds, count: u32) -> Vec<Seconds> {
    let length = whole.end - whole.start;
    (0..count).map(|at| whole.start + at * length / count..whole.start + (at + 1) * length / count).collect()
}

/// The mean CPU of the busiest loop, in cores.
fn loop_cpu(run: &dyn Run, seconds: &Seconds) -> Result<f64, ReadError> {
    let is_loop = |key: &&SeriesKey| &*key.target == SeriesKey::GENERATOR && &*key.name == "loop_cpu";
    let mut most: f64 = 0.0;
    for series in run.series().iter().filter(is_loop) {
        let integral = Coverage::read(run, series)?.integral(Window::new(seconds));
        if 2.0 * integral.covered_s > seconds.len() as f64 {
            most = most.max(integral.sum / integral.covered_s);
        }
    }
    Ok(most)
}

/// Leave out levels that follow a higher one that breaks: its backlog is in their times.
pub(super) fn leave_out_after_overload(levels: &mut Vec<Level>) {
    let mut highest_broken: f64 = 0.0;
    levels.retain(|level| {
        let is_after = level.load_per_s() < highest_broken;
        if level.breaks {
            highest_broken = highest_broken.max(level.load_per_s());
        }
        !is_after
    });
}
