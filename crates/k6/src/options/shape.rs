//! Scenarios as the engine offers them, every default filled in.

use std::collections::BTreeMap;
use std::time::Duration;

use workload::Scenario;
use workload::model::{Arrivals, Executor, Flow, Stage, VuStage};

use super::duration::OptionDuration;
use super::part::Numbering;
use super::scenario::{ExecutorKind, ScenarioOptions};

/// How long the iterations under way at an end may take.
const GRACE: OptionDuration = OptionDuration::from_secs(30);
/// How long a number of iterations may take.
const MAX_DURATION: OptionDuration = OptionDuration::from_secs(600);
const SECOND: OptionDuration = OptionDuration::from_secs(1);
/// The function that is an iteration where `exec` names no other.
pub(super) const DEFAULT_FUNCTION: &str = "default";

/// A scenario of the load.
#[derive(Debug, Clone, PartialEq)]
pub struct ScenarioShape {
    pub name: String,
    /// The function that is an iteration, if the options name one; see [`ScenarioShape::function`].
    pub exec: Option<String>,
    /// Variables of `__ENV`, in this scenario only.
    pub env: BTreeMap<String, String>,
    /// Tags of all its observations.
    pub tags: BTreeMap<String, String>,
    /// What starts its iterations.
    pub executor: Executor,
    /// Its start, from the start of the load.
    pub start: Duration,
    /// How long iterations under way at its end may take.
    pub graceful_stop: Duration,
    /// Virtual users that an open model has from the start; 0 of a closed one.
    pub preallocated_vus: u32,
    /// The VU limit.
    pub max_vus: u32,
    /// The numbers that its virtual users and iterations have in the whole test.
    pub numbering: Numbering,
}

impl ScenarioShape {
    /// The shape of a scenario whose options have no problems; none if it has no executor.
    pub(super) fn from_options(name: &str, options: &ScenarioOptions) -> Option<ScenarioShape> {
        let executor = executor(options)?;
        let preallocated_vus = count(options.pre_allocated_vus, 0);
        let max_vus =
            executor.peak_vus().unwrap_or_else(|| count(options.max_vus, i64::from(preallocated_vus)));
        Some(ScenarioShape {
            name: name.to_owned(),
            exec: options.exec.clone(),
            env: options.env.clone().unwrap_or_default(),
            tags: options.tags.clone().unwrap_or_default(),
            executor,
            start: time(options.start_time, OptionDuration(0)),
            graceful_stop: time(options.graceful_stop, GRACE),
            preallocated_vus,
            max_vus,
            numbering: Numbering::default(),
        })
    }

    /// A single iteration of it, from the start of the load.
    pub(super) fn once(self) -> ScenarioShape {
        let max_duration = time(None, MAX_DURATION);
        ScenarioShape {
            executor: Executor::PerVuIterations { vus: 1, iterations: 1, max_duration },
            start: Duration::ZERO,
            preallocated_vus: 0,
            max_vus: 1,
            ..self
        }
    }

    /// The name of the function that is an iteration.
    pub fn function(&self) -> &str {
        self.exec.as_deref().unwrap_or(DEFAULT_FUNCTION)
    }

    /// Its executor as options name it, such as `constant-vus`.
    pub fn executor_name(&self) -> &'static str {
        match self.executor {
            Executor::ConstantVus { .. } => "constant-vus",
            Executor::RampingVus { .. } => "ramping-vus",
            Executor::SharedIterations { .. } => "shared-iterations",
            Executor::PerVuIterations { .. } => "per-vu-iterations",
            Executor::ConstantArrivalRate { .. } => "constant-arrival-rate",
            Executor::RampingArrivalRate { .. } => "ramping-arrival-rate",
        }
    }

    /// The scenario of a workload.
    pub(super) fn scenario(&self) -> Scenario {
        Scenario {
            name: self.name.clone(),
            executor: self.executor.clone(),
            arrivals: Arrivals::Even,
            start: self.start,
            preallocated_vus: self.preallocated_vus,
            max_vus: self.max_vus,
            graceful_stop: self.graceful_stop,
            tags: self.tags.clone(),
            setup: Vec::new(),
            flow: Flow::Script { function: self.function().to_owned() },
        }
    }
}

fn executor(options: &ScenarioOptions) -> Option<Executor> {
    let vus = count(options.vus, 1);
    let iterations = u64::try_from(options.iterations.unwrap_or(1)).unwrap_or(0);
    let max_duration = time(options.max_duration, MAX_DURATION);
    let duration = time(options.duration, OptionDuration(0));
    let unit = options.time_unit.unwrap_or(SECOND);
    let rate = |rate: Option<i64>| unit.rate_of(rate.unwrap_or(0));
    let stages = || options.stages.iter().flatten();
    Some(match options.executor? {
        ExecutorKind::ConstantVus => Executor::ConstantVus { vus, duration },
        ExecutorKind::SharedIterations => Executor::SharedIterations { vus, iterations, max_duration },
        ExecutorKind::PerVuIterations => Executor::PerVuIterations { vus, iterations, max_duration },
        ExecutorKind::RampingVus => Executor::RampingVus {
            start_vus: count(options.start_vus, 1),
            stages: stages()
                .map(|stage| VuStage {
                    to: count(stage.target, 0),
                    over: time(stage.duration, OptionDuration(0)),
                })
                .collect(),
            graceful_ramp_down: time(options.graceful_ramp_down, GRACE),
        },
        ExecutorKind::ConstantArrivalRate => {
            Executor::ConstantArrivalRate { rate: rate(options.rate), duration }
        }
        ExecutorKind::RampingArrivalRate => Executor::RampingArrivalRate {
            start_rate: rate(options.start_rate),
            stages: stages()
                .map(|stage| Stage { to: rate(stage.target), over: time(stage.duration, OptionDuration(0)) })
                .collect(),
        },
    })
}

/// A number of virtual users; what is out of range was refused before.
fn count(number: Option<i64>, default: i64) -> u32 {
    u32::try_from(number.unwrap_or(default)).unwrap_or(0)
}

/// A duration; what is negative was refused before.
fn time(duration: Option<OptionDuration>, default: OptionDuration) -> Duration {
    duration.unwrap_or(default).unsigned().unwrap_or_default()
}
