//! Reads the command line. What clap says about it quotes arguments: in their visible form, and without secrets.

mod missing;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::net::IpAddr;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _};
use conduct::screen;
use conduct::standard_output;
use evidence::visible;
use workload::redact::{REDACTED, shown_address};

use super::script::CHECK_FLAG;
use super::verbs::{SCRIPT_MANIFEST_VERB, SCRIPT_VERB};
use super::{Arguments, groups, other_tools, topics};
use crate::replaced;

/// A command line that cannot be used, after what is wrong was printed.
pub(crate) struct Unusable {
    /// The command line.
    pub(crate) words: Vec<OsString>,
    /// What is wrong.
    pub(crate) why: String,
    /// The exit code.
    pub(crate) code: u8,
}

/// The command line. Help is printed, and ends the process.
pub(crate) fn parse() -> Result<Arguments, Unusable> {
    let arguments = with_live_address(with_whole_curl(std::env::args_os().collect()));
    let given =
        with_run_file(with_flags_alone(with_script_verb(with_http_verb(with_known_topic(arguments)))));
    understood(&given).map_err(|(why, code)| Unusable { words: given, why, code })
}

/// `-o FILE.plimsoll` of a script is the name of the run file, as of a plan: no output of k6 has such a name.
fn with_run_file(mut arguments: Vec<OsString>) -> Vec<OsString> {
    if is_script_verb(&arguments) {
        for at in 1..arguments.len() {
            let is_run_file =
                Path::new(&arguments[at]).extension().is_some_and(|ending| ending == "plimsoll");
            if is_run_file && ["-o", "--out", "--output"].iter().any(|option| arguments[at - 1] == *option) {
                arguments[at - 1] = "--evidence".into();
            }
        }
    }
    arguments
}

/// The arguments; else what is wrong, which was printed, and the exit code.
fn understood(given: &[OsString]) -> Result<Arguments, (String, u8)> {
    let usage = if is_script_verb(given) { UNREADABLE_FLAGS } else { USAGE };
    let noted = |hint: String, code: u8| {
        hint.lines().for_each(|line| screen::note(format_args!("plimsoll: {line}")));
        Err((hint, code))
    };
    if given.len() < 2 {
        FIRST_COMMANDS.lines().for_each(screen::note);
        return Err((FIRST_COMMANDS.to_owned(), USAGE));
    }
    if let Some(hint) = refused(given) {
        return noted(hint, usage);
    }
    match asked_help(given) {
        // That standard output was closed is not a failure.
        Some(Ok(page)) => {
            let _ = standard_output::print_paged(&topics::laid_out(&page, standard_output::terminal()));
            std::process::exit(0);
        }
        Some(Err(unknown)) => return noted(unknown.to_string(), USAGE),
        None => {}
    }
    let error = match parsed(given.to_vec()) {
        Ok((arguments, matches)) => {
            if let Err(failure) = replaced::refuse(&Arguments::command(), &matches) {
                // That standard error was closed changes no exit code. No file is written that was named by mistake.
                let _ = screen::print(&failure.text());
                std::process::exit(failure.exit_code().into());
            }
            return Ok(arguments);
        }
        Err(error) => error,
    };
    if !error.use_stderr() {
        error.exit();
    }
    // The message quotes the arguments: it is printed as that of their visible forms, which are refused as well.
    let shown = given.iter().map(|argument| visible(&argument.to_string_lossy()).into_owned());
    match parsed(shown.map(OsString::from).collect()) {
        Err(error) => match misspelt_elsewhere(given, &error) {
            Some(hint) => noted(hint, usage),
            None => Err((explained(given, error), usage)),
        },
        Ok(_) => noted(error.kind().to_string(), USAGE),
    }
}

