//! `plimsoll`: offers a known load to a service, records what happens, and judges it.
//!
//! Each verb is one file. Start reading at [`run`], which lists the stations of a run. Errors end here:
//! exit code 1 for our own failures, 2 for input that cannot be used. 3 to 5 are verdicts; 3 is also a failed `--once`.
#![cfg_attr(not(feature = "scripts"), allow(dead_code, reason = "only scripts use it"))]
#![cfg_attr(not(feature = "full"), allow(unused_imports, reason = "only verbs that are left out use them"))]

mod ab;
mod adhoc;
mod arguments;
mod calibrate;
mod capacity;
mod check;
mod clock;
mod compare;
#[cfg(feature = "full")]
mod completions;
mod confine;
mod decider;
mod environment;
mod experiment;
mod explain;
mod export;
mod failure;
mod file_kind;
mod generator;
mod grpc;
mod health_service;
mod http;
#[cfg(feature = "full")]
mod import;
mod integrity;
mod judged;
#[cfg(feature = "full")]
mod kubernetes;
mod leaks;
#[cfg(not(feature = "full"))]
mod lean;
mod live;
#[cfg(feature = "full")]
mod live_output;
mod load_source;
#[cfg(feature = "full")]
mod man;
mod manifest;
mod monitor;
mod name_service;
#[cfg(feature = "full")]
mod new;
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
mod reported;
mod run;
mod run_file;
mod run_request;
mod screen;
#[cfg(feature = "scripts")]
mod script;
#[cfg(not(feature = "scripts"))]
#[path = "without_scripts.rs"]
mod script;
mod selftest;
mod setup_watch;
mod signals;
mod stop_watch;
mod tick_readers;
mod too_few;
mod watched;
mod watching;
#[cfg(feature = "full")]
mod worker;
#[cfg(feature = "full")]
mod workers;
mod writable;

use std::process::ExitCode;

use arguments::{SelftestPart, Verb};
#[cfg(not(feature = "full"))]
use lean::{completions, import, kubernetes, live_output, man, new, worker, workers};

/// For C as well: QuickJS and SQLite take their memory from it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    name_service::configure();
    let outcome = match arguments::parse().verb {
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
        Verb::Pod(part) => kubernetes::pod(&part),
        Verb::Check(arguments) => check::check(&arguments),
        Verb::Report(arguments) => report::report(&arguments),
        Verb::Compare(arguments) => compare::compare(&arguments),
        Verb::Ab(arguments) => ab::ab(&arguments),
        Verb::Capacity(arguments) => capacity::capacity(&arguments),
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
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            // That standard error was closed changes no exit code.
            let _ = screen::print(&failure.text());
            ExitCode::from(failure.exit_code())
        }
    }
}
