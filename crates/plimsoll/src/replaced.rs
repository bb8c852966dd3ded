//! Files that an option names to be written, and that hold what nobody can make again: evidence, plans, scripts, and whatever
//! else the command reads. They are looked at before anything is sent or written.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ::export::CSV_FILES;
use anyhow::anyhow;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use conduct::failure::{CommandResult, Failure};
use conduct::file_kind::{self, FileKind};

/// What an option writes: its name, what that is, and a usual name for the file.
const WRITTEN: [(&str, &str, &str); 14] = [
    ("html", REPORT, "report.html"),
    ("md", REPORT, "report.md"),
    ("json", REPORT, "report.json"),
    ("junit", REPORT, "report.xml"),
    ("card", "the card", "card.svg"),
    ("flame", "the flame graph", "flame.html"),
    ("chart", "the chart", "chart.svg"),
    ("openmetrics", "the export", "run.om"),
    ("hdr", "the export", "run.hlog"),
    ("csv", "a table", "tables"),
    ("summary-export", "the summary", "summary.json"),
    ("out", "a file of values", "json=values.json"),
    ("output", RUN_FILE, "run.plimsoll"),
    ("evidence", RUN_FILE, "run.plimsoll"),
];
const REPORT: &str = "a report";
const RUN_FILE: &str = "the run file";
const PLAN: &str = "the plan";

/// What names of reports end with: a report that shows a plan is not one.
const REPORT_ENDINGS: [&str; 6] = ["html", "htm", "md", "markdown", "json", "xml"];

/// A file that is to be written.
struct Output {
    option: String,
    what: &'static str,
    usual: &'static str,
    path: PathBuf,
}

/// Refuse a command line by which one file would replace an input, evidence, a plan or a script, or the other file that it asks for.
pub(crate) fn refuse(command: &Command, matches: &ArgMatches) -> CommandResult<()> {
    let Some((verb, matches)) = matches.subcommand() else { return Ok(()) };
    let Some(command) = command.find_subcommand(verb) else { return Ok(()) };
    let given = |argument: &Arg| -> Vec<PathBuf> {
        let values = matches.try_get_raw(argument.get_id().as_str()).ok().flatten();
        values.into_iter().flatten().map(PathBuf::from).collect()
    };
    let is_given =
        |argument: &Arg| matches.value_source(argument.get_id().as_str()) == Some(ValueSource::CommandLine);
    let (mut outputs, mut inputs) = (Vec::new(), Vec::new());
    for argument in command.get_arguments().filter(|argument| is_given(argument)) {
        match written(verb, argument) {
            Some((what, usual)) => outputs.extend(of_option(argument, what, usual, given(argument))),
            None => inputs.extend(given(argument).iter().flat_map(|value| named_by(value))),
        }
    }
    let inputs = with_what_they_name(inputs);
    for (index, output) in outputs.iter().enumerate() {
        let Some(place) = Place::of(&output.path) else { continue };
        if let Some(other) =
            outputs[..index].iter().find(|other| Place::of(&other.path) == Some(place.clone()))
        {
            return Err(same_file(other, output));
        }
        let is_input = inputs.iter().any(|input| Place::of(input) == Some(place.clone()));
        if let Some(held) = held(output, is_input) {
            return Err(output.refused(&held));
        }
    }
    Ok(())
}

/// What the option writes, if it writes a file; folders are looked at by the verbs.
fn written(verb: &str, argument: &Arg) -> Option<(&'static str, &'static str)> {
    let long = argument.get_long()?;
    let is_folder = argument.get_value_names().is_some_and(|names| names.iter().any(|name| name == "DIR"));
    let (_, what, usual) = WRITTEN.iter().find(|(option, ..)| *option == long)?;
    match (verb, long) {
        ("new", "output") => Some((PLAN, "plan.toml")),
        (_, "csv") => Some((what, usual)),
        _ => (!is_folder).then_some((what, usual)),
    }
}

/// The files that an option with these values writes.
fn of_option(argument: &Arg, what: &'static str, usual: &'static str, values: Vec<PathBuf>) -> Vec<Output> {
    let long = argument.get_long().unwrap_or_default();
    let option = argument.get_short().filter(|_| long == "output");
    let option = option.map_or(format!("--{long}"), |short| format!("-{short}"));
    let files = match long {
        // Its first value is the chart's name.
        "chart" => values.into_iter().skip(1).collect(),
        // Of a script; others send to a URL.
        "out" => values
            .iter()
            .filter_map(|value| value.to_str()?.split_once('='))
            .map(|(_, file)| file.into())
            .collect(),
        "csv" => values.iter().flat_map(|folder| CSV_FILES.map(|name| folder.join(name))).collect(),
        _ => values,
    };
    let files = files.into_iter().filter(|path| path != Path::new("-"));
    files.map(|path| Output { option: option.clone(), what, usual, path }).collect()
}

