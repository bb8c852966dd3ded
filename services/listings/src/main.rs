//! The `listings` command: one process that serves, and the chores around it.

use clap::{Parser, Subcommand};
use kit::drain::Signals;
use kit::env::Env;
use kit::probe;
use listings::server;
use listings::settings::{PREFIXES, Settings, http_address};
use std::io::Write;
use std::process::ExitCode;

type Failure = Box<dyn std::error::Error>;

#[derive(Parser)]
#[command(about = "Marketplace listings over gRPC", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve; configured by the environment.
    Serve,
    /// Ask the process that was started with the same environment whether it is ready: exit code 0, or 1 with the
    /// reason.
    Health,
}

/// 0 when all went well, 1 when the process that was asked after is not ready, 2 when the settings, a port or the
/// database cannot be used.
fn main() -> ExitCode {
    let env = Env::of_process().with_prefixes(&PREFIXES);
    let outcome = match Arguments::parse().command {
        Command::Serve => run(&env),
        Command::Health => health(&env),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let _nobody_reads = writeln!(std::io::stderr(), "listings: {failure}");
            ExitCode::from(if failure.is::<probe::NotReady>() { 1 } else { 2 })
        }
    }
}

fn health(env: &Env) -> Result<(), Failure> {
    Ok(probe::ask(http_address(env)?)?)
}

fn say(line: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

fn run(env: &Env) -> Result<(), Failure> {
    kit::logs::start(env)?;
    let settings = Settings::read(env)?;
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let workers = env.within("WORKER_THREADS", cores.min(4), 1..=64)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(usize::try_from(workers)?)
        .enable_all()
        .build()?;
    runtime.block_on(serve(&settings))
}

async fn serve(settings: &Settings) -> Result<(), Failure> {
    if settings.tokens.is_none() {
        tracing::warn!("AUTH_ENABLED is false: whoever calls is taken to be whom they say they are");
    }
    if !settings.limits.is_on {
        tracing::warn!("RATE_LIMIT_ENABLED is false: whoever calls may call as often as they like");
    }
    let mut signals = Signals::catch()?;
    let running = server::start(settings).await?;
    let signal = tokio::select! {
        signal = signals.first() => signal,
        () = running.ready() => {
            tracing::info!(addresses = %running.addresses, "ready");
            say(&format!("ready {}", running.addresses))?;
            signals.first().await
        }
    };
    tracing::info!(signal, "draining");
    running.stop().await;
    tracing::info!("stopped");
    Ok(())
}
