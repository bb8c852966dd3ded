//! `plimsoll completions`: what a shell reads to complete the command line.

use clap::Command;
use clap::builder::StyledStr;
use clap_complete::aot;
use conduct::failure::{CommandResult, Failure};
use conduct::standard_output;

use crate::arguments::{self, CompletionsArguments};

/// The command line with `help`, whose words are the verbs and the topics.
fn with_help(command: Command) -> Command {
    let word = |name: &'static str, about: StyledStr| Command::new(name).about(about);
    let verbs = arguments::verbs().filter_map(|verb| {
        let about = command.find_subcommand(verb).filter(|verb| !verb.is_hide_set())?.get_about()?.clone();
        Some(word(verb, about))
    });
    let verbs: Vec<Command> = verbs.collect();
    let topics = arguments::TOPICS.map(|topic| word(topic, "A page of the documentation".into()));
    let help = word("help", "Help on a verb or a topic".into()).disable_help_subcommand(true);
    command.disable_help_subcommand(true).subcommand(help.subcommands(verbs).subcommands(topics))
}

pub(crate) fn completions(arguments: &CompletionsArguments) -> CommandResult<u8> {
    let mut script = Vec::new();
    aot::generate(arguments.shell, &mut with_help(arguments::command()), "plimsoll", &mut script);
    standard_output::print_document(&String::from_utf8(script).map_err(Failure::own)?)?;
    Ok(0)
}
