//! `plimsoll check SCRIPT`: what a script would offer, and what of it is probably not meant. Its modules are evaluated; no function
//! of it is called, and nothing is sent.

use std::sync::Arc;

use conduct::failure::CommandResult;
use conduct::standard_output;
use conduct::workers::NotedFiles;
use evidence::{TerminalText, visible};
use judge::{ExpectedObservations, expected_observations};
use k6::LoadedScript;
use report::number::count;
use workload::Workload;
use workload::offer::offer;

use super::loading::{here, load, plan};
use super::log::ScriptLog;
use super::log_output::LogOutput;
use super::served::module_texts;
use super::{debug_lines, inputs, standard_input};
use crate::arguments::ScriptArguments;

pub(super) fn check(arguments: &ScriptArguments) -> CommandResult<u8> {
    let log = ScriptLog::start(debug_lines(arguments), LogOutput::to_stderr())?;
    let inputs = inputs::of(arguments)?;
    let noted = Arc::new(NotedFiles::over(standard_input::files(&arguments.script, &inputs.path)?));
    let loaded = load(inputs, here(noted.clone(), true, Vec::new()), &log.sink())?;
    let texts = module_texts(&loaded, &noted)?;
    drop(log);
    let mut text = TerminalText::default();
    text.quote("", &loaded.options.header().join("\n")).line("");
    let workload = plan(&loaded)?.workload;
    text.append(&offer(&workload).render());
    add_thresholds(&mut text, &loaded, &workload);
    for note in loaded.options.notes.iter().map(String::as_str) {
        text.line("").line(format_args!("note: {}", visible(note)));
    }
    for doubt in k6::doubts(&loaded, &texts) {
        text.line("").line(format_args!("warning: {}", visible(&doubt)));
    }
    standard_output::print(&text)?;
    Ok(0)
}

/// The thresholds, how many values each needs, and which can hardly have them.
fn add_thresholds(text: &mut TerminalText, loaded: &LoadedScript, workload: &Workload) {
    if loaded.thresholds.is_empty() {
        text.line("").line("no thresholds: the run will be measured, not judged");
        return;
    }
    text.line("").line("thresholds, with the values that a PASS needs if none is beyond its bound:");
    let objectives = expected_observations(workload);
    let of_name = |name: String| objectives.iter().find(|objective| objective.name == name);
    let width = loaded.thresholds.iter().map(|of| visible(&of.source).chars().count()).max().unwrap_or(0);
    for of in &loaded.thresholds {
        let name = visible(&of.source);
        for threshold in &of.thresholds {
            let objective = of_name(format!("{} {}", of.source, threshold.source));
            let needed = objective.map_or(String::new(), observations);
            let aborts = if threshold.abort_on_fail { ", ends the run if it fails" } else { "" };
            text.line(format_args!("  {name:<width$}  {}{needed}{aborts}", visible(&threshold.source)));
        }
    }
    for warning in objectives.iter().filter_map(few_iterations) {
        text.line("").line(warning);
    }
}

/// `, needs at least 295; 300 iterations begin`.
fn observations(objective: &ExpectedObservations) -> String {
    let needed =
        objective.needed.map_or(String::new(), |needed| format!(", needs at least {}", count(needed)));
    match objective.iterations {
        Some(iterations @ 1..) if !needed.is_empty() => {
            format!("{needed}; {} iterations begin", count(iterations))
        }
        _ => needed,
    }
}

/// That a threshold needs more values than iterations begin.
fn few_iterations(objective: &ExpectedObservations) -> Option<String> {
    let (needed, iterations) = (objective.needed?, objective.iterations?);
    (0 < iterations && iterations < needed).then(|| {
        let each = needed.div_ceil(iterations);
        format!(
            "warning: `{}` cannot pass unless an iteration makes {each} values or more: {} iterations begin, and a pass needs at least {} values, even if none misses its \
             bound; plan a longer run or more iterations",
            visible(&objective.name),
            count(iterations),
            count(needed)
        )
    })
}
