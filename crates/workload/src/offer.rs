//! The load that a workload offers, second by second, without sending anything.

use std::fmt::Write as _;
use std::time::Duration;

use evidence::{TerminalText, visible};

use crate::executor::{Arrivals, Executor};
use crate::model::{Flow, Scenario, Workload};
use crate::schedule::Schedule;
use crate::vu_ramp::VuRamp;

/// The load of each scenario in consecutive seconds of equal load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferRow {
    /// The first second, from the start of the run.
    pub from: u32,
    /// The second after the last.
    pub to: u32,
    /// The phase the first second begins in.
    pub phase: String,
    /// For each scenario, in the plan's order, its load in each of these seconds.
    pub offered: Vec<Offered>,
}

/// The load of one scenario in one second, or in total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offered {
    /// Open model: the number of arrivals.
    Arrivals(u64),
    /// Open model, at random: the expected number of arrivals.
    ExpectedArrivals(u64),
    /// Closed model: the highest number of virtual users; the target decides how fast each is.
    Users(u32),
    /// The scenario has not started, or is over.
    Nothing,
}

/// The load that a workload offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The scenarios' names, in the plan's order.
    pub scenarios: Vec<String>,
    /// One row for consecutive seconds of equal load.
    pub rows: Vec<OfferRow>,
    /// For each scenario its arrivals in total; none for one that makes as many iterations as it can.
    pub totals: Vec<Option<Offered>>,
}

/// That so few virtual users, the limit called `limit`, offer an open model's highest rate only while iterations are short: by
/// Little's law below a second on average. None where they suffice for longer ones, or the model is closed.
pub fn few_vus(scenario: &str, executor: &Executor, (max_vus, limit): (u32, &str)) -> Option<String> {
    let most = executor.peak_rate();
    let seconds = f64::from(max_vus) / most;
    (most > 0.0 && seconds < 1.0).then(|| {
        format!(
            "`{scenario}`: {max_vus} virtual users offer {} iterations a second only while an iteration takes less than {:.0} ms \
             on average; what is due beyond that is dropped (`{limit}`)",
            (most * 100.0).round() / 100.0,
            seconds * 1e3
        )
    })
}

/// The load that `workload` offers.
pub fn offer(workload: &Workload) -> Offer {
    let schedules: Vec<_> = workload.scenarios.iter().map(|s| Schedule::new(&s.executor)).collect();
    let ends = workload.scenarios.iter().map(|s| s.start + s.executor.duration());
    let end = ends.chain(workload.phases.iter().map(|p| p.end)).max().unwrap_or_default();
    let seconds = u32::try_from(end.as_nanos().div_ceil(1_000_000_000)).unwrap_or(u32::MAX);
    let mut rows: Vec<OfferRow> = Vec::new();
    for second in 0..seconds {
        let offered: Vec<_> = workload
            .scenarios
            .iter()
            .zip(&schedules)
            .map(|(scenario, schedule)| in_second(scenario, schedule.as_ref(), second))
            .collect();
        let phase = phase_at(workload, second);
        match rows.last_mut() {
            Some(last) if last.offered == offered && last.phase == phase => last.to = second + 1,
            _ => rows.push(OfferRow { from: second, to: second + 1, phase: phase.to_owned(), offered }),
        }
    }
    Offer {
        scenarios: workload.scenarios.iter().map(|s| s.name.clone()).collect(),
        rows,
        totals: (workload.scenarios.iter().zip(&schedules))
            .map(|(scenario, schedule)| total(scenario, schedule.as_ref()))
            .collect(),
    }
}

fn total(scenario: &Scenario, schedule: Option<&Schedule>) -> Option<Offered> {
    match schedule {
        Some(schedule) => Some(open(scenario, schedule.count())),
        None => scenario.executor.iterations().map(Offered::Arrivals),
    }
}

fn open(scenario: &Scenario, arrivals: u64) -> Offered {
    match scenario.arrivals {
        Arrivals::Even => Offered::Arrivals(arrivals),
        Arrivals::Poisson => Offered::ExpectedArrivals(arrivals),
    }
}

fn phase_at(workload: &Workload, second: u32) -> &str {
    let at = Duration::from_secs(u64::from(second));
    workload
        .phases
        .iter()
        .find(|phase| (phase.start..phase.end).contains(&at))
        .map_or("", |p| p.name.as_str())
}

