//! The options of a test, as scripts see them.

use std::time::Duration;

use serde_json::{Map, Value, json};
use workload::model::{Executor, VuStage};

use crate::options::{OptionDuration, ScenarioShape};
use crate::vu::Vu;

/// The options that the script exports, with the tags of the run. Options such as `duration`, of the script or over it, are
/// replaced by the scenario that they describe.
pub(super) fn of_test(vu: &Vu) -> Value {
    let script = &vu.shared.script;
    let mut options = script.options().as_object().cloned().unwrap_or_default();
    let described = only_scenario(&mut options);
    let exported = options.get("scenarios").and_then(Value::as_object).filter(|all| !all.is_empty());
    let replaced = match &vu.scenario().shape {
        Some(shape) if exported.is_none_or(|all| !all.contains_key(&shape.name)) => {
            Some(json!({ shape.name.as_str(): of_shape(shape) }))
        }
        None if exported.is_none() => Some(json!({ "default": described })),
        _ => None,
    };
    if let Some(scenarios) = replaced {
        options.insert("scenarios".to_owned(), scenarios);
    }
    if !script.tags().is_empty() {
        options.insert("tags".to_owned(), json!(script.tags()));
    }
    Value::Object(options)
}

/// The scenario that options beside `scenarios` describe; they are taken.
fn only_scenario(options: &mut Map<String, Value>) -> Value {
    let mut take = |name: &str| options.remove(name).unwrap_or_default();
    let [vus, duration, iterations, stages] = ["vus", "duration", "iterations", "stages"].map(&mut take);
    if !iterations.is_null() {
        return json!({ "executor": "shared-iterations", "vus": vus, "iterations": iterations, "maxDuration": duration });
    }
    if !duration.is_null() {
        return json!({ "executor": "constant-vus", "vus": vus, "duration": duration });
    }
    if stages.as_array().is_some_and(|stages| !stages.is_empty()) {
        return json!({ "executor": "ramping-vus", "startVUs": vus, "stages": stages });
    }
    json!({ "executor": "per-vu-iterations" })
}

fn of_shape(shape: &ScenarioShape) -> Value {
    let executor = shape.executor_name();
    let text = |duration: &Duration| OptionDuration::from(*duration).to_string();
    match &shape.executor {
        Executor::SharedIterations { vus, iterations, max_duration }
        | Executor::PerVuIterations { vus, iterations, max_duration } => {
            let max_duration = text(max_duration);
            json!({ "executor": executor, "vus": vus, "iterations": iterations, "maxDuration": max_duration })
        }
        Executor::ConstantVus { vus, duration } => {
            json!({ "executor": executor, "vus": vus, "duration": text(duration) })
        }
        Executor::RampingVus { start_vus, stages, .. } => {
            let stage = |stage: &VuStage| json!({ "duration": text(&stage.over), "target": stage.to });
            let stages: Vec<Value> = stages.iter().map(stage).collect();
            json!({ "executor": executor, "startVUs": start_vus, "stages": stages })
        }
        // Only `scenarios` describes these.
        Executor::ConstantArrivalRate { .. } | Executor::RampingArrivalRate { .. } => {
            json!({ "executor": executor })
        }
    }
}
