//! The objectives of a run under way: counted tick by tick, and put to the judge's rule for shares once a second.

use std::collections::VecDeque;
use std::time::Duration;

use ::report::live::objective::{IntervalNow, ObjectiveNow, Stage, StopNow};
use evidence::Tick;
use evidence::stop_rule::StopRules;
use figures::live::objective::ObjectiveCounter;
use judge::shares::ShareAnswer;
use judge::so_far::{self, ShareSoFar};
use workload::{Objective, Workload};

/// Over how many seconds the arrivals of an objective are counted for their present rate.
const RATE_S: u32 = 5;

/// Fewer seconds do not show for how long an objective stays open.
const FORECAST_FROM_S: u32 = 10;

/// Counts for the objectives of a workload.
pub(super) struct ObjectiveWatch {
    workload: Workload,
    objectives: Vec<Watched>,
    rules: StopRules,
}

struct Watched {
    counter: ObjectiveCounter,
    /// The arrivals that had been counted after a second, of the last seconds.
    recent: VecDeque<(u32, u64)>,
    /// When its last arrival is due.
    end_s: f64,
}

impl ObjectiveWatch {
    /// Of a run with so many loops that has not started.
    pub(super) fn new(workload: &Workload, loops: u16) -> ObjectiveWatch {
        let watched = |objective: &Objective| Watched {
            counter: ObjectiveCounter::new(workload, objective),
            recent: VecDeque::new(),
            end_s: end_of(workload, objective).as_secs_f64(),
        };
        ObjectiveWatch {
            objectives: workload.objectives.iter().map(watched).collect(),
            rules: StopRules::new(figures::stop_rules(workload), loops),
            workload: workload.clone(),
        }
    }

    /// Adds one second of one loop.
    pub(super) fn take(&mut self, tick: &Tick) {
        self.rules.take(tick);
        self.objectives.iter_mut().for_each(|watched| watched.counter.take(tick));
    }

    /// What there is after so many whole seconds.
    pub(super) fn after(&mut self, elapsed_s: u32) -> Vec<ObjectiveNow> {
        let ObjectiveWatch { workload, objectives, rules } = self;
        let now = objectives.iter_mut().zip(&workload.objectives).map(|(watched, objective)| {
            let rate = watched.arrivals_per_s(elapsed_s);
            let counts = watched.counter.counts();
            let share = so_far::of(counts, objective, workload);
            let value = counts.value(objective, elapsed_s);
            let left_s = watched.end_s - f64::from(elapsed_s);
            let rule = rules.states().find(|state| state.rule.objective == objective.name);
            ObjectiveNow {
                name: objective.name.clone(),
                source: objective.source.clone(),
                value,
                unit: objective.measure.unit(),
                stage: match stage(objective, value, share.as_ref(), rate, left_s) {
                    Stage::Open { .. } if elapsed_s < FORECAST_FROM_S => Stage::OpenEarly,
                    stage => stage,
                },
                interval: share.as_ref().map(interval),
                stop: rule.map(|state| StopNow {
                    failing_since_s: state.failing_since_s,
                    not_before_s: state.rule.not_before.as_secs_f64().ceil() as u32,
                }),
            }
        });
        now.collect()
    }
}

impl Watched {
    /// How many arrivals have been counted a second lately.
    fn arrivals_per_s(&mut self, elapsed_s: u32) -> f64 {
        let arrivals = self.counter.counts().arrivals();
        if self.recent.back().is_none_or(|(second, _)| *second < elapsed_s) {
            self.recent.push_back((elapsed_s, arrivals));
        }
        while self.recent.len() > 1 && self.recent[0].0 + RATE_S < elapsed_s {
            self.recent.pop_front();
        }
        let (since_s, before) = match self.recent.front() {
            Some(first) if first.0 < elapsed_s => *first,
            _ => (0, 0),
        };
        (arrivals - before) as f64 / f64::from((elapsed_s - since_s).max(1))
    }
}

fn end_of(workload: &Workload, objective: &Objective) -> Duration {
    let is_its = |name: &str| objective.filter.phase.as_deref().is_none_or(|phase| phase == name);
    let ends = workload.phases.iter().filter(|phase| is_its(&phase.name)).map(|phase| phase.end);
    ends.max().unwrap_or_default()
}

fn stage(
    objective: &Objective,
    value: Option<f64>,
    share: Option<&ShareSoFar>,
    arrivals_per_s: f64,
    left_s: f64,
) -> Stage {
    match (share, value) {
        (Some(share), _) => match share.decision.answer {
            ShareAnswer::Pass => Stage::Met,
            ShareAnswer::Fail => Stage::Violated,
            _ => Stage::Open { decided_in_s: share.decided_in_s(arrivals_per_s), left_s },
        },
        (None, Some(value)) => Stage::ValueOnly { holds: objective.comparison.holds(value, objective.bound) },
        (None, None) if is_counted(objective) => Stage::NothingCounted,
        (None, None) => Stage::AtTheEnd,
    }
}

/// Whether ticks have its value.
fn is_counted(objective: &Objective) -> bool {
    use workload::Measure;
    let is_rate = matches!(objective.measure, Measure::Throughput | Measure::Goodput { .. });
    // Ticks have the number of virtual users in another form.
    let is_value = matches!(&objective.measure, Measure::Metric(metric) if !metric.name.starts_with("vus"));
    is_rate || is_value || objective.measure.watched().is_some()
}

fn interval(share: &ShareSoFar) -> IntervalNow {
    let limits = share.decision.limits;
    IntervalNow {
        observed: share.decision.share,
        lower: limits.lower,
        upper: limits.upper,
        allowed: share.allowed,
    }
}
