//! From layers to the load: options above each other, and the scenarios that follow.

use std::collections::BTreeMap;

use super::Options;
use super::check::problems;
use super::error::OptionsError;
use super::layer::Layer;
use super::part::InstancePart;
use super::scenario::{ExecutorKind, ScenarioOptions};
use super::segment::part_of;
use super::shape::ScenarioShape;
use super::thresholds::MetricSelector;

/// The name of the scenario that `duration`, `iterations` or `stages` describe, and of the one without options.
const DEFAULT_SCENARIO: &str = "default";

/// The options of a run, and its load.
#[derive(Debug, Clone, PartialEq)]
pub struct ConsolidatedOptions {
    /// The options of all layers.
    pub options: Options,
    /// The scenarios in order of their starts, then of their names; at least one.
    pub scenarios: Vec<ScenarioShape>,
    /// What this run offers of them: those of which it has virtual users.
    pub offered: Vec<ScenarioShape>,
    /// The part of the load that this run offers.
    pub part: InstancePart,
    /// What the user should know about the options, one sentence each.
    pub notes: Vec<String>,
}

/// Put layers above each other, and derive the load.
///
/// # Errors
/// [`OptionsError`] when options contradict each other or cannot be offered.
pub fn consolidate(layers: impl IntoIterator<Item = Layer>) -> Result<ConsolidatedOptions, OptionsError> {
    let mut layers: Vec<Layer> = layers.into_iter().collect();
    layers.sort_by_key(|layer| layer.source);
    let mut notes = Vec::new();
    let mut options = Options::default();
    for layer in layers {
        options = layer.above(options, &mut notes);
    }
    notes.extend(without_effect(&options));
    let part = part_of(&options)?;
    let described = scenarios_of(&options, &mut notes)?;
    check(&options, &described)?;
    let mut scenarios: Vec<_> =
        described.iter().filter_map(|(name, scenario)| ScenarioShape::from_options(name, scenario)).collect();
    scenarios.sort_by_key(|scenario| scenario.start);
    let offered: Vec<_> = scenarios.iter().filter_map(|scenario| scenario.part(&part)).collect();
    Ok(ConsolidatedOptions { options, scenarios, offered, part, notes })
}

impl ConsolidatedOptions {
    /// The scenarios of these names alone, without the thresholds on values of the others; all of them where no name is given. A
    /// name is one or several, separated by commas.
    ///
    /// # Errors
    /// [`OptionsError::Problems`] with each name that no scenario has.
    pub fn only(mut self, names: &[String]) -> Result<ConsolidatedOptions, OptionsError> {
        let wanted: Vec<&str> = names.iter().flat_map(|names| names.split(',')).map(str::trim).collect();
        if wanted.is_empty() {
            return Ok(self);
        }
        let all: Vec<String> = self.scenarios.iter().map(|scenario| scenario.name.clone()).collect();
        let unknown = wanted.iter().filter(|name| !all.iter().any(|known| known == *name));
        let unknown: Vec<_> =
            unknown.map(|name| format!("there is no scenario {name:?}; there {}", are(&all))).collect();
        if !unknown.is_empty() {
            return Err(OptionsError::Problems(unknown));
        }
        let is_wanted = |scenario: &ScenarioShape| wanted.contains(&scenario.name.as_str());
        self.scenarios.retain(is_wanted);
        self.offered.retain(is_wanted);
        let is_left_out = |threshold: &str| {
            let selector = MetricSelector::parse(threshold).ok();
            let scenario = selector.and_then(|selector| selector.tags.get("scenario").cloned());
            scenario.is_some_and(|name| all.contains(&name) && !wanted.contains(&name.as_str()))
        };
        if let Some(thresholds) = &mut self.options.thresholds {
            let left_out: Vec<String> = thresholds.keys().filter(|name| is_left_out(name)).cloned().collect();
            thresholds.retain(|name, _| !left_out.contains(name));
            let note = |name| format!("the threshold `{name}` is not judged: its scenario does not run");
            self.notes.extend(left_out.into_iter().map(note));
        }
        Ok(self)
    }

    /// One iteration of each scenario, by a virtual user of its own, all from the start, instead of the load.
    #[must_use]
    pub fn once(self) -> ConsolidatedOptions {
        let scenarios: Vec<_> = self.scenarios.into_iter().map(ScenarioShape::once).collect();
        ConsolidatedOptions { offered: scenarios.clone(), scenarios, ..self }
    }

    /// Check that this run has something to offer.
    ///
    /// # Errors
    /// [`OptionsError::Unsupported`] where its part of the load has no virtual user.
    pub fn check_part(&self) -> Result<(), OptionsError> {
        if !self.offered.is_empty() {
            return Ok(());
        }
        let reason = "no virtual user belongs to it; use more of them, or fewer parts";
        Err(OptionsError::Unsupported { option: "this executionSegment".to_owned(), reason })
    }

