//! The thresholds of a script as objectives of its workload.

use k6::{BUILTINS, Contains};
use workload::{MetricUnit, Objective};

use super::LoadedScript;

/// In the order of the options.
pub(super) fn of(loaded: &LoadedScript) -> Vec<Objective> {
    let own = loaded.script.metrics().iter().map(|(name, _, contains)| (name.as_str(), *contains));
    let all: Vec<(&str, Contains)> =
        BUILTINS.iter().map(|(name, _, contains)| (*name, *contains)).chain(own).collect();
    let unit_of = |name: &str| match all.iter().find(|(known, _)| *known == name) {
        Some((_, Contains::Time)) => MetricUnit::Milliseconds,
        Some((_, Contains::Data)) => MetricUnit::Bytes,
        Some((_, Contains::Default)) | None => MetricUnit::Number,
    };
    loaded.thresholds.iter().flat_map(|of| of.objectives(unit_of(&of.selector.name))).collect()
}
