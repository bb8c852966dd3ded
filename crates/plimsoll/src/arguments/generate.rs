//! The arguments of `plimsoll completions` and `plimsoll man`, which both render the definition of the command line.

use std::path::PathBuf;

use clap::{Args, Command, CommandFactory as _};
use clap_complete::Shell;

use super::{Arguments, USAGE};

pub(super) const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  plimsoll completions bash > ~/.local/share/bash-completion/completions/plimsoll
  plimsoll completions zsh > ~/.zfunc/_plimsoll
  plimsoll completions fish > ~/.config/fish/completions/plimsoll.fish";

pub(super) const MAN_EXAMPLES: &str = "\
Examples:
  plimsoll man | man -l -                         the page of the command
  plimsoll man run | man -l -                     the page of a verb
  plimsoll man plan | man -l -                    the page of a topic (`plimsoll help -h` lists them)
  plimsoll man --dir ~/.local/share/man/man1      every page as a file";

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// A verb, such as `run` or `selftest engine`, or a topic: plan, objectives, ci, script, terms, workers [default: `plimsoll` itself]
    pub(crate) verb: Vec<String>,
    /// Write every page to this folder instead, replacing those of an older version
    #[arg(long, value_name = "DIR", conflicts_with = "verb")]
    pub(crate) dir: Option<PathBuf>,
}

/// The definition of the command line, without verbs that are not typed.
pub(crate) fn command() -> Command {
    let mut whole = Arguments::command();
    whole = whole.disable_help_subcommand(true).mut_subcommands(|verb| verb.disable_help_subcommand(true));
    // Gives each verb its full name, `plimsoll-selftest-engine`.
    whole.build();
    let mut command = Command::new("plimsoll")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .override_usage(USAGE);
    if let (Some(about), Some(after_help)) = (whole.get_about(), whole.get_after_help()) {
        command = command.about(about.clone()).after_help(after_help.clone());
    }
    command.subcommands(whole.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned())
}