    /// Check that the script exports the functions of all scenarios.
    ///
    /// # Errors
    /// [`OptionsError::Problems`] with each that it does not export.
    pub fn check_functions(&self, is_exported: impl Fn(&str) -> bool) -> Result<(), OptionsError> {
        let missing = self.scenarios.iter().filter(|scenario| !is_exported(scenario.function()));
        let problem = |scenario: &ScenarioShape| {
            let (name, function) = (&scenario.name, scenario.function());
            let meant = match function {
                "default" => "; write `export default function () { … }`",
                _ => "",
            };
            format!("executor {name}: function '{function}' not found in exports{meant}")
        };
        match missing.map(problem).collect::<Vec<_>>() {
            none if none.is_empty() => Ok(()),
            problems => Err(OptionsError::Problems(problems)),
        }
    }
}

fn are(names: &[String]) -> String {
    match names {
        [one] => format!("is {one}"),
        all => format!("are {}", all.join(", ")),
    }
}

/// Options that are accepted and have no effect here.
fn without_effect(options: &Options) -> Vec<String> {
    let set = [
        (options.http_debug.is_some(), "httpDebug", "failed requests are kept in the run file"),
        (options.paused == Some(true), "paused", "the load begins at once"),
        (options.stay_after_run == Some(true), "linger", "the command ends with the run"),
    ];
    let said = set.into_iter().filter(|(is_set, ..)| *is_set);
    said.map(|(_, option, instead)| format!("`{option}` has no effect: {instead}")).collect()
}

/// The scenarios of the options, or the one that `iterations`, `duration` or `stages` describe.
fn scenarios_of(
    options: &Options,
    notes: &mut Vec<String>,
) -> Result<BTreeMap<String, ScenarioOptions>, OptionsError> {
    conflicts(options)?;
    let vus = Some(options.vus.unwrap_or(1));
    let blank = ScenarioOptions::default;
    let only = |scenario| Ok(BTreeMap::from([(DEFAULT_SCENARIO.to_owned(), scenario)]));
    if let Some(iterations) = options.iterations {
        let (executor, iterations) = (Some(ExecutorKind::SharedIterations), Some(iterations));
        return only(ScenarioOptions {
            executor,
            vus,
            iterations,
            max_duration: options.duration,
            ..blank()
        });
    }
    if let Some(duration) = options.duration {
        if duration.0 <= 0 {
            return Err(OptionsError::NoDuration);
        }
        let executor = Some(ExecutorKind::ConstantVus);
        return only(ScenarioOptions { executor, vus, duration: Some(duration), ..blank() });
    }
    if let Some(stages) = options.stages.clone().filter(|stages| !stages.is_empty()) {
        let (executor, start_vus) = (Some(ExecutorKind::RampingVus), options.vus);
        return only(ScenarioOptions { executor, start_vus, stages: Some(stages), ..blank() });
    }
    if let Some(scenarios) = options.scenarios.clone().filter(|scenarios| !scenarios.is_empty()) {
        return Ok(scenarios);
    }
    let empty = [(options.stages.is_some(), "stages"), (options.scenarios.is_some(), "scenarios")];
    for (_, option) in empty.into_iter().filter(|(is_empty, _)| *is_empty) {
        notes.push(format!(
            "`{option}` was explicitly set to an empty value, running the script with 1 iteration in 1 VU"
        ));
    }
    if let Some(vus) = options.vus.filter(|vus| *vus != 1) {
        notes.push(format!(
            "`vus={vus}` option will be ignored, it only works in conjunction with `iterations`, `duration`, or `stages`"
        ));
    }
    only(ScenarioOptions { executor: Some(ExecutorKind::PerVuIterations), ..blank() })
}

/// Check that no two options describe the load.
fn conflicts(options: &Options) -> Result<(), OptionsError> {
    let (duration, iterations) = (options.duration.is_some(), options.iterations.is_some());
    let stages = options.stages.as_ref().is_some_and(|stages| !stages.is_empty());
    let scenarios = options.scenarios.is_some();
    let pairs = [
        (iterations && stages, "iterations", "stages"),
        (iterations && scenarios, "iterations", "scenarios"),
        (duration && stages, "duration", "stages"),
        (duration && scenarios, "duration", "scenarios"),
        (stages && scenarios, "stages", "scenarios"),
    ];
    match pairs.into_iter().find(|(is_conflict, ..)| *is_conflict) {
        Some((_, first, second)) => Err(OptionsError::Conflict(first, second)),
        None => Ok(()),
    }
}

/// Check every scenario, and what is said of the run as a whole.
fn check(options: &Options, scenarios: &BTreeMap<String, ScenarioOptions>) -> Result<(), OptionsError> {
    let of_scenario = |(name, scenario): (&String, &ScenarioOptions)| {
        let found = problems(name, scenario);
        (!found.is_empty()).then(|| format!("scenario {name} has configuration errors: {}", found.join(", ")))
    };
    let timeout = options.setup_timeout.filter(|timeout| timeout.0 <= 0);
    let timeout = timeout.map(|_| "setupTimeout must be positive".to_owned());
    match scenarios.iter().filter_map(of_scenario).chain(timeout).collect::<Vec<_>>() {
        none if none.is_empty() => Ok(()),
        found => Err(OptionsError::Problems(found)),
    }
}
