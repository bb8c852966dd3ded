//! One source of options, and what is said about it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Options;
use super::error::{OptionsError, Source};
use super::fields::{FieldName, Fields};

/// Options that the script cannot set.
const NOT_OF_SCRIPTS: [&str; 4] = ["linger", "noUsageReport", "noThresholds", "localIPs"];

/// Whether an environment variable of this name sets an option.
pub fn is_option_variable(name: &str) -> bool {
    Options::VARIABLES.contains(&name)
}

/// The options of one source.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// Where they come from.
    pub source: Source,
    /// The options that it sets.
    pub options: Options,
    /// What the user should know about them, one sentence each.
    pub notes: Vec<String>,
}

impl Layer {
    /// The options of the configuration file. What is unknown in it belongs to other tools, as in k6.
    ///
    /// # Errors
    /// [`OptionsError`] when it is not JSON or a value cannot be used.
    pub fn of_config_file(text: &str) -> Result<Layer, OptionsError> {
        let value = serde_json::from_str(text).map_err(|error| OptionsError::NotJson(error.to_string()))?;
        Layer::of_json(Source::ConfigFile, &value)
    }

    /// The options that the script exports; `null` where it exports none.
    ///
    /// # Errors
    /// [`OptionsError`] when a value cannot be used.
    pub fn of_script(options: &Value) -> Result<Layer, OptionsError> {
        Layer::of_json(Source::Script, options)
    }

    fn of_json(source: Source, value: &Value) -> Result<Layer, OptionsError> {
        let mut layer = Layer { source, options: Options::default(), notes: Vec::new() };
        let entries = match value {
            Value::Null => return Ok(layer),
            Value::Object(entries) => entries,
            other => return Err(OptionsError::NotAnObject { origin: source, found: other.to_string() }),
        };
        for (key, value) in entries {
            let is_foreign = source == Source::Script && NOT_OF_SCRIPTS.contains(&key.as_str());
            let refused = |reason| OptionsError::Value { origin: source, option: key.clone(), reason };
            let name = if is_foreign {
                FieldName::Unknown
            } else {
                layer.options.set(key, value).map_err(refused)?
            };
            if name == FieldName::Unknown && source == Source::Script {
                layer.notes.push(format!("There is no option `{key}`; it has no effect"));
            }
        }
        layer.notes.extend(unknown_fields_of_stages(value));
        layer.notes.extend(notes_on_thresholds(value));
        Ok(layer)
    }

    /// The options of variables `K6_*`; a variable that is empty or unknown has no effect.
    ///
    /// # Errors
    /// [`OptionsError`] when a value cannot be used.
    pub fn of_environment(variables: &BTreeMap<String, String>) -> Result<Layer, OptionsError> {
        let mut options = Options::default();
        for name in Options::VARIABLES {
            let Some(text) = variables.get(*name).filter(|text| !text.is_empty()) else { continue };
            let refused = |reason| OptionsError::Value {
                origin: Source::Environment,
                option: (*name).to_owned(),
                reason,
            };
            options.set_variable(name, text).map_err(refused)?;
        }
        Ok(Layer { source: Source::Environment, options, notes: Vec::new() })
    }

    /// That each of its scenarios names its executor, which k6 finds before it looks at anything else.
    ///
    /// # Errors
    /// [`OptionsError::Problems`].
    pub fn require_executors(&self) -> Result<(), OptionsError> {
        let scenarios = self.options.scenarios.iter().flatten();
        match scenarios.filter(|(_, scenario)| scenario.executor.is_none()).map(|(name, _)| name).next() {
            None => Ok(()),
            Some(name) => {
                let problem = format!("scenario '{name}' doesn't have a specified executor type");
                Err(OptionsError::Problems(vec![problem]))
            }
        }
    }

    /// These options above those of lower layers. A load of this layer replaces a load of a lower one, whichever option
    /// each of them is described with.
    pub(super) fn above(self, lower: Options, notes: &mut Vec<String>) -> Options {
        notes.extend(self.notes);
        let mut options = self.options;
        // k6 leaves out stages without a duration here.
        if let Some(stages) = &mut options.stages {
            stages.retain(|stage| stage.duration.is_some());
        }
        let mut lower = lower;
        if options.has_load() {
            if lower.scenarios.is_some() {
                let level = self.source.level();
                notes
                    .push(format!("{level:?} level configuration overrode scenarios configuration entirely"));
            }
            (lower.duration, lower.iterations, lower.stages, lower.scenarios) = (None, None, None, None);
        }
        let lower_dns = lower.dns.take();
        options.dns = match (options.dns.take(), lower_dns) {
            (Some(dns), Some(lower)) => Some(dns.over(lower)),
            (dns, lower) => dns.or(lower),
        };
        options.over(lower)
    }
}

impl Options {
    fn has_load(&self) -> bool {
        self.duration.is_some()
            || self.iterations.is_some()
            || self.stages.is_some()
            || self.scenarios.is_some()
    }
}

/// An object in a list of an option, by its path.
struct ListItem<'a> {
    path: String,
    value: &'a Value,
}

fn items(path: String, list: Option<&Value>) -> impl Iterator<Item = ListItem<'_>> {
    let items = list.and_then(Value::as_array).into_iter().flatten().enumerate();
    items.map(move |(at, value)| ListItem { path: format!("{path}[{at}]"), value })
}

/// A note for each field of such an object that has no effect, since it has only the fields `known`, as `has` says.
fn unknown_fields(item: &ListItem<'_>, known: &[&str], has: &str) -> Vec<String> {
    let is_known = |key: &str| known.iter().any(|known| key.eq_ignore_ascii_case(known));
    let keys = item.value.as_object().into_iter().flat_map(|fields| fields.keys());
    keys.filter(|key| !is_known(key))
        .map(|key| format!("`{}` has no option `{key}`; it has no effect: {has}", item.path))
        .collect()
}

/// A note for each field of a stage that has no effect. k6 leaves out a stage without a duration, and so one of which the name is
/// misspelt.
fn unknown_fields_of_stages(options: &Value) -> Vec<String> {
    let scenarios = options.get("scenarios").and_then(Value::as_object);
    let scenarios =
        scenarios.into_iter().flatten().map(|(name, of)| (format!("scenarios.{name}.stages"), of));
    let lists = std::iter::once(("stages".to_owned(), options)).chain(scenarios);
    let stages = lists.flat_map(|(path, of)| items(path, of.get("stages")));
    stages
        .flat_map(|stage| {
            unknown_fields(&stage, &["duration", "target"], "a stage has `duration` and `target`")
        })
        .collect()
}

/// What of thresholds that are objects is probably not meant.
fn notes_on_thresholds(options: &Value) -> Vec<String> {
    let metrics = options.get("thresholds").and_then(Value::as_object).into_iter().flatten();
    let thresholds = metrics.flat_map(|(name, of)| items(format!("thresholds.{name}"), Some(of)));
    let notes = |threshold: ListItem<'_>| {
        let has = "a threshold has `threshold`, `abortOnFail` and `delayAbortEval`";
        let mut notes = unknown_fields(&threshold, &["threshold", "abortOnFail", "delayAbortEval"], has);
        let delay = threshold.value.get("delayAbortEval").and_then(Value::as_str);
        notes.extend(delay.filter(|text| text.parse::<f64>().is_ok_and(|ms| ms > 0.0)).map(|text| {
            format!(
                "`{}.delayAbortEval` is {text} ms, since `{text}` has no unit; did you mean `{text}s`?",
                threshold.path
            )
        }));
        notes
    };
    thresholds.flat_map(notes).collect()
}
