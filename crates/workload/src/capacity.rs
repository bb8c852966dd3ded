//! A capacity search: one arm under the load of a plan, and the objectives whose highest load is searched.
//! [`crate::plan::load_capacity`] reads one from a file.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::experiment::Arm;
use crate::model::{Flow, Phase, Scenario, Workload};
use crate::objective::{Comparison, Filter, Measure, Objective, Statistic};
use crate::schedule::Schedule;

mod overload;

pub use overload::OverloadShape;

/// Replaced by the level in the commands and environment of an arm.
pub const PLACEHOLDER: &str = "${level}";

/// A time limit that a quantile exceeds so many times ends a probe.
const COLLAPSE: f64 = 3.0;
/// This failed share ends a probe, or [`COLLAPSE`] times the allowed one if that is more.
const FAILED: f64 = 0.05;
/// The allowed failures that a probe shall have at least: fewer say little about a share.
const EXPECTED_FAILURES: f64 = 10.0;
/// Requests that a probe shall have beyond its quantile.
const TAIL_REQUESTS: f64 = 100.0;
/// The shortest step without being asked for.
const SHORTEST_STEP: Duration = Duration::from_secs(20);
/// The share of its capacity at which a queue's relaxation time is estimated.
const NEAR_CAPACITY: f64 = 0.9;
/// Relaxation times that a step lasts.
const RELAXATIONS: f64 = 10.0;
/// The longest step that a rule asks for.
const LONGEST_STEP: Duration = Duration::from_secs(600);

/// A capacity search, resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct CapacityExperiment {
    /// Its name: that of its file.
    pub name: String,
    pub plan: PathBuf,
    /// The folder in which commands are run.
    pub folder: PathBuf,
    pub arm: Arm,
    pub search: Search,
    /// What must hold; each of the phase that is measured.
    pub slos: Vec<Objective>,
}

/// What is changed from probe to probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Searched {
    /// The offered rate: all of the plan's load is scaled.
    Rate,
    /// Virtual users: all of the plan's load is scaled.
    Users,
    /// A number in the start command or its environment; the load stays.
    Number,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Search {
    /// What is changed.
    pub searched: Searched,
    /// The lowest level; none: a twentieth of the plan's.
    pub from: Option<f64>,
    /// The highest level; none: what the generator can sustain.
    pub to: Option<f64>,
    /// Whether a higher number makes the objectives easier to meet, as threads do.
    pub is_more_better: bool,
    /// The time under load of each probe; none: what the objectives need.
    pub step: Option<Duration>,
    /// How much of its beginning is left out; none: a sixth of a plan with one phase.
    pub warm_up: Option<Duration>,
    /// The distance of neighbouring levels of the grid, as a share.
    pub spacing: f64,
    /// Levels of the grid.
    pub levels: u32,
    /// Probes of each of them.
    pub repeats: u32,
    /// Whether what limits the target is asked for: in place of the grid, levels up to where it breaks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub levels_for_diagnosis: bool,
    /// How long the answer must hold; 0: not tested.
    pub hold: Duration,
    /// How long each overload lasts; 0: none.
    pub overload: Duration,
    /// The pause after each probe of what runs already.
    pub rest: Duration,
    /// The longest that all of it may take.
    pub budget: Option<Duration>,
    /// Of the order of probes, and of the load of each.
    pub seed: u64,
    /// The level that must hold; none: it is only measured.
    pub at_least: Option<f64>,
}

impl Default for Search {
    fn default() -> Search {
        Search {
            searched: Searched::Rate,
            from: None,
            to: None,
            is_more_better: false,
            step: None,
            warm_up: None,
            spacing: 0.04,
            levels: 7,
            repeats: 2,
            levels_for_diagnosis: false,
            hold: Duration::ZERO,
            overload: Duration::ZERO,
            rest: Duration::from_secs(5),
            budget: None,
            seed: 1,
            at_least: None,
        }
    }
}

impl Searched {
    /// The unit of levels, as in "320 arrivals/s".
    pub fn unit(self) -> &'static str {
        match self {
            Searched::Rate => "arrivals/s",
            Searched::Users => "virtual users",
            Searched::Number => "",
        }
    }

    /// Whether levels are whole numbers.
    pub fn is_whole(self) -> bool {
        self != Searched::Rate
    }
}

