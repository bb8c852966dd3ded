//! `plimsoll completions`: what a shell reads to complete the command line.

use clap::builder::{PossibleValuesParser, StyledStr};
use clap::{Arg, Command, ValueHint};
use clap_complete::{Shell, aot};
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

/// The command line, in which the argument of `explain` is one of the rules.
fn with_rules(command: Command) -> Command {
    // Texts of clap's are static; the process ends after this one.
    let ids = judge::RULES.iter().map(|rule| &*rule.id.to_string().leak());
    let rules = PossibleValuesParser::new(ids);
    command.mut_subcommand("explain", |explain| explain.mut_arg("rule", |rule| rule.value_parser(rules)))
}

/// The command line, in which only options whose values are files offer files.
fn with_hints(command: Command) -> Command {
    let hinted = |argument: Arg| {
        let names: Vec<&str> =
            argument.get_value_names().into_iter().flatten().map(|name| name.as_str()).collect();
        let hint = match names.as_slice() {
            [.., "FILE"] => ValueHint::FilePath,
            [.., "DIR"] => ValueHint::DirPath,
            _ if argument.get_value_hint() != ValueHint::Unknown => return argument,
            _ => ValueHint::Other,
        };
        argument.value_hint(hint)
    };
    command.mut_args(hinted).mut_subcommands(with_hints)
}

/// What the names of files end with that a verb takes as its argument.
const FILES: [(&str, &[&str]); 10] = [
    ("run", &["toml", "js", "ts"]),
    ("check", &["toml"]),
    ("manifest", &["toml", "js", "ts"]),
    ("report", &["plimsoll"]),
    ("compare", &["plimsoll"]),
    ("export", &["plimsoll"]),
    ("leaks", &["plimsoll"]),
    ("ab", &["toml"]),
    ("capacity", &["toml"]),
    ("new", &["yaml", "yml", "json", "har"]),
];

/// The script of bash, in which a verb is followed by its files; what was made of the command line lists options there.
fn with_files(script: String) -> String {
    FILES.iter().fold(script, |script, (verb, endings)| {
        let case = format!("        plimsoll__subcmd__{verb})\n");
        let Some(at) = script.find(&case) else { return script };
        let Some(of_options) = script[at..].find("            if [[ ${cur} == -*").map(|found| at + found) else {
            return script;
        };
        let files: String =
            endings.iter().map(|ending| format!("; compgen -G \"${{cur}}*.{ending}\"")).collect();
        let files = format!(
            "            if [[ ${{cur}} != -* && ${{COMP_CWORD}} -eq 2 ]] ; then\n                local IFS=$'\\n'\n                \
             COMPREPLY=( $(compgen -d -- \"${{cur}}\"{files}) )\n                return 0\n            fi\n"
        );
        format!("{}{files}{}", &script[..of_options], &script[of_options..])
    })
}

pub(crate) fn completions(arguments: &CompletionsArguments) -> CommandResult<u8> {
    let mut script = Vec::new();
    let command = with_help(with_rules(with_hints(arguments::command())));
    aot::generate(arguments.shell, &mut command.clone(), "plimsoll", &mut script);
    let script = String::from_utf8(script).map_err(Failure::own)?;
    let script = if arguments.shell == Shell::Bash { with_files(script) } else { script };
    standard_output::print_document(&script)?;
    Ok(0)
}
