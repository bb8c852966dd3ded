//! A script over workers: what is handed to them, what they make of it, and what they ask of the whole test.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use cluster::Session;
use conduct::failure::{CommandResult, Failure};
use conduct::workers::{ConnectedWorkers, HandOver, HandedJob, NotedFiles, Served};
use conduct::{reflection, screen};
use engine::Program;
use k6::{LoadedScript, ReadingProcess, Script, ScriptInputs, TestOutcome};

use super::loading::{behaviour, load, plan};
use super::log::{DebugLines, ScriptLog};
use super::log_output::LogOutput;

/// The endings of modules.
const MODULES: [&str; 6] = ["js", "mjs", "cjs", "ts", "mts", "cts"];
/// Before the name of a `SharedArray`, as the name of a file with its elements, one a line.
const SHARED_ARRAY: &str = "SharedArray ";

/// The text of the script and of each module that it read from a file.
pub(super) fn module_texts(loaded: &LoadedScript, noted: &NotedFiles) -> CommandResult<Vec<String>> {
    let is_module = |path: &str| {
        let ending = Path::new(path).extension().and_then(|ending| ending.to_str());
        Path::new(path) == loaded.inputs.path || ending.is_some_and(|ending| MODULES.contains(&ending))
    };
    let modules = noted.content()?.into_iter().filter(|(path, _)| is_module(path));
    Ok(modules.map(|(_, text)| String::from_utf8_lossy(&text).into_owned()).collect())
}

/// What workers need to read the same script; `policy` are the environment variables that its policy reads.
pub(super) fn hand_over(
    loaded: &LoadedScript,
    policy: &BTreeMap<String, String>,
    noted: &NotedFiles,
) -> CommandResult<HandOver> {
    let texts = module_texts(loaded, noted)?;
    let inputs = serde_json::to_value(loaded.inputs.for_workers(policy, &texts))
        .context("paths and variables of the script cannot be handed to workers");
    let mut hand_over = HandOver::new(HandedJob::Script(inputs.map_err(Failure::usage)?), noted)?;
    for (name, elements) in loaded.script.shared_arrays() {
        // JSON as it is made has no line breaks.
        let lines: String = elements.iter().flat_map(|element| [element, "\n"]).collect();
        hand_over.add(format!("{SHARED_ARRAY}{name}"), lines.into_bytes().into());
    }
    Ok(hand_over)
}

/// The workers, with what `setup` returned. What they ask of the test is asked of this script too.
pub(super) fn set_up(workers: ConnectedWorkers, loaded: &LoadedScript) -> ConnectedWorkers {
    let data = loaded.script.setup_data().map(|json| json.as_bytes().into());
    let script = loaded.script.clone();
    workers.set_up_with(data).with_outcome_reader(Box::new(move |outcome| {
        // A worker of this version says nothing else.
        let asked: TestOutcome = serde_json::from_value(outcome).unwrap_or_default();
        script.requests().ask_too(asked);
    }))
}

/// A script that a worker was handed.
struct ServedScript {
    script: Script,
    log: ScriptLog,
}

impl ServedScript {
    /// What it has asked of its test, for the coordinator. Its log is printed to its end.
    fn finish(self) -> serde_json::Value {
        drop(self.log);
        serde_json::to_value(self.script.requests().asked()).unwrap_or_default()
    }
}

/// The script of this job, as a worker offers it, and its program.
pub(crate) fn served(job: serde_json::Value, session: &mut Session) -> CommandResult<Served> {
    let inputs: ScriptInputs = serde_json::from_value(job).map_err(Failure::own)?;
    let mut shared_arrays = BTreeMap::new();
    for (name, content) in session.files.named(SHARED_ARRAY) {
        let lines = std::str::from_utf8(content).map_err(Failure::own)?.lines();
        shared_arrays.insert(name.to_owned(), lines.map(str::to_owned).collect());
    }
    let log = ScriptLog::start(DebugLines::LeftOut, LogOutput::to_stderr())?;
    let process = ReadingProcess {
        files: Arc::new(session.files.clone()),
        has_disk: false,
        shared_arrays,
        loops: (session.assignment.loops.into(), session.assignment.all_loops),
        value_targets: Vec::new(),
        standard_output: screen::write_document,
    };
    let loaded = load(inputs, process, &log.sink())?;
    let data = std::mem::take(&mut session.setup_variables).into_iter().next();
    let data = data.map(|json| String::from_utf8(json.to_vec())).transpose();
    loaded.script.was_set_up(data.map_err(Failure::own)?);
    let mut plan = plan(&loaded)?;
    reflection::describe(&mut plan)?;
    let program = Program::compile(plan).map_err(Failure::usage)?;
    let program =
        program.with_origin_rules(loaded.network.clone()).with_body_budget(loaded.script.budget().clone());
    let program = program.set_up_elsewhere(Vec::new(), std::mem::take(&mut session.setup_ticks));
    let program = program.ok_or_else(|| Failure::own(anyhow!("the setup of a script is not a plan's")))?;
    let behaviour = Some(behaviour(&loaded, log.sink())?);
    let script = ServedScript { script: loaded.script, log };
    Ok(Served { program: Arc::new(program), behaviour, finish: Box::new(|| script.finish()) })
}