impl Workload {
    /// The phase that a capacity is measured in: the one that an objective names, else the longest.
    pub fn measured_phase(&self, slos: &[Objective]) -> Option<&Phase> {
        let named = slos.iter().find_map(|slo| slo.filter.phase.as_ref());
        match named {
            Some(name) => self.phases.iter().find(|phase| phase.name == *name),
            None => self.phases.iter().max_by_key(|phase| phase.end.saturating_sub(phase.start)),
        }
    }

    /// The level that the plan itself offers in `phase`: arrivals a second of all open scenarios, or virtual users of all
    /// closed ones; 1 of a number that no plan has.
    pub fn level(&self, searched: Searched, phase: &Phase) -> f64 {
        match searched {
            Searched::Rate => self.scenarios.iter().map(|scenario| scenario.rate_in(phase)).sum(),
            Searched::Users => self
                .scenarios
                .iter()
                .filter(|scenario| scenario.runs_in(phase))
                .filter_map(|scenario| scenario.executor.peak_vus())
                .map(f64::from)
                .sum(),
            Searched::Number => 1.0,
        }
    }

    /// Requests a second that the open scenarios offer in `phase`: an arrival of a sequence makes one for each step.
    pub fn requests_per_s(&self, phase: &Phase) -> f64 {
        let of = |scenario: &Scenario| {
            let steps = match &scenario.flow {
                Flow::Sequence(steps) => steps.len().max(1) as f64,
                Flow::Mix(_) | Flow::InTurn { .. } | Flow::Script { .. } => 1.0,
            };
            scenario.rate_in(phase) * steps
        };
        self.scenarios.iter().map(of).sum()
    }

    /// Requests a second of what `filter` selects in `phase`; none of closed scenarios, whose rate the target decides.
    pub fn selected_per_s(&self, filter: &Filter, phase: &Phase) -> f64 {
        let is_it = |name: &str| filter.endpoint.as_ref().is_none_or(|endpoint| endpoint == name);
        let share = |scenario: &Scenario| match &scenario.flow {
            Flow::Mix(mix) => {
                let all: u32 = mix.iter().map(|weighted| weighted.weight).sum();
                let its: u32 = mix.iter().filter(|w| is_it(&w.step.name)).map(|w| w.weight).sum();
                f64::from(its) / f64::from(all.max(1))
            }
            flow => flow.steps().filter(|step| is_it(&step.name)).count() as f64,
        };
        let selected =
            |scenario: &&Scenario| filter.scenario.as_ref().is_none_or(|name| *name == scenario.name);
        self.scenarios.iter().filter(selected).map(|scenario| scenario.rate_in(phase) * share(scenario)).sum()
    }
}

impl Scenario {
    /// Arrivals a second within a phase; 0 of a closed model.
    fn rate_in(&self, phase: &Phase) -> f64 {
        let Some(schedule) = Schedule::new(&self.executor) else { return 0.0 };
        let since = |at: Duration| at.saturating_sub(self.start);
        let length = phase.end.saturating_sub(phase.start).as_secs_f64();
        match length > 0.0 {
            true => schedule.arrivals_between(since(phase.start), since(phase.end)) as f64 / length,
            false => 0.0,
        }
    }

    fn runs_in(&self, phase: &Phase) -> bool {
        self.start < phase.end && self.start + self.executor.duration() > phase.start
    }
}

/// An objective that ends a probe as soon as its target is far beyond `slo`, not before `after`; none where the run does
/// not show it.
pub fn collapse(slo: &Objective, after: Duration) -> Option<Objective> {
    if !slo.comparison.is_upper() {
        return None;
    }
    let bound = match &slo.measure {
        Measure::ResponseTime(Statistic::Quantile(_))
        | Measure::ServiceTime(Statistic::Quantile(_))
        | Measure::IterationTime(Statistic::Quantile(_)) => slo.bound * COLLAPSE,
        Measure::ErrorRate => (slo.bound * COLLAPSE).clamp(FAILED, 0.99),
        _ => return None,
    };
    Some(Objective {
        name: collapse_name(slo),
        source: format!("{} (ends a probe from {bound} on)", slo.source),
        comparison: Comparison::Below,
        bound,
        abort_after: Some(after),
        ..slo.clone()
    })
}

