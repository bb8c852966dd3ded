//! `plimsoll man`: manual pages, rendered from the definition of the command line.

mod closing;
mod topic;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command as Process, ExitStatus, Stdio};

use anyhow::{Context as _, anyhow};
use clap::Command;
use clap_mangen::Man;
use conduct::failure::{CommandResult, Failure};
use conduct::screen::Stream;
use conduct::standard_output;
use evidence::visible;
use workload::nearest::nearest;

use crate::arguments::{self, ManArguments, TOPICS, called, topic};
use closing::closing;
use topic::topic_page;

const MANUAL: &str = "Plimsoll Manual";
const SOURCE: &str = concat!("plimsoll ", env!("CARGO_PKG_VERSION"));

pub(crate) fn man(arguments: &ManArguments) -> CommandResult<u8> {
    let mut command = arguments::command();
    command.build();
    match &arguments.dir {
        Some(folder) => {
            write_all(&command, folder).map_err(Failure::usage)?;
            TOPICS.iter().try_for_each(|name| write_topic(name, folder)).map_err(Failure::usage)?;
        }
        None => show(&asked_page(&command, &arguments.verb)?)?,
    }
    Ok(0)
}

/// Shows a page: by `man` on a terminal, where that is installed.
fn show(page: &str) -> CommandResult<()> {
    let is_shown = Stream::Output.is_terminal() && by_man(page).is_ok_and(|status| status.success());
    if is_shown { Ok(()) } else { standard_output::print_document(page) }
}

fn by_man(page: &str) -> std::io::Result<ExitStatus> {
    let mut man = Process::new("man").args(["-l", "-"]).stdin(Stdio::piped()).spawn()?;
    if let Some(mut input) = man.stdin.take() {
        // A reader may leave before the end of the page.
        let _ = input.write_all(page.as_bytes());
    }
    man.wait()
}

/// The page of a topic or of a verb.
fn asked_page(command: &Command, name: &[String]) -> CommandResult<String> {
    match name {
        [name] if name == command.get_name() => page(command).map_err(Failure::own),
        words => match called(&words.join("-")) {
            Some(topic) => Ok(page_of_topic(topic)),
            None => page(find(command, words)?).map_err(Failure::own),
        },
    }
}

fn find<'a>(command: &'a Command, verb: &[String]) -> CommandResult<&'a Command> {
    verb.iter().try_fold(command, |command, name| {
        command.find_subcommand(name).ok_or_else(|| {
            let verbs = command.get_subcommands().map(Command::get_name);
            let near = nearest(name, verbs.chain(TOPICS));
            let near = near.map_or_else(|| ":".to_owned(), |near| format!("; did you mean `{near}`?"));
            Failure::usage(anyhow!(
                "there is no verb or topic `{}`{near} `plimsoll --help` lists the verbs, `plimsoll help -h` the topics",
                visible(&verb.join(" "))
            ))
        })
    })
}

/// The text of a page, as the macros of `man` (groff).
fn page(command: &Command) -> anyhow::Result<String> {
    let mut text = Vec::new();
    // The renderer leaves out the texts of options that short help does not show.
    let command = &command.clone().mut_args(|argument| argument.hide_short_help(false));
    Man::new(command.clone()).source(SOURCE).manual(MANUAL).render(&mut text)?;
    Ok(with_closing(&with_synopsis(&String::from_utf8(text)?, command), command))
}

/// The page with examples and exit codes as sections whose lines stay as they are; the renderer's own fills them to paragraphs.
fn with_closing(page: &str, command: &Command) -> String {
    let after = command.get_after_long_help().or(command.get_after_help());
    let after = after.map(ToString::to_string).unwrap_or_default();
    let (before, rest) = page.split_once(".SH EXTRA\n").unwrap_or((page, ""));
    let rest = rest.find(".SH ").map_or("", |at| &rest[at..]);
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let others =
        std::iter::once("plimsoll".to_owned()).chain(TOPICS.map(|topic| format!("plimsoll-{topic}")));
    let see_also: Vec<String> = others.filter(|other| other != name).collect();
    format!("{before}{}{rest}", closing(&after, &see_also))
}

const SYNOPSIS: &str = ".SH SYNOPSIS\n";

/// The page with the usage of the command as its synopsis, as `--help` has it; the renderer's own lists options without values.
fn with_synopsis(page: &str, command: &Command) -> String {
    let Some((before, rest)) = page.split_once(SYNOPSIS) else { return page.to_owned() };
    let after = rest.find(".SH ").map_or("", |at| &rest[at..]);
    let usage = command.clone().render_usage().to_string();
    let lines = usage.trim_start_matches("Usage:").lines().map(|line| line.trim().replace('-', "\\-"));
    let lines = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n.br\n");
    format!("{before}{SYNOPSIS}{lines}\n{after}")
}

fn page_of_topic(name: &str) -> String {
    topic_page(name, topic(name).unwrap_or_default(), SOURCE, MANUAL)
}

fn write_topic(name: &str, folder: &Path) -> anyhow::Result<()> {
    let path = folder.join(format!("plimsoll-{name}.1"));
    fs::write(&path, page_of_topic(name)).with_context(|| format!("cannot write {}", path.display()))
}

/// Writes the page of `command` and those of its verbs.
fn write_all(command: &Command, folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let path = folder.join(format!("{name}.1"));
    fs::write(&path, page(command)?).with_context(|| format!("cannot write {}", path.display()))?;
    command.get_subcommands().try_for_each(|verb| write_all(verb, folder))
}
