//! Reads the command line. What clap says about it quotes arguments: in their visible form, and without secrets.

use clap::Parser as _;
use clap::error::{ContextKind, ContextValue};
use evidence::visible;
use workload::redact::{REDACTED, shown_address};

use super::Arguments;
use crate::screen;

/// The command line. Help, or what is wrong, is printed, and ends the process.
pub(crate) fn parse() -> Arguments {
    let error = match Arguments::try_parse() {
        Ok(arguments) => return arguments,
        Err(error) => error,
    };
    if !error.use_stderr() {
        error.exit();
    }
    // The message quotes the arguments: it is printed as that of their visible forms, which are refused as well.
    let shown = std::env::args_os().map(|argument| visible(&argument.to_string_lossy()).into_owned());
    match Arguments::try_parse_from(shown) {
        Err(error) => without_secrets(error).exit(),
        Ok(_) => {
            screen::note(format_args!("plimsoll: {}", error.kind()));
            std::process::exit(error.exit_code())
        }
    }
}

/// The error about an argument, which quotes its value: an address may have a password, a header is one.
fn without_secrets(mut error: clap::Error) -> clap::Error {
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