/// The name of the objective that ends a probe.
pub fn collapse_name(slo: &Objective) -> String {
    format!("{} collapses", slo.name)
}

/// How long a probe must be so that an objective can be judged where `per_s` requests a second count for it, and of a target
/// whose capacity is near `capacity_per_s` requests a second.
///
/// A hundred requests beyond the quantile, or ten failures that are allowed; ten relaxation times of a queue with one server
/// at 90 % of its capacity, 1 / (μ (1 − √ρ)²) (Morse, "Queues, Inventories and Maintenance", 1958); and 20 s.
pub fn step_needed(slo: &Objective, per_s: f64, capacity_per_s: f64) -> Duration {
    let beyond = match &slo.measure {
        Measure::ResponseTime(Statistic::Quantile(q))
        | Measure::ServiceTime(Statistic::Quantile(q))
        | Measure::IterationTime(Statistic::Quantile(q)) => TAIL_REQUESTS / ((1.0 - q) * per_s),
        _ => failures_take(slo, per_s).map_or(0.0, |duration| duration.as_secs_f64()),
    };
    let relaxation = 1.0 / (capacity_per_s * (1.0 - NEAR_CAPACITY.sqrt()).powi(2));
    let needed = beyond.max(RELAXATIONS * relaxation);
    let longest = LONGEST_STEP.as_secs_f64();
    let needed = if needed.is_finite() { needed.min(longest) } else { 0.0 };
    Duration::from_secs_f64(needed.ceil()).max(SHORTEST_STEP)
}

/// How long a probe must be to show that an error rate is met, at `per_s` requests a second: until ten failures are allowed, at
/// most ten minutes. None for other objectives, and where no failure is allowed.
pub fn failures_take(slo: &Objective, per_s: f64) -> Option<Duration> {
    let is_rate = matches!(slo.measure, Measure::ErrorRate);
    let seconds = EXPECTED_FAILURES / (slo.bound * per_s);
    (is_rate && seconds.is_finite()).then(|| Duration::from_secs_f64(seconds.min(LONGEST_STEP.as_secs_f64())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objective::parse_among;

    fn slo(text: &str) -> Objective {
        parse_among("slo", text, &|name| name == "list").unwrap()
    }

    #[test]
    fn a_probe_is_long_enough_for_its_quantile_and_its_queue() {
        let seconds = |text, per_s: f64| step_needed(&slo(text), per_s, per_s).as_secs();
        assert_eq!(seconds("p95(list) < 50ms", 1_000.0), 20);
        assert_eq!(seconds("p99(list) < 50ms", 100.0), 100);
        assert_eq!(seconds("error_rate(list) < 0.1%", 100.0), 100);
        assert_eq!(seconds("p50(list) < 50ms", 10.0), 380, "ten relaxation times");
        assert_eq!(seconds("p99.9(list) < 50ms", 1.0), 600, "no longer than ten minutes");
    }

    #[test]
    fn an_error_rate_needs_ten_allowed_failures() {
        let take = |text| failures_take(&slo(text), 1_000.0);
        assert_eq!(take("error_rate(list) < 0.1%"), Some(Duration::from_secs(10)));
        assert_eq!(take("error_rate(list) <= 0%"), None);
        assert_eq!(take("p95(list) < 50ms"), None);
    }

    #[test]
    fn a_collapse_is_far_beyond_the_objective() {
        let after = Duration::from_secs(5);
        let of = |text| collapse(&slo(text), after).map(|objective| objective.bound);
        assert_eq!(of("p95(list) < 50ms"), Some(150.0));
        assert_eq!(of("error_rate(list) < 0.1%"), Some(0.05));
        assert!(of("error_rate(list) < 10%").is_some_and(|bound| (bound - 0.3).abs() < 1e-9));
        assert_eq!(of("goodput(list) > 50/s"), None);
    }
}
