//! Scenarios as options describe them: an executor and its fields, not checked yet.

use std::collections::BTreeMap;

use serde_json::Value;

use super::dns::one_of;
use super::duration::OptionDuration;
use super::fields::{Fields, FromJson, FromText, Ignored, fields};

/// What starts the iterations of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecutorKind {
    /// A constant number of virtual users.
    ConstantVus,
    /// A number of virtual users that follows stages.
    RampingVus,
    /// A number of iterations that virtual users share.
    SharedIterations,
    /// A number of iterations of each virtual user.
    PerVuIterations,
    /// A constant number of iterations a unit of time.
    ConstantArrivalRate,
    /// A number of iterations a unit of time that follows stages.
    RampingArrivalRate,
}

const EXTERNALLY_CONTROLLED: &str = "externally-controlled";
const EXECUTORS: [(&str, ExecutorKind); 6] = [
    ("constant-vus", ExecutorKind::ConstantVus),
    ("ramping-vus", ExecutorKind::RampingVus),
    ("shared-iterations", ExecutorKind::SharedIterations),
    ("per-vu-iterations", ExecutorKind::PerVuIterations),
    ("constant-arrival-rate", ExecutorKind::ConstantArrivalRate),
    ("ramping-arrival-rate", ExecutorKind::RampingArrivalRate),
];
/// The fields of every executor.
const COMMON: [&str; 7] = ["executor", "startTime", "gracefulStop", "env", "exec", "tags", "options"];

fields! {
    pub struct ScenarioOptions {
        /// What starts its iterations.
        executor: ExecutorKind = "executor";
        /// Its start, from the start of the load.
        start_time: OptionDuration = "startTime";
        /// How long its iterations under way at the end may take.
        graceful_stop: OptionDuration = "gracefulStop";
        /// Variables of `__ENV`, in this scenario only.
        env: BTreeMap<String, String> = "env";
        /// The name of the function that is an iteration.
        exec: String = "exec";
        /// Tags of all its observations.
        tags: BTreeMap<String, String> = "tags";
        /// Options of a browser.
        options: Ignored = "options";
        /// The number of virtual users.
        vus: i64 = "vus";
        /// The number of iterations.
        iterations: i64 = "iterations";
        /// How long iterations are started at most.
        max_duration: OptionDuration = "maxDuration";
        /// How long iterations are started.
        duration: OptionDuration = "duration";
        /// Virtual users at the start.
        start_vus: i64 = "startVUs";
        /// How the number of virtual users, or the rate, changes.
        stages: Vec<StageOptions> = "stages";
        /// How long the iteration of a virtual user that a stage removes may take.
        graceful_ramp_down: OptionDuration = "gracefulRampDown";
        /// Iterations a time unit at the start.
        start_rate: i64 = "startRate";
        /// Iterations a time unit.
        rate: i64 = "rate";
        /// What rates and targets are counted by.
        time_unit: OptionDuration = "timeUnit";
        /// Virtual users that are there from the start.
        pre_allocated_vus: i64 = "preAllocatedVUs";
        /// The VU limit.
        max_vus: i64 = "maxVUs";
    }
}

fields! {
    pub struct StageOptions {
        duration: OptionDuration = "duration";
        /// Virtual users, or iterations a time unit, at its end.
        target: i64 = "target";
    }
}

impl ExecutorKind {
    /// The fields that it has beside those of every executor.
    fn own_fields(self) -> &'static [&'static str] {
        match self {
            ExecutorKind::ConstantVus => &["vus", "duration"],
            ExecutorKind::RampingVus => &["startVUs", "stages", "gracefulRampDown"],
            ExecutorKind::SharedIterations | ExecutorKind::PerVuIterations => {
                &["vus", "iterations", "maxDuration"]
            }
            ExecutorKind::ConstantArrivalRate => {
                &["rate", "timeUnit", "duration", "preAllocatedVUs", "maxVUs"]
            }
            ExecutorKind::RampingArrivalRate => {
                &["startRate", "timeUnit", "stages", "preAllocatedVUs", "maxVUs"]
            }
        }
    }
}

impl FromJson for ExecutorKind {
    fn from_json(value: &Value) -> Result<ExecutorKind, String> {
        if value.as_str() == Some(EXTERNALLY_CONTROLLED) {
            return Err(format!(
                "{EXTERNALLY_CONTROLLED} is not supported: nothing could control the load; use another executor"
            ));
        }
        one_of(&EXECUTORS, value)
    }
}

impl FromJson for ScenarioOptions {
    fn from_json(value: &Value) -> Result<ScenarioOptions, String> {
        let mut scenario = ScenarioOptions::default();
        let unknown = scenario.set_all(value)?;
        let executor = scenario.executor.ok_or("it has no executor")?;
        let has = |key: &str| {
            COMMON.iter().chain(executor.own_fields()).any(|field| field.eq_ignore_ascii_case(key))
        };
        let mut keys = value.as_object().into_iter().flat_map(|entries| entries.keys());
        let foreign = || keys.find(|key| !has(key)).cloned();
        match unknown.or_else(foreign) {
            None => Ok(scenario),
            Some(key) => {
                let fields = executor.own_fields();
                let users = match key.as_str() {
                    "vus" if fields.contains(&"maxVUs") => {
                        "; its virtual users are \"preAllocatedVUs\", and at most \"maxVUs\""
                    }
                    _ => "",
                };
                Err(format!("its executor has no {key:?}; it has {}{users}", fields.join(", ")))
            }
        }
    }
}

impl FromJson for StageOptions {
    fn from_json(value: &Value) -> Result<StageOptions, String> {
        let mut stage = StageOptions::default();
        stage.set_all(value)?;
        Ok(stage)
    }

    fn of_null() -> Option<StageOptions> {
        Some(StageOptions::default())
    }
}

/// A duration and a target: `10s:100`. Either may be missing, which is checked later.
impl FromText for StageOptions {
    fn from_text(text: &str) -> Result<StageOptions, String> {
        let (duration, target) = text.split_once(':').unwrap_or((text, ""));
        let target = if target.is_empty() { None } else { Some(i64::from_text(target)?) };
        let duration = if duration.is_empty() { None } else { Some(OptionDuration::parse(duration)?) };
        Ok(StageOptions { duration, target })
    }
}
