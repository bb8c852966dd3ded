//! `plimsoll`: offers a known load to a service, records what happens, and judges it.
//!
//! Each verb is one file. The stations of a run are in the crate `conduct`. Errors end here:
//! exit code 1 for our own failures, 2 for input that cannot be used. 3 to 5 are verdicts; 3 is also a failed `--once`.
#![cfg_attr(not(feature = "scripts"), allow(dead_code, reason = "only scripts use it"))]
#![cfg_attr(not(feature = "full"), allow(unused_imports, reason = "only verbs that are left out use them"))]

mod ab;
mod adhoc;
mod arguments;
mod calibrate;
mod capacity;
mod check;
mod compare;
#[cfg(feature = "full")]
mod completions;
mod diagnose;
mod explain;
mod export;
#[cfg(feature = "scripts")]
mod fetch_imports;
mod grpc;
mod health_service;
mod http;
#[cfg(feature = "full")]
mod import;
#[cfg(feature = "full")]
mod kubernetes;
mod leaks;
#[cfg(not(feature = "full"))]
mod lean;
mod literal_values;
mod login_rows;
#[cfg(feature = "full")]
mod man;
mod monitor;
mod name_service;
#[cfg(feature = "full")]
mod new;
mod not_run;
mod objective_warnings;
mod outputs;
mod picture;
mod profile;
mod quick;
mod replaced;
mod report;
mod run;
#[cfg(feature = "scripts")]
mod script;
#[cfg(not(feature = "scripts"))]
#[path = "without_scripts.rs"]
mod script;
mod selftest;
#[cfg(feature = "full")]
mod worker;

use std::process::ExitCode;

use arguments::{SelftestPart, Verb};
use conduct::screen;
#[cfg(not(feature = "full"))]
use lean::{completions, import, kubernetes, man, new, worker};
use not_run::ClaimedFiles;

/// For C as well: QuickJS and SQLite take their memory from it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    name_service::configure();
    let arguments = match arguments::parse() {
        Ok(arguments) => arguments,
        Err(unusable) => return ExitCode::from(not_run::end_unusable(&unusable)),
    };
    let claimed = ClaimedFiles::of(&arguments.verb);
    claimed.iter().for_each(ClaimedFiles::begin);
    let outcome = match arguments.verb {
        Verb::New(arguments) => new::new(&arguments),
        Verb::Run(arguments) => match arguments.kubernetes.kubernetes {
            Some(pods) => kubernetes::run(&arguments, pods),
            None => run::run(&arguments),
        },
        #[cfg(feature = "scripts")]
        Verb::Script(mut arguments) => match arguments.kubernetes.kubernetes {
            Some(pods) => kubernetes::run_script(&mut arguments, pods),
            None => script::script(*arguments),
        },
        #[cfg(not(feature = "scripts"))]
        Verb::Script(arguments) => script::script(*arguments),
        Verb::Http(arguments) => http::http(&arguments),
        Verb::Grpc(arguments) => grpc::grpc(&arguments),
        Verb::Worker(arguments) => worker::worker(&arguments),
        Verb::Manifest(arguments) => kubernetes::manifest(&arguments),
        #[cfg(feature = "scripts")]
        Verb::ManifestOfScript(mut arguments) => kubernetes::manifest_of_script(&mut arguments),
        Verb::Fetch(arguments) => kubernetes::fetch(&arguments),
        #[cfg(feature = "scripts")]
        Verb::FetchImports(arguments) => fetch_imports::fetch_imports(&arguments),
        Verb::Pod(part) => kubernetes::pod(&part),
        Verb::Check(arguments) => check::check(&arguments),
        Verb::Report(arguments) => report::report(&arguments.file, &arguments.objectives, &arguments.outputs),
        Verb::Compare(arguments) => compare::compare(&arguments),
        Verb::Ab(arguments) => ab::ab(&arguments),
        Verb::Capacity(arguments) => capacity::capacity(&arguments),
        Verb::Diagnose(arguments) => diagnose::diagnose(&arguments),
        Verb::Calibrate(arguments) => calibrate::calibrate(&arguments),
        Verb::Export(arguments) => export::export(&arguments),
        Verb::Profile(arguments) => profile::profile(&arguments),
        Verb::Import(arguments) => import::import(&arguments),
        Verb::Quick(arguments) => quick::quick(&arguments),
        Verb::Monitor(arguments) => monitor::monitor(&arguments),
        Verb::Leaks(arguments) => leaks::leaks(&arguments),
        Verb::Explain(arguments) => explain::explain(&arguments),
        Verb::Completions(arguments) => completions::completions(&arguments),
        Verb::Man(arguments) => man::man(&arguments),
        Verb::Selftest(SelftestPart::Engine(arguments)) => selftest::engine(&arguments),
        Verb::Selftest(SelftestPart::Verdicts(arguments)) => selftest::verdicts(&arguments),
        Verb::Selftest(SelftestPart::Experiments(arguments)) => selftest::experiments(&arguments),
    };
    let code = match &outcome {
        Ok(code) => *code,
        Err(failure) => {
            // That standard error was closed changes no exit code.
            let _ = screen::print(&failure.text());
            failure.exit_code()
        }
    };
    claimed.iter().for_each(|files| files.end(outcome.as_ref().err()));
    ExitCode::from(code)
}
