//! A plan of curl commands, as one writes them and as browsers' "copy as cURL" gives them.

mod cmd;
mod command;
mod data;
mod files;
mod multipart;
mod options;
mod step;
mod words;

use std::collections::BTreeSet;

use workload::Files;

use crate::draft::Draft;
use crate::error::DraftError;
use crate::names::{step_name, target_name};
use crate::plan::{FlowDraft, PlanDraft, StepDraft, TargetDraft};
use crate::secrets::Variables;
use crate::url::split;
use crate::{MAX_STEPS, render};
use command::Command;
use files::Sources;

/// A plan of the commands in `text`, which was read from `name`; `files` reads those that `@FILE` names.
///
/// # Errors
/// [`DraftError`] for the first that cannot be read, with its line.
pub fn of_curl(name: &str, text: &str, files: &dyn Files) -> Result<Draft, DraftError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let wrong = |(line, problem): (usize, String)| DraftError::at(format!("{name}:{line}"), problem);
    let mut sources = Sources::new(files);
    let mut commands = Vec::new();
    for (line, words) in words::commands(text).map_err(wrong)? {
        let command = command::read(&words, &mut sources).map_err(|problem| wrong((line, problem)))?;
        commands.push((format!("{name}:{line}"), command));
    }
    plan(name, commands, sources.read)
}

/// The same of one command that a shell has already split into words, the first of them `curl`.
///
/// # Errors
/// [`DraftError`] if it cannot be read.
pub fn of_curl_words(words: &[String], files: &dyn Files) -> Result<Draft, DraftError> {
    let place = "the curl command";
    let mut sources = Sources::new(files);
    let command = command::read(words, &mut sources).map_err(|problem| DraftError::at(place, problem))?;
    plan(place, vec![(place.to_owned(), command)], sources.read)
}

fn plan(name: &str, commands: Vec<(String, Command)>, files: Vec<String>) -> Result<Draft, DraftError> {
    let mut writer = Writer::default();
    for (place, command) in commands {
        writer.keep_cookies(&command).map_err(|problem| DraftError::at(&place, problem))?;
        for (number, url) in command.urls.iter().enumerate() {
            if writer.steps.len() == MAX_STEPS {
                return Err(DraftError::at(
                    place,
                    format!("is beyond the {MAX_STEPS} requests that a draft may have"),
                ));
            }
            writer.add(url, &command).map_err(|problem| DraftError::at(&place, problem))?;
            if number > 0 && writer.repeats_too_much() {
                let problem = "repeats more than 1 MiB of headers and bodies for its URLs: write fewer URLs";
                return Err(DraftError::at(place, problem));
            }
        }
    }
    if writer.steps.is_empty() {
        return Err(DraftError::at(name, "has no curl command"));
    }
    Ok(render::draft(PlanDraft {
        source: name.to_owned(),
        targets: writer.targets,
        scenario: "session",
        flow: FlowDraft::Sequence,
        setup: Vec::new(),
        steps: writer.steps,
        variables: writer.variables,
        files,
        notes: Vec::new(),
    }))
}

/// Makes steps of commands.
#[derive(Default)]
struct Writer {
    targets: Vec<TargetDraft>,
    target_names: BTreeSet<String>,
    step_names: BTreeSet<String>,
    steps: Vec<StepDraft>,
    variables: Variables,
    /// The files into which commands so far have written cookies.
    jars: BTreeSet<String>,
    /// The bytes of headers and bodies that further URLs of commands repeat.
    repeated: usize,
}

/// The most bytes of headers and bodies that are repeated: a command of many URLs is as large as their number times its own
/// size.
const MAX_REPEATED: usize = 1 << 20;
/// What a header takes besides its text.
const HEADER_BYTES: usize = 64;

impl Writer {
    /// Cookies that a command reads must be those that one before it was sent. An empty name is not a file.
    fn keep_cookies(&mut self, command: &Command) -> Result<(), String> {
        let is_known = |file: &String| {
            file.is_empty() || self.jars.contains(file) || command.cookie_jar.as_ref() == Some(file)
        };
        if let Some(file) = command.cookie_files.iter().find(|file| !is_known(file)) {
            return Err(format!(
                "the cookies are in the file {file}, which no command before it writes with `-c`: write `-b 'NAME=VALUE'`"
            ));
        }
        self.jars.extend(command.cookie_jar.clone());
        Ok(())
    }

    /// Count the last step, which repeats what its command has.
    fn repeats_too_much(&mut self) -> bool {
        let Some(step) = self.steps.last() else { return false };
        let headers =
            step.headers.iter().map(|(name, value)| name.len() + value.source().len() + HEADER_BYTES);
        self.repeated += headers.sum::<usize>() + step.body.text().source().len();
        self.repeated > MAX_REPEATED
    }

    fn add(&mut self, url: &str, command: &Command) -> Result<(), String> {
        let url = split(url)?;
        let keys = command.target_keys();
        // Equal origins with other connections are other targets.
        let known = self.targets.iter().position(|target| target.url == url.origin && target.keys == keys);
        let target = known.unwrap_or_else(|| {
            let name = target_name(&url.host, &mut self.target_names);
            self.targets.push(TargetDraft { name, url: url.origin.clone(), keys });
            self.targets.len() - 1
        });
        let mut step = command.step(&url, target, &mut self.variables);
        let shown = url.path.split('?').next().unwrap_or_default();
        step.name = step_name(&format!("{} {shown}", step.method), &mut self.step_names);
        self.steps.push(step);
        Ok(())
    }
}
