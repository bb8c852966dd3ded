//! `plimsoll`: finds the load a service may safely carry, and proves it.
//!
//! Each verb is one file. Start reading at [`run`], which lists the stations of a run. Errors end here:
//! exit code 1 for our own failures, 2 for input that cannot be used. 3 to 5 are verdicts; 3 is also a failed `--once`.

mod adhoc;
mod arguments;
mod check;
mod clock;
mod compare;
mod confine;
mod environment;
mod explain;
mod export;
mod failure;
mod grpc;
mod http;
mod import;
mod integrity;
mod judged;
mod leaks;
mod live;
mod manifest;
mod monitor;
mod once;
mod outputs;
mod plan;
mod prepare;
mod profile;
mod quick;
mod ready;
mod received;
mod recording;
mod reflection;
mod report;
mod run;
mod run_file;
mod run_request;
mod screen;
mod selftest;
mod signals;
mod watching;

use std::process::ExitCode;

use clap::Parser;
use clap::error::{ContextKind, ContextValue};
use workload::redact::{REDACTED, shown_address};

use arguments::{Arguments, SelftestPart, Verb};

fn main() -> ExitCode {
    let arguments = Arguments::try_parse().unwrap_or_else(|error| without_secrets(error).exit());
    let outcome = match arguments.verb {
        Verb::Run(arguments) => run::run(&arguments),
        Verb::Http(arguments) => http::http(&arguments),
        Verb::Grpc(arguments) => grpc::grpc(&arguments),
        Verb::Check(arguments) => check::check(&arguments),
        Verb::Report(arguments) => report::report(&arguments),
        Verb::Compare(arguments) => compare::compare(&arguments),
        Verb::Export(arguments) => export::export(&arguments),
        Verb::Profile(arguments) => profile::profile(&arguments),
        Verb::Import(arguments) => import::import(&arguments),
        Verb::Quick(arguments) => quick::quick(&arguments),
        Verb::Monitor(arguments) => monitor::monitor(&arguments),
        Verb::Leaks(arguments) => leaks::leaks(&arguments),
        Verb::Explain(arguments) => explain::explain(&arguments),
        Verb::Selftest(arguments) => match arguments.part {
            SelftestPart::Engine => selftest::selftest(&arguments),
        },
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            outputs::note(format_args!("plimsoll: {failure}"));
            ExitCode::from(failure.exit_code())
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
    let shown = text(ContextKind::InvalidValue).map(|value| match is_header {
        true => REDACTED.to_owned(),
        false => shown_address(value),
    });
    if let Some(shown) = shown {
        error.insert(ContextKind::InvalidValue, ContextValue::String(shown));
    }
    error
}
