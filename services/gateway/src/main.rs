//! The `gateway` command: `serve` accepts telemetry, `health` checks a serving process.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use gateway::server;
use gateway::settings::{Settings, admin_address};
use kit::env::Env;
use kit::process::{self, Failure};

#[derive(Parser)]
#[command(about = "Accepts telemetry of devices and hands it on", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Accept telemetry; configured by the environment.
    Serve,
    /// Check whether the process that was started with the same environment is ready: exit code 0, or 1 with the
    /// reason.
    Health,
}

fn main() -> ExitCode {
    let env = Env::of_process();
    let outcome = match Arguments::parse().command {
        Command::Serve => serve(&env),
        Command::Health => process::health(admin_address(&env)),
    };
    process::exit("gateway", outcome)
}

fn serve(env: &Env) -> Result<(), Failure> {
    kit::logs::start(env)?;
    kit::profiling::start(env)?;
    #[cfg(feature = "faults")]
    kit::faults::start(env, gateway::faults::FAULTS)?;
    let settings = Settings::read(env)?;
    settings.exposure.warn();
    process::runtime(env, "RUNTIME_THREADS")?.block_on(process::serve(server::start(&settings)))
}
