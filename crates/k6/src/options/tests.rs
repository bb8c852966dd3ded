//! Expected values are what k6 v1.8.1 shows for the same options: `k6 run`, `k6 inspect --execution-requirements`.

mod errors;
mod header;
mod precedence;
mod segments;
mod values;

use std::collections::BTreeMap;

use serde_json::Value;

use super::{ConsolidatedOptions, Flags, Layer, OptionsError, consolidate};

/// The options of a run of a script that exports these.
fn of_script(options: Value) -> Result<ConsolidatedOptions, OptionsError> {
    consolidate([Layer::of_script(&options)?])
}

/// The same with flags and `K6_*` variables.
fn of_all(
    options: Value,
    flags: Flags,
    variables: &[(&str, &str)],
) -> Result<ConsolidatedOptions, OptionsError> {
    let variables: BTreeMap<_, _> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    consolidate([flags.layer()?, Layer::of_environment(&variables)?, Layer::of_script(&options)?])
}

/// What the header says of the only scenario.
fn only(run: Result<ConsolidatedOptions, OptionsError>) -> String {
    let run = run.expect("the options are valid");
    let [scenario] = run.scenarios.as_slice() else { panic!("one scenario") };
    format!("{}: {}", scenario.name, run.described(scenario))
}
