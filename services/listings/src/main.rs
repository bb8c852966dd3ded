//! The `listings` command: one process that serves, and the chores around it.

use clap::{Parser, Subcommand};
use kit::drain::Signals;
use kit::env::Env;
use kit::metrics::Metrics;
use kit::probe;
use listings::seed::{self, Counts};
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
    /// Fill the store that the environment names with listings, the same every time; nobody else may use it meanwhile.
    Seed(Size),
    /// Print a table of which seeded listings people look at, a few often and most rarely.
    Popularity {
        #[command(flatten)]
        size: Size,
        /// Rows.
        #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        rows: u32,
    },
}

#[derive(clap::Args, Clone, Copy)]
struct Size {
    /// Listings in all.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    listings: u32,
    /// Storefronts that they are spread over.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    storefronts: u32,
}

impl Size {
    fn counts(self) -> Counts {
        Counts { listings: self.listings, storefronts: self.storefronts }
    }
}

/// 0 when all went well, 1 when the process that was asked after is not ready, 2 when the settings, a port or the
/// database cannot be used.
fn main() -> ExitCode {
    let env = Env::of_process().with_prefixes(&PREFIXES);
    let outcome = match Arguments::parse().command {
        Command::Serve => run(&env),
        Command::Health => health(&env),
        Command::Seed(size) => seed(&env, size.counts()),
        Command::Popularity { size, rows } => print(&seed::popularity(size.counts(), rows)),
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

fn print(text: &str) -> Result<(), Failure> {
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}

fn run(env: &Env) -> Result<(), Failure> {
    kit::logs::start(env)?;
    #[cfg(feature = "faults")]
    kit::faults::start(env, listings::faults::FAULTS)?;
    let settings = Settings::read(env)?;
    runtime(env)?.block_on(serve(&settings))
}

fn seed(env: &Env, counts: Counts) -> Result<(), Failure> {
    kit::logs::start(env)?;
    let settings = Settings::read(env)?;
    let settings = Settings { store: settings.store.in_order(), ..settings };
    runtime(env)?.block_on(async {
        let (store, _cache) = server::open(&settings, &Metrics::new("listings")).await?;
        seed::fill(&store, counts).await?;
        store.close().await;
        say(&format!("{} listings of {} storefronts", counts.listings, counts.storefronts))
    })
}

fn runtime(env: &Env) -> Result<tokio::runtime::Runtime, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let workers = env.within("WORKER_THREADS", cores.min(4), 1..=64)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(usize::try_from(workers)?)
        .enable_all()
        .build()?;
    Ok(runtime)
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