fn in_second(scenario: &Scenario, schedule: Option<&Schedule>, second: u32) -> Offered {
    let from = Duration::from_secs(u64::from(second));
    let to = from + Duration::from_secs(1);
    let end = scenario.start + scenario.executor.duration();
    if to <= scenario.start || from >= end {
        return Offered::Nothing;
    }
    match (schedule, &scenario.executor) {
        (Some(schedule), _) => {
            let since = |at: Duration| at.saturating_sub(scenario.start);
            open(scenario, schedule.arrivals_between(since(from), since(to)))
        }
        (None, Executor::RampingVus { start_vus, stages, .. }) => {
            let ramp = VuRamp::new(*start_vus, stages);
            let vus = |at: Duration| ramp.vus_at(at.saturating_sub(scenario.start));
            Offered::Users(vus(from).max(vus(to.min(end) - Duration::from_nanos(1))))
        }
        (None, closed) => closed.peak_vus().map_or(Offered::Nothing, Offered::Users),
    }
}

/// How fast a closed scenario can be at most, because its virtual users think.
#[derive(Debug, Clone, PartialEq)]
pub struct ThinkPace {
    pub scenario: String,
    /// The mean think time of an iteration.
    pub mean: Duration,
    /// Iterations a second at the highest number of virtual users, if responses took no time.
    pub most_per_second: f64,
}

/// The paces of closed scenarios with think time, in the plan's order.
pub fn think_paces(workload: &Workload) -> Vec<ThinkPace> {
    workload.scenarios.iter().filter_map(think_pace).collect()
}

/// The pace of a scenario; none of an open one, or where its virtual users do not think.
pub fn think_pace(scenario: &Scenario) -> Option<ThinkPace> {
    let vus = scenario.executor.peak_vus()?;
    let mean = mean_think(&scenario.flow);
    let most_per_second = f64::from(vus) / mean.as_secs_f64();
    (!mean.is_zero()).then(|| ThinkPace { scenario: scenario.name.clone(), mean, most_per_second })
}

/// The mean of all think times of an iteration together.
fn mean_think(flow: &Flow) -> Duration {
    match flow {
        Flow::Sequence(steps) => steps.iter().map(|step| step.think.mean()).sum(),
        Flow::Mix(mix) => {
            let all: f64 = mix.iter().map(|weighted| f64::from(weighted.weight)).sum();
            mix.iter().map(|w| w.step.think.mean().mul_f64(f64::from(w.weight) / all)).sum()
        }
        // Lists of requests and scripts have none here.
        Flow::InTurn { .. } | Flow::Script { .. } => Duration::ZERO,
    }
}

impl Offered {
    fn text(self) -> String {
        match self {
            Offered::Arrivals(n) => n.to_string(),
            Offered::ExpectedArrivals(n) => format!("~{n}"),
            Offered::Users(n) => format!("{n} VUs"),
            Offered::Nothing => "-".to_owned(),
        }
    }
}

impl Offer {
    /// As a table of text: one row for consecutive seconds of equal load, one column for each scenario.
    pub fn render(&self) -> TerminalText {
        let scenarios = self.scenarios.iter().map(|name| visible(name).into_owned());
        let heads = ["second".to_owned(), "phase".to_owned()].into_iter().chain(scenarios);
        let mut lines = vec![heads.collect()];
        for row in &self.rows {
            let seconds = match row.to - row.from {
                1 => row.from.to_string(),
                _ => format!("{}-{}", row.from, row.to - 1),
            };
            let mut line = vec![seconds, visible(&row.phase).into_owned()];
            line.extend(row.offered.iter().map(|offered| offered.text()));
            lines.push(line);
        }
        let mut totals = vec!["all".to_owned(), String::new()];
        totals.extend(self.totals.iter().map(|n| n.map_or("as fast as it goes".to_owned(), |n| n.text())));
        lines.push(totals);
        aligned(&lines)
    }
}

/// Rows with aligned columns: the first two to the left, numbers to the right.
fn aligned(lines: &[Vec<String>]) -> TerminalText {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| lines.iter().filter_map(|l| l.get(column)).map(|c| c.chars().count()).max();
    let widths: Vec<_> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = TerminalText::default();
    for line in lines {
        let mut out = String::new();
        for (column, cell) in line.iter().enumerate() {
            let width = widths[column];
            // Writing to a string cannot fail.
            let _ = match column {
                0 | 1 => write!(out, "{cell:<width$}  "),
                _ => write!(out, "{cell:>width$}  "),
            };
        }
        text.line(out);
    }
    text
}

#[cfg(test)]
mod tests;
