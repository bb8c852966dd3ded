//! `plimsoll new`: writes a plan to begin with.

mod beneath;
mod source;
mod verified;

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, anyhow};
use conduct::failure::{CommandResult, Failure};
use conduct::plan::Disk;
use conduct::{screen, standard_output};
use draft::{Avoided, Draft};
use evidence::{TerminalText, visible};
use plans::{Overrides, load};
use workload::Files;

use crate::arguments::NewArguments;

pub(crate) fn new(arguments: &NewArguments) -> CommandResult<u8> {
    source::check(arguments)?;
    let is_stdout = arguments.output == Path::new("-");
    if !is_stdout && !arguments.force && arguments.output.exists() {
        return Err(exists(&arguments.output));
    }
    let (draft, outcome) = match arguments.verify {
        true => verified::drafted(arguments)?,
        false => (checked(source::drafted(arguments, &Avoided::default())?)?, verified::Outcome::Equal),
    };
    if is_stdout {
        screen::write_document(&draft.text).map_err(Failure::own)?;
    } else {
        write(&arguments.output, arguments.force, &draft.text)?;
        standard_output::print(&what_next(&draft, &arguments.output))?;
    }
    for file in &draft.files {
        screen::note(format_args!("plimsoll: note: the file {} is part of the plan now", visible(file)));
    }
    draft.notes.iter().for_each(|note| screen::note(format_args!("plimsoll: note: {}", visible(note))));
    Ok(verified::exit_code(outcome))
}

fn exists(path: &Path) -> Failure {
    Failure::usage(anyhow!(
        "{} is there already: name another file with -o, or replace it with --force",
        path.display()
    ))
}

/// The draft, and nothing else.
struct Drafted<'a>(&'a str);

impl Files for Drafted<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        if path == Path::new(PLAN) { Ok(self.0.as_bytes().to_vec()) } else { Disk.read(path) }
    }
}

/// The name of a draft that has not been written yet.
const PLAN: &str = "the drafted plan";

/// Check that the draft can be used, whatever the source has made of it, and that the plan sends what the source has and
/// nothing of the environment but what the draft names. Its variables need not be set yet.
fn checked(draft: Draft) -> CommandResult<Draft> {
    const CONTEXT: &str = "no plan can be made of this source";
    let any_value = |_: &str| Some("value".to_owned());
    let plan = load(Path::new(PLAN), &Drafted(&draft.text), &any_value, &Overrides::default());
    let plan = plan.context(CONTEXT).map_err(Failure::usage)?;
    draft.check(&plan.workload).map_err(|why| Failure::usage(anyhow!("{CONTEXT}: {why}")))?;
    Ok(draft)
}

fn write(path: &Path, force: bool, text: &str) -> CommandResult<()> {
    let mut options = OpenOptions::new();
    match force {
        true => options.write(true).create(true).truncate(true),
        // A file that came meanwhile is not replaced either.
        false => options.write(true).create_new(true),
    };
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    match written {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(exists(path)),
        other => {
            other.with_context(|| format!("{} cannot be written", path.display())).map_err(Failure::usage)
        }
    }
}

/// What was written, and the commands that follow.
fn what_next(draft: &Draft, path: &Path) -> TerminalText {
    let mut text = TerminalText::default();
    let path = path.display().to_string();
    let path = visible(&path);
    let steps = if draft.steps == 1 { "step" } else { "steps" };
    let commented = match draft.commented {
        0 => String::new(),
        commented => format!(", and {commented} more as comments"),
    };
    text.line(format_args!("{path}: {} {steps}{commented}", draft.steps)).line("");
    for variable in &draft.variables {
        text.line(format_args!("  export {}=…    {}", variable.name, visible(&variable.meaning)));
    }
    text.line(format_args!("  plimsoll check {path}         what it would offer; sends nothing"));
    text.line(format_args!("  plimsoll run {path} --once    each step once, every exchange shown"));
    text.line(format_args!("  plimsoll run {path}           the load, and a verdict"));
    text
}
