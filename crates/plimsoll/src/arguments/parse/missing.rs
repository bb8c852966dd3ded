//! The next step after a command line that lacks something: an example, and the files that are here.

use std::error::Error as _;
use std::ffi::OsString;
use std::num::ParseIntError;

use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use conduct::file_kind::{self, FileKind};

use super::Arguments;

/// Verbs whose argument is a file of this kind.
const OF_FILES: [(&str, FileKind); 9] = [
    ("run", FileKind::Plan),
    ("check", FileKind::Plan),
    ("manifest", FileKind::Plan),
    ("report", FileKind::RunFile),
    ("compare", FileKind::RunFile),
    ("export", FileKind::RunFile),
    ("leaks", FileKind::RunFile),
    ("ab", FileKind::Experiment),
    ("capacity", FileKind::Search),
];

/// Options that take the file of a report.
const REPORTS: [&str; 4] = ["--html", "--md", "--json", "--junit"];

/// What to write instead of a second argument.
const SURPLUS: [(&str, &str); 6] = [
    ("ab", "An experiment is one file; run files are compared by `plimsoll compare BEFORE AFTER`"),
    (
        "http",
        "One URL is loaded; several are a list, with a line `GET URL` each: `plimsoll http --targets FILE`",
    ),
    ("run", "A run has one plan: run the second by a command of its own"),
    ("report", "A report is of one run file; `plimsoll compare FILE FILE` shows several beside each other"),
    ("worker", "A worker is told where to listen by an option: `plimsoll worker --listen 0.0.0.0:7400`"),
    ("check", "One plan is checked: check the second by a command of its own"),
];

/// Options of a load, each of which takes a value.
const OF_LOADS: [&str; 5] = ["-n", "-c", "-r", "-z", "-t"];

/// An option whose value was left out, so that the next one became it, and that.
fn without_value(arguments: &[OsString]) -> Option<(&str, &str)> {
    let is_option =
        |word: &str| word.starts_with('-') && word.chars().nth(1).is_some_and(char::is_alphabetic);
    let pairs = arguments.windows(2).filter_map(|pair| Some((pair[0].to_str()?, pair[1].to_str()?)));
    pairs.into_iter().find(|(option, next)| OF_LOADS.contains(option) && is_option(next))
}

/// What to write, where something is missing or one too many.
pub(super) fn next_step(arguments: &[OsString], error: &clap::Error) -> Option<String> {
    if let (ErrorKind::UnknownArgument, Some(ContextValue::String(word))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
    {
        let verb = arguments.get(1)?.to_str().filter(|_| !word.starts_with('-'))?;
        if let Some((option, next)) = without_value(arguments) {
            return Some(format!("`{option}` needs a value, and `{next}` follows it"));
        }
        return SURPLUS.iter().find(|(of, _)| *of == verb).map(|(_, next)| (*next).to_owned());
    }
    if let (Some(ContextValue::String(option)), Some(ContextValue::String(value))) =
        (error.get(ContextKind::InvalidArg), error.get(ContextKind::InvalidValue))
        && value.is_empty()
    {
        let form = REPORTS.iter().find(|form| option.starts_with(**form))?;
        return Some(format!("A file follows it, or `-` for standard output: `{form} -`"));
    }
    if error.source().is_some_and(|source| source.is::<ParseIntError>()) {
        return Some("A whole number is expected, such as 10".to_owned());
    }
    let is_missing = matches!(
        error.kind(),
        ErrorKind::MissingRequiredArgument | ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues
    );
    let verb = arguments.get(1)?.to_str().filter(|_| is_missing)?;
    let command = Arguments::command();
    let examples = command.find_subcommand(verb)?.get_after_help()?.to_string();
    let example = examples.lines().find_map(|line| line.strip_prefix("  plimsoll "))?;
    // What an example is about stands at a distance behind it.
    let example = example.split("   ").next().unwrap_or(example).trim_end();
    let kind = OF_FILES.iter().find(|(of, _)| *of == verb).map(|(_, kind)| *kind);
    let here = kind.and_then(file_kind::here).map(|files| format!("; this folder has {files}"));
    Some(format!("For example: `plimsoll {example}`{}", here.unwrap_or_default()))
}
