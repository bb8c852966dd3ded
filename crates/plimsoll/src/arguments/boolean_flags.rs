//! Boolean flags of scripts with a value, such as `--quiet=true`, as k6 takes them.

use std::ffi::OsString;

use clap::{ArgAction, Command};

/// As Go reads them.
const TRUE: [&str; 6] = ["1", "t", "T", "TRUE", "true", "True"];
const FALSE: [&str; 6] = ["0", "f", "F", "FALSE", "false", "False"];
/// The hidden option that names flags which are given as false: they come before the options of the script.
pub(super) const GIVEN_AS_FALSE: &str = "given-as-false";

/// The command line, in which flags of this command have no values. Other words, and values other than true and false, stay as they are.
pub(super) fn without_values(arguments: Vec<OsString>, command: &Command) -> Vec<OsString> {
    arguments.into_iter().map(|argument| without_value(argument, command)).collect()
}

fn without_value(argument: OsString, command: &Command) -> OsString {
    let text = argument.to_str().and_then(|text| text.strip_prefix("--"));
    let Some((name, value)) = text.and_then(|text| text.split_once('=')) else { return argument };
    let known = command.get_arguments().find(|known| known.get_long() == Some(name));
    if !known.is_some_and(|known| matches!(known.get_action(), ArgAction::SetTrue)) {
        return argument;
    }
    match value {
        value if TRUE.contains(&value) => format!("--{name}").into(),
        value if FALSE.contains(&value) => format!("--{GIVEN_AS_FALSE}={name}").into(),
        _ => argument,
    }
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;

    #[test]
    fn flags_lose_their_truth_values() {
        let flag = Arg::new("quiet").long("quiet").action(ArgAction::SetTrue);
        let command = Command::default().arg(flag).arg(Arg::new("tag").long("tag"));
        for (given, read) in [
            ("--quiet", "--quiet"),
            ("--quiet=true", "--quiet"),
            ("--quiet=1", "--quiet"),
            ("--quiet=F", "--given-as-false=quiet"),
            ("--quiet=yes", "--quiet=yes"),
            ("--tag=true", "--tag=true"),
            ("script.js", "script.js"),
        ] {
            assert_eq!(without_value(given.into(), &command), read, "{given}");
        }
    }
}
