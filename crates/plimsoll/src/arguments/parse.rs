//! Reads the command line. What clap says about it quotes arguments: in their visible form, and without secrets.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, FromArgMatches as _};
use conduct::screen;
use evidence::visible;
use workload::redact::{REDACTED, shown_address};

use super::{Arguments, groups, other_tools, topics};

/// The command line. Help, or what is wrong, is printed, and ends the process.
pub(crate) fn parse() -> Arguments {
    let given = || with_script_verb(with_http_verb(with_whole_curl(std::env::args_os().collect())));
    if let Some(hint) = refused(&given()) {
        screen::note(format_args!("plimsoll: {hint}"));
        std::process::exit(USAGE);
    }
    if let Some(page) = asked_topic(&given()) {
        // That standard output was closed is not a failure.
        let _ = screen::write_document(page);
        std::process::exit(0);
    }
    let error = match parsed(given()) {
        Ok(arguments) => return arguments,
        Err(error) => error,
    };
    if !error.use_stderr() {
        error.exit();
    }
    // The message quotes the arguments: it is printed as that of their visible forms, which are refused as well.
    let shown = given().into_iter().map(|argument| visible(&argument.to_string_lossy()).into_owned());
    match parsed(shown.map(OsString::from).collect()) {
        Err(error) if is_script_verb(&given()) => {
            // That standard error was closed changes no exit code.
            let _ = without_secrets(error).print();
            std::process::exit(UNREADABLE_FLAGS)
        }
        Err(error) => without_secrets(error).exit(),
        Ok(_) => {
            screen::note(format_args!("plimsoll: {}", error.kind()));
            std::process::exit(error.exit_code())
        }
    }
}

fn parsed(given: Vec<OsString>) -> Result<Arguments, clap::Error> {
    let matches = groups::grouped(Arguments::command()).try_get_matches_from(given)?;
    Arguments::from_arg_matches(&matches)
}

/// The page that `plimsoll help TOPIC` asks for.
fn asked_topic(arguments: &[OsString]) -> Option<&'static str> {
    match arguments {
        [_, help, name] if help == "help" => topics::topic(name.to_str()?),
        _ => None,
    }
}

/// The exit code of a command line that cannot be used.
const USAGE: i32 = 2;

/// What to write instead of a command line that means something else than its writer expects.
fn refused(arguments: &[OsString]) -> Option<String> {
    let verb = arguments.get(1)?.to_str()?;
    let path = Path::new(verb);
    let is_plan = path.extension().is_some_and(|ending| ending == "toml" || ending == "js" || ending == "ts");
    if is_plan && path.is_file() {
        return Some(format!("a plan or script is run by `plimsoll run {}`", visible(verb)));
    }
    let command = Arguments::command();
    let is_known = verb == "help" || verb.starts_with('-') || command.find_subcommand(verb).is_some();
    let listed = command.get_subcommands().filter(|verb| !verb.is_hide_set()).map(clap::Command::get_name);
    if is_known { other_tools::hint(arguments) } else { other_tools::unknown_verb(verb, listed) }
}

/// The verb that `run` is with a script: it has k6's flags.
pub(super) const SCRIPT_VERB: &str = "run-script";
/// The verb that `manifest` is with a script.
pub(super) const SCRIPT_MANIFEST_VERB: &str = "manifest-script";
/// What the names of scripts end with.
const SCRIPT_ENDINGS: [&str; 5] = ["js", "mjs", "cjs", "tar", "ts"];
/// The exit code of k6 for flags that cannot be read.
const UNREADABLE_FLAGS: i32 = 255;

/// The command line, in which `new curl …` has all that follows as words of the curl command.
fn with_whole_curl(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_new = arguments.get(1).is_some_and(|verb| verb == "new");
    let curl = arguments.iter().position(|word| word == "curl").filter(|_| is_new);
    if let Some(at) = curl.filter(|at| arguments[at - 1] != "--") {
        arguments.insert(at, "--".into());
    }
    arguments
}

/// The command line, in which a URL without a verb is what `http` loads.
fn with_http_verb(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_url = |argument: &OsString| {
        let text = argument.to_string_lossy();
        text.starts_with("http://") || text.starts_with("https://")
    };
    let first = arguments.get(1).map(|first| first.to_string_lossy().into_owned()).unwrap_or_default();
    let has_address = match first.starts_with('-') {
        // Options before a URL.
        true => arguments.iter().any(is_url),
        // No verb has a colon.
        false => first.contains(':'),
    };
    if has_address {
        arguments.insert(1, "http".into());
    }
    arguments
}

/// The command line, in which `run` with a script is a verb of its own.
fn with_script_verb(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let verb = match arguments.get(1).and_then(|verb| verb.to_str()) {
        Some("run") => SCRIPT_VERB,
        Some("manifest") if cfg!(feature = "scripts") => SCRIPT_MANIFEST_VERB,
        _ => return arguments,
    };
    let has_script = arguments[2..].iter().any(|argument| is_script(Path::new(argument)));
    if has_script || (verb == SCRIPT_VERB && is_standard_input(&arguments[2..])) {
        arguments[1] = verb.into();
    }
    arguments
}

/// Whether this argument names a script.
pub(crate) fn is_script(argument: &Path) -> bool {
    let ending = argument.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| SCRIPT_ENDINGS.contains(&ending))
        && !argument.to_string_lossy().starts_with('-')
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

/// The error about an argument, which quotes its value: an address may have a password, a header is one.
fn without_secrets(error: clap::Error) -> clap::Error {
    let mut error = of_typed_verbs(error);
    // It says how to pass an unknown option as a value, which nobody means.
    if error.kind() == clap::error::ErrorKind::UnknownArgument {
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
