//! A script, read by its command or by a worker, as a load that is offered.

use std::collections::BTreeMap;
use std::sync::Arc;

use conduct::failure::{CommandResult, Failure};
use conduct::screen;
use engine::iteration::Behaviour;
use k6::outputs::ValueTarget;
use k6::{LoadError, LoadedScript, LogSink, ReadingProcess, ScriptBehaviour, ScriptInputs, ScriptScenario};
use workload::{Files, LoadedPlan, Workload};

use super::command_line::refused;
use super::{policy, standard_input, threw, unusable};

/// A file of options that cannot be read, as k6 has it.
const UNUSABLE_CONFIG: u8 = 104;

/// This process, which offers the whole load, and reads these files.
pub(super) fn here(
    files: Arc<dyn Files + Send + Sync>,
    has_disk: bool,
    value_targets: Vec<ValueTarget>,
) -> ReadingProcess {
    let shared_arrays = BTreeMap::new();
    let standard_output = screen::write_document;
    ReadingProcess { files, has_disk, shared_arrays, loops: (1, 1), value_targets, standard_output }
}

/// Read a script and everything that says how it is run.
pub(super) fn load(
    inputs: ScriptInputs,
    process: ReadingProcess,
    log: &LogSink,
) -> CommandResult<LoadedScript> {
    k6::load(inputs, process, log).map_err(|error| match error {
        LoadError::Options(error) => unusable(error),
        LoadError::Script(error) => threw(&error),
        LoadError::Config { .. } => Failure::Script { code: UNUSABLE_CONFIG, error: error.into() },
        LoadError::Missing { .. } | LoadError::UnreadLock { .. } | LoadError::Lock { .. } => refused(error),
        LoadError::Values(error) => refused(error),
    })
}

/// What its virtual users do.
pub(super) fn behaviour(loaded: &LoadedScript, log: LogSink) -> CommandResult<Arc<dyn Behaviour>> {
    let scenarios = loaded.options.offered.iter().map(ScriptScenario::from).collect();
    let behaviour = ScriptBehaviour::new(loaded.script.clone(), scenarios, log);
    Ok(Arc::new(behaviour.map_err(|error| threw(&error))?))
}

/// The script as a workload without steps, in one phase unless a policy divides it.
pub(super) fn plan(loaded: &LoadedScript) -> CommandResult<LoadedPlan> {
    let inputs = &loaded.inputs;
    let stem = inputs.path.file_stem().filter(|stem| *stem != standard_input::STANDARD_INPUT);
    let name = stem.map_or_else(|| "script".into(), |stem| stem.to_string_lossy());
    let objectives = loaded.objectives();
    policy::applied(inputs, &*loaded.files, Workload { objectives, ..loaded.options.workload(&name) })
}
