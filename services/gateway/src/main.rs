//! The `gateway` command: `serve` accepts telemetry, `health` checks a serving process, `simulate` sends telemetry.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use gateway::server;
use gateway::settings::{Settings, admin_address, without_effect};
use gateway::simulate::{self, Options};
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
    /// Simulate devices that send to a gateway, some of them with faults, until Ctrl-C: something to look at.
    Simulate(SimulateArguments),
}

#[derive(clap::Args)]
struct SimulateArguments {
    /// The gateway.
    #[arg(long, default_value = "http://127.0.0.1:8080")]
    url: String,
    /// Number of devices: sim-001, sim-002 and so on.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    devices: u32,
    /// Milliseconds between two samples of a device.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(10..=3_600_000))]
    interval_ms: u64,
    /// Per cent of the devices that have a fault from time to time: invalid values (the device gets into Error), a value
    /// that is stuck, spikes of priority HIGH, silence, bursts of priority LOW.
    #[arg(long, default_value_t = 25, value_parser = clap::value_parser!(u32).range(0..=100))]
    faulty: u32,
    /// End after this many seconds; without it, at Ctrl-C.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    seconds: Option<u64>,
    /// Values and faults are a function of it.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A file with the bearer token of a service or an administrator, where the gateway verifies its callers. Only an
    /// administrator's devices are started and reset.
    #[arg(long)]
    token_file: Option<PathBuf>,
}

impl SimulateArguments {
    fn options(self) -> Options {
        Options {
            url: self.url,
            devices: self.devices,
            interval: Duration::from_millis(self.interval_ms),
            faulty_percent: self.faulty,
            length: self.seconds.map(Duration::from_secs),
            seed: self.seed,
            token: self.token_file,
        }
    }
}

fn main() -> ExitCode {
    let env = Env::of_process();
    let outcome = match Arguments::parse().command {
        Command::Serve => serve(&env),
        Command::Health => process::health(admin_address(&env)),
        Command::Simulate(arguments) => simulate(&env, arguments.options()),
    };
    process::exit("gateway", outcome)
}

fn serve(env: &Env) -> Result<(), Failure> {
    kit::logs::start(env)?;
    kit::profiling::start(env)?;
    #[cfg(feature = "faults")]
    kit::faults::start(env, gateway::faults::FAULTS)?;
    let settings = Settings::read(env)?;
    for line in without_effect(env) {
        tracing::warn!("{line}");
    }
    settings.exposure.warn();
    process::runtime(env, "RUNTIME_THREADS")?.block_on(process::serve(server::start(&settings)))
}

fn simulate(env: &Env, options: Options) -> Result<(), Failure> {
    process::runtime(env, "RUNTIME_THREADS")?.block_on(simulate::run(options))
}
