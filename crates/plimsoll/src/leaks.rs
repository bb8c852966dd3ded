//! `plimsoll leaks`: whether a target leaks memory, threads, descriptors or connections, from a run file or by watching
//! it.

use std::path::Path;

use anyhow::anyhow;
use archive::Stored;
use evidence::TerminalText;
use judge::leaks::{Leak, LeakAnswer};

use crate::arguments::LeaksArguments;
use crate::failure::{CommandResult, Failure};
use crate::judged::StoredRun;
use crate::received::Received;
use crate::run_file::Keep;
use crate::{integrity, outputs, watched};

/// A series leaks.
const LEAKING: u8 = 3;
/// Neither shown nor excluded.
const UNDECIDED: u8 = 4;

pub(crate) fn leaks(arguments: &LeaksArguments) -> CommandResult<u8> {
    let Some(length) = arguments.length else {
        let [file] = &arguments.subjects[..] else {
            return Err(Failure::usage(anyhow!("name one run file, or `--for 30m` and what to watch")));
        };
        let received = Received::at([Path::new(file)])?;
        received.reach().confine();
        return answer(received.read_one()?, arguments);
    };
    let keep = arguments.output.as_deref().map_or(Keep::Nothing, Keep::At);
    let subjects = watched::watched(&arguments.subjects, None)?;
    let file = watched::watch(subjects, Some(length), keep)?;
    answer(Stored::open(file.path()).map_err(Failure::usage)?, arguments)
}

/// The answer for a run file. Changed evidence shows and excludes nothing.
fn answer(run: Stored, arguments: &LeaksArguments) -> CommandResult<u8> {
    let StoredRun { run, workload, provenance } = StoredRun::of(run)?;
    let invalid = integrity::state(provenance, run.path())?;
    let answers = judge::leaks::of(&run, &workload, arguments.margin_of(&workload)).map_err(Failure::own)?;
    let Some(code) = invalid else { return print(&answers) };
    // That there are none may be the change.
    if !answers.is_empty() {
        print(&answers)?;
    }
    Ok(code)
}

fn print(answers: &[LeakAnswer]) -> CommandResult<u8> {
    if answers.is_empty() {
        let why = "nothing was observed that could show a leak: watch a process (`process = { port = … }` in the plan)";
        return Err(Failure::usage(anyhow!(why)));
    }
    let mut text = TerminalText::default();
    for LeakAnswer { series, answer, because } in answers {
        let label = series.label();
        let part = if label.is_empty() { label } else { format!(" ({label})") };
        text.line(format_args!("{:<12}  {} of {}{part}", answer.to_string(), series.name, series.target));
        text.line(format_args!("              {because}"));
    }
    if answers.iter().any(|answer| answer.answer == Leak::Undetermined) {
        text.line("M4 leak-claim: what is UNDETERMINED shows no leak and excludes none.");
    }
    outputs::print(&text)?;
    // The gravest comes first.
    Ok(match answers[0].answer {
        Leak::Leak => LEAKING,
        Leak::Growing | Leak::Undetermined => UNDECIDED,
        Leak::NoLeak => 0,
    })
}