/// What clap says is wrong, after it was printed with the next step.
fn explained(given: &[OsString], error: clap::Error) -> String {
    let next = missing::next_step(given, &error);
    let is_answered = next.is_some() || error.kind() == ErrorKind::ValueValidation;
    let error = without_help_hint(without_secrets(without_hidden(error, given)));
    // That standard error was closed changes no exit code.
    let _ = error.print();
    if let Some(next) = next {
        screen::note(next);
    } else if !is_answered {
        screen::note("");
        screen::note(format_args!("For more information, try `plimsoll{} --help`.", verb_of(given)));
    }
    let text = error.to_string();
    text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

/// What is said where nothing is asked for.
const FIRST_COMMANDS: &str = "\
Usage: plimsoll URL [OPTIONS]
       plimsoll VERB [OPTIONS]

  plimsoll http://127.0.0.1:8000/       load a URL: 200 requests, 50 at a time
  plimsoll new http://127.0.0.1:8000/   write a plan to begin with
  plimsoll run plan.toml                offer the load of a plan or of a k6 script, and give a verdict
  plimsoll report run.plimsoll          report a run again, as text, HTML, Markdown, JSON or JUnit

`plimsoll --help` lists all verbs, `plimsoll VERB --help` their options; `plimsoll help plan` describes plans.";

fn parsed(given: Vec<OsString>) -> Result<(Arguments, ArgMatches), clap::Error> {
    let matches = groups::grouped(Arguments::command()).try_get_matches_from(given)?;
    Ok((Arguments::from_arg_matches(&matches)?, matches))
}

/// The page that `plimsoll help TOPIC` or `plimsoll help TOPIC SECTION` asks for; none of a verb.
fn asked_help(arguments: &[OsString]) -> Option<anyhow::Result<String>> {
    let [_, help, name, section @ ..] = arguments else { return None };
    let name = name.to_str().filter(|_| help == "help")?;
    let section: Vec<_> = section.iter().map(|word| word.to_string_lossy()).collect();
    let command = Arguments::command();
    let Some(verb) = command.find_subcommand(name) else {
        return Some(topics::help(name, &section.join(" ")));
    };
    let unknown = section.first().filter(|word| verb.find_subcommand(&***word).is_none())?;
    Some(Err(anyhow::anyhow!(
        "`{name}` has no verb `{}`: `plimsoll help {name}` lists its options",
        visible(unknown)
    )))
}

/// What to write for an option that is almost one of another tool.
fn misspelt_elsewhere(arguments: &[OsString], error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else { return None };
    let option = option.split('=').next().filter(|option| option.starts_with("--"))?;
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let verb = arguments.get(1)?.to_str()?;
    let command = Arguments::command();
    let known = command.find_subcommand(verb)?.get_arguments().filter_map(clap::Arg::get_long);
    let known: Vec<String> = known.map(|long| format!("--{long}")).collect();
    other_tools::of_similar_option(verb, option, known.iter().map(String::as_str))
}

/// The exit code of a command line that cannot be used.
const USAGE: u8 = 2;

/// What to write instead of a command line that means something else than its writer expects.
fn refused(arguments: &[OsString]) -> Option<String> {
    let verb = arguments.get(1)?.to_str()?;
    let path = Path::new(verb);
    let is_plan = path.extension().is_some_and(|ending| ending == "toml" || ending == "js" || ending == "ts");
    if is_plan && path.is_file() {
        return Some(format!("a plan or script is run by `plimsoll run {}`", visible(verb)));
    }
    let command = Arguments::command();
    if let Some(hint) = option_of_curl(arguments) {
        return Some(hint);
    }
    let is_known = verb == "help" || verb.starts_with('-') || command.find_subcommand(verb).is_some();
    let listed = command.get_subcommands().filter(|verb| !verb.is_hide_set()).map(clap::Command::get_name);
    if let Some(url) = divided_address(arguments).filter(|_| !is_known) {
        return Some(format!("host and port are one word: `plimsoll {}`", visible(&url)));
    }
    if is_known { other_tools::hint(arguments) } else { other_tools::unknown_verb(verb, listed) }
}

/// The URL of `HOST PORT`.
fn divided_address(arguments: &[OsString]) -> Option<String> {
    let [_, host, port, ..] = arguments else { return None };
    let (host, port) = (host.to_str()?, port.to_str()?);
    let is_host = host == "localhost" || host.parse::<IpAddr>().is_ok() || host.contains('.');
    let is_port = port.parse::<u16>().is_ok_and(|port| port > 0);
    (is_host && is_port && !Path::new(host).exists()).then(|| format!("http://{host}:{port}/"))
}

/// What the names of scripts end with.
const SCRIPT_ENDINGS: [&str; 11] = ["js", "mjs", "cjs", "tar", "ts", "mts", "cts", "jsx", "tsx", "es6", "es"];
/// The exit code of k6 for flags that cannot be read.
const UNREADABLE_FLAGS: u8 = 255;

/// A hint where an option of `new` is behind the command of curl, whose option it then is.
fn option_of_curl(arguments: &[OsString]) -> Option<String> {
    let is_new = arguments.get(1).is_some_and(|verb| verb == "new");
    let curl = arguments.iter().position(|word| word == "curl").filter(|_| is_new)?;
    let plan = arguments[curl..].windows(2).find(|pair| {
        ["-o", "--output"].iter().any(|option| pair[0] == *option)
            && Path::new(&pair[1]).extension().is_some_and(|ending| ending == "toml")
    })?;
    let name = plan[1].to_string_lossy();
    Some(format!("`-o` behind `curl` is an option of curl: `plimsoll new -o {} curl …`", visible(&name)))
}

/// The command line, in which `new curl …` has all that follows as words of the curl command.
fn with_whole_curl(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_new = arguments.get(1).is_some_and(|verb| verb == "new");
    let curl = arguments.iter().position(|word| word == "curl").filter(|_| is_new);
    if let Some(at) = curl.filter(|at| arguments[at - 1] != "--") {
        arguments.insert(at, "--".into());
    }
    arguments
}

/// The command line, in which `--live ADDR` is `--live=ADDR`. The value is optional, so only what is clearly an address is one.
fn with_live_address(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_address = |word: &OsString| {
        let word = word.to_string_lossy();
        let is_port = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
        let has_port = word.rsplit_once(':').is_some_and(|(host, port)| !host.contains('/') && is_port(port));
        word == "localhost" || is_port(&word) || has_port || word.parse::<IpAddr>().is_ok()
    };
    let at = arguments.windows(2).skip(1).position(|pair| pair[0] == "--live" && is_address(&pair[1]));
    // What may be the URL of the run itself stays that.
    let has_more = arguments.get(1).is_some_and(|verb| verb != "http" && verb != "--live");
    if let Some(at) = at.filter(|_| has_more).map(|at| at + 1) {
        let address = arguments.remove(at + 1);
        arguments[at].push("=");
        arguments[at].push(address);
    }
    arguments
}

/// Whether this is `HOST:PORT`, with a path or without.
fn is_address(word: &OsString) -> bool {
    let word = word.to_string_lossy();
    let authority = word.split(['/', '?']).next().unwrap_or_default();
    let parts = authority.rsplit_once(':').filter(|(host, _)| !host.is_empty() && !host.starts_with('-'));
    parts.is_some_and(|(_, port)| !port.is_empty() && port.chars().all(|c| c.is_ascii_digit()))
}

/// The command line, in which `help` with what the rules of the verb `explain` are called is that verb.
fn with_known_topic(arguments: Vec<OsString>) -> Vec<OsString> {
    match &arguments[..] {
        [program, help, name]
            if help == "help" && name.to_str().is_some_and(|name| topics::RULES.contains(&name)) =>
        {
            vec![program.clone(), "explain".into()]
        }
        _ => arguments,
    }
}

/// The command line, in which a URL without a verb is what `http` loads.
fn with_http_verb(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_url = |argument: &OsString| {
        let text = argument.to_string_lossy();
        text.starts_with("http://") || text.starts_with("https://")
    };
    let first = arguments.get(1).map(|first| first.to_string_lossy().into_owned()).unwrap_or_default();
    let has_address = match first.starts_with('-') {
        // Options before a URL, or before an address, which comes last.
        true => arguments.iter().any(is_url) || arguments.last().is_some_and(is_address),
        // No verb has a colon.
        false => first.contains(':'),
    };
    if has_address {
        arguments.insert(1, "http".into());
    }
    arguments
}

/// The command line, in which `run` and `check` with a script are a verb of their own.
fn with_script_verb(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let verb = match arguments.get(1).and_then(|verb| verb.to_str()) {
        Some("run" | "check") => SCRIPT_VERB,
        Some("manifest") if cfg!(feature = "scripts") => SCRIPT_MANIFEST_VERB,
        _ => return arguments,
    };
    let is_check = arguments[1] == "check";
    let has_script = arguments[2..].iter().any(|argument| is_script(Path::new(argument)));
    if has_script || (verb == SCRIPT_VERB && !is_check && is_standard_input(&arguments[2..])) {
        arguments[1] = verb.into();
        if is_check {
            arguments.insert(2, format!("--{CHECK_FLAG}").into());
        }
    }
    arguments
}

/// The command line, in which boolean flags of a script have no values.
#[cfg(feature = "scripts")]
fn with_flags_alone(arguments: Vec<OsString>) -> Vec<OsString> {
    let command = Arguments::command();
    match command.find_subcommand(SCRIPT_VERB).filter(|_| is_script_verb(&arguments)) {
        Some(command) => super::boolean_flags::without_values(arguments, command),
        None => arguments,
    }
}

#[cfg(not(feature = "scripts"))]
fn with_flags_alone(arguments: Vec<OsString>) -> Vec<OsString> {
    arguments
}

/// Whether this argument names a script: by its ending or, of a file without one, by what is in it.
pub(crate) fn is_script(argument: &Path) -> bool {
    if argument.to_string_lossy().starts_with('-') {
        return false;
    }
    match argument.extension().and_then(|ending| ending.to_str()) {
        Some(ending) => SCRIPT_ENDINGS.contains(&ending),
        // A device or a pipe may never end.
        None if argument.is_file() => {
            std::fs::read_to_string(argument).is_ok_and(|text| exports_something(&text))
        }
        None => false,
    }
}

/// Whether a text has a line that exports something from a module.
fn exports_something(text: &str) -> bool {
    let is_export =
        |line: &str| ["export ", "module.exports", "exports."].iter().any(|word| line.starts_with(word));
    text.lines().any(is_export)
}

/// Whether the script is standard input: `-` comes first, or last and not as the value of an option.
fn is_standard_input(arguments: &[OsString]) -> bool {
    match arguments {
        [first, ..] if first == "-" => true,
        [.., before, last] => last == "-" && !before.to_string_lossy().starts_with("--"),
        _ => false,
    }
}

fn is_script_verb(arguments: &[OsString]) -> bool {
    arguments.get(1).is_some_and(|verb| verb == SCRIPT_VERB)
}

/// The error about a verb, with suggestions of verbs as they are typed.
fn of_typed_verbs(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::Strings(names)) = error.get(ContextKind::SuggestedSubcommand) {
        let typed = |name: &String| match name.as_str() {
            SCRIPT_VERB => "run".to_owned(),
            SCRIPT_MANIFEST_VERB => "manifest".to_owned(),
            name => name.to_owned(),
        };
        let typed: BTreeSet<String> = names.iter().map(typed).collect();
        let typed = ContextValue::Strings(typed.into_iter().collect());
        error.insert(ContextKind::SuggestedSubcommand, typed);
    }
    error
}