/// The files that a value may name: itself, after `@`, after `NAME=`.
fn named_by(value: &Path) -> Vec<PathBuf> {
    let text = value.to_string_lossy();
    let parts = [text.strip_prefix('@'), text.split_once('=').map(|(_, file)| file)];
    let parts = parts.into_iter().flatten().map(PathBuf::from);
    std::iter::once(value.to_owned()).chain(parts).filter(|path| path.is_file()).collect()
}

/// How much is read of a file that names others.
const MOST_BYTES: u64 = 1 << 20;

/// The inputs, with the files that plans and experiments among them name, and the files that scripts open or import.
fn with_what_they_name(mut inputs: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut at = 0;
    while let Some(input) = inputs.get(at) {
        let is_small = input.metadata().is_ok_and(|found| found.len() <= MOST_BYTES);
        let read = |kind| Some((kind, std::fs::read_to_string(input).ok()?));
        let found = file_kind::at(input).filter(|_| is_small).and_then(read);
        let folder = input.parent().unwrap_or(Path::new("")).to_owned();
        let named = found.map(|(kind, text)| quoted(kind, &text)).unwrap_or_default();
        for path in named.iter().map(|name| folder.join(name)).filter(|path| path.is_file()) {
            if !inputs.contains(&path) {
                inputs.push(path);
            }
        }
        at += 1;
    }
    inputs
}

/// The quoted texts of a plan or an experiment; of a script those that it opens or imports.
fn quoted(kind: FileKind, text: &str) -> Vec<String> {
    let is_read = |before: &str| match kind {
        FileKind::Plan | FileKind::Experiment | FileKind::Search => true,
        FileKind::Script => {
            ["open(", "from", "import", "require("].iter().any(|word| before.trim_end().ends_with(word))
        }
        _ => false,
    };
    let in_line = |line: &str| {
        let parts: Vec<&str> = line.split(['"', '\'']).collect();
        let pairs = parts.windows(2).filter(|pair| is_read(pair[0]) && !pair[1].is_empty());
        pairs.map(|pair| pair[1].to_owned()).collect::<Vec<_>>()
    };
    text.lines().flat_map(in_line).collect()
}

/// Where a file is or would be, by whatever path it is named.
#[derive(Clone, PartialEq, Eq)]
enum Place {
    /// A file that is there: its device and its number on it.
    Present(u64, u64),
    Absent(PathBuf),
}

impl Place {
    /// None of what is not a file, such as a pipe.
    fn of(path: &Path) -> Option<Place> {
        match path.metadata() {
            Ok(found) => found.is_file().then(|| Place::Present(found.dev(), found.ino())),
            Err(_) => {
                let folder = conduct::writable::folder(path).canonicalize().ok()?;
                Some(Place::Absent(folder.join(path.file_name()?)))
            }
        }
    }
}

/// What the file holds that must stay; none if it may be replaced.
fn held(output: &Output, is_input: bool) -> Option<String> {
    let kind = file_kind::at(&output.path);
    if is_input {
        let what = kind.map(|kind| kind.what(&output.path.display().to_string()));
        return Some(what.unwrap_or_else(|| "is an input of this command".to_owned()));
    }
    let ending = output.path.extension().and_then(OsStr::to_str);
    let is_report = ending.is_some_and(|ending| REPORT_ENDINGS.contains(&ending));
    let must_stay = match kind? {
        // `--force` is asked for to replace a run file by a run file, or a plan by a plan.
        FileKind::RunFile => output.what != RUN_FILE,
        FileKind::Plan | FileKind::Experiment | FileKind::Search => output.what != PLAN && !is_report,
        FileKind::Script => !is_report,
        _ => false,
    };
    must_stay.then(|| kind.map(|kind| kind.what(&output.path.display().to_string()))).flatten()
}

impl Output {
    fn refused(&self, held: &str) -> Failure {
        let Output { option, what, usual, path } = self;
        let takes = if option == "--csv" { "DIR` takes the folder" } else { "FILE` takes the file" };
        Failure::usage(anyhow!(
            "`{}` {held}, and {what} would replace it: `{option} {takes} to write, such as `{option} {usual}`",
            path.display()
        ))
    }
}

fn same_file(one: &Output, other: &Output) -> Failure {
    Failure::usage(anyhow!(
        "`{}` and `{}` name one file, `{}`, and one would replace the other: name two, such as `{} {}`",
        one.option,
        other.option,
        other.path.display(),
        other.option,
        other.usual
    ))
}
