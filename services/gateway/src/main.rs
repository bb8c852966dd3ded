//! The `gateway` command: `serve` accepts telemetry, `health` checks a serving process.

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use gateway::server;
use gateway::settings::{Settings, admin_address};
use kit::drain::Signals;
use kit::env::Env;
use kit::probe;

type Failure = Box<dyn std::error::Error>;

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

/// 0 on success, 1 when the checked process is not ready, 2 when the settings, a port, the journal or the sink cannot
/// be used.
fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Serve => run(),
        Command::Health => health(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let _stderr_closed = writeln!(std::io::stderr(), "gateway: {failure}");
            ExitCode::from(if failure.is::<probe::NotReady>() { 1 } else { 2 })
        }
    }
}

fn health() -> Result<(), Failure> {
    Ok(probe::ask(admin_address(&Env::of_process())?)?)
}

fn run() -> Result<(), Failure> {
    let env = Env::of_process();
    kit::logs::start(&env)?;
    #[cfg(feature = "faults")]
    kit::faults::start(&env, gateway::faults::FAULTS)?;
    let settings = Settings::read(&env)?;
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let threads = env.within("RUNTIME_THREADS", cores.min(4), 1..=64)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(usize::try_from(threads)?)
        .enable_all()
        .build()?;
    runtime.block_on(serve(&settings))
}

async fn serve(settings: &Settings) -> Result<(), Failure> {
    if settings.tokens.is_none() {
        tracing::warn!("AUTH_JWKS_URL is not set: every caller may do everything");
    }
    let mut signals = Signals::catch()?;
    let running = server::start(settings).await?;
    let signal = tokio::select! {
        signal = signals.first() => signal,
        () = running.ready() => {
            tracing::info!(addresses = %running.addresses, "ready");
            let mut out = std::io::stdout();
            writeln!(out, "ready {}", running.addresses)?;
            out.flush()?;
            signals.first().await
        }
    };
    tracing::info!(signal, "draining");
    running.stop().await;
    tracing::info!("stopped");
    Ok(())
}