/// The error, without the suggestion of an option that no help shows.
fn without_hidden(mut error: clap::Error, arguments: &[OsString]) -> clap::Error {
    let command = Arguments::command();
    let verb = arguments.get(1).and_then(|verb| command.find_subcommand(verb));
    let is_hidden = |name: &String| {
        let long = name.trim_start_matches('-').split([' ', '=']).next();
        let found = verb.and_then(|verb| verb.get_arguments().find(|argument| argument.get_long() == long));
        found.is_some_and(clap::Arg::is_hide_set)
    };
    if matches!(error.get(ContextKind::SuggestedArg), Some(ContextValue::String(name)) if is_hidden(name)) {
        error.remove(ContextKind::SuggestedArg);
    }
    error
}

/// The error, without the hint that `--help` says more: its own text says what to write.
fn without_help_hint(error: clap::Error) -> clap::Error {
    error.with_cmd(&clap::Command::new("plimsoll").disable_help_flag(true).disable_help_subcommand(true))
}

/// The verb of the command line after a blank, as it is typed, with the one below it; nothing where there is none.
fn verb_of(arguments: &[OsString]) -> String {
    let mut command = Arguments::command();
    let mut typed = String::new();
    for word in arguments.iter().skip(1).filter_map(|word| word.to_str()) {
        let Some(found) = command.find_subcommand(word) else { break };
        let shown = match word {
            SCRIPT_VERB => "run",
            SCRIPT_MANIFEST_VERB => "manifest",
            word => word,
        };
        typed = format!("{typed} {shown}");
        command = found.clone();
    }
    typed
}

/// The error about an argument, which quotes its value: an address may have a password, a header is one.
fn without_secrets(error: clap::Error) -> clap::Error {
    let mut error = of_typed_verbs(error);
    // It says how to pass an unknown option as a value, which nobody means.
    if error.kind() == ErrorKind::UnknownArgument {
        error.remove(ContextKind::Suggested);
    }
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let is_header = text(ContextKind::InvalidArg).is_some_and(|option| option.starts_with("--header"));
    let value = text(ContextKind::InvalidValue).map(|value| match is_header {
        true => REDACTED.to_owned(),
        false => shown_address(value),
    });
    // An argument that is one too many, such as a second URL.
    let surplus = text(ContextKind::InvalidArg).filter(|text| !text.starts_with('-')).map(shown_address);
    for (kind, shown) in [(ContextKind::InvalidValue, value), (ContextKind::InvalidArg, surplus)] {
        if let Some(shown) = shown {
            error.insert(kind, ContextValue::String(shown));
        }
    }
    error
}
