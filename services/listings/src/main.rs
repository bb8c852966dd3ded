//! The `listings` command: serving, and its maintenance commands.

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use kit::drain::Signals;
use kit::env::Env;
use kit::metrics::Metrics;
use kit::probe;
use listings::seed::{self, SeedSize};
use listings::server;
use listings::settings::{PREFIXES, Settings, http_address};

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
    /// Ask the process that runs with the same environment whether it is ready: exit code 0, or 1 with the reason.
    Health,
    /// Fill the configured store with listings, the same every time; no other process may use it meanwhile.
    Seed(SizeArguments),
    /// Print a sample of the seeded listings with a skewed popularity (Zipf), as CSV.
    Popularity {
        #[command(flatten)]
        size: SizeArguments,
        /// Rows.
        #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        rows: u32,
    },
}

#[derive(clap::Args, Clone, Copy)]
struct SizeArguments {
    /// Number of listings.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    listings: u32,
    /// Number of storefronts; listings are spread over them evenly.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    storefronts: u32,
}

impl SizeArguments {
    fn seed_size(self) -> SeedSize {
        SeedSize { listings: self.listings, storefronts: self.storefronts }
    }
}

/// Exit codes: 0 for success, 1 when `health` finds the process not ready, 2 when the settings, a port or the database
/// cannot be used.
fn main() -> ExitCode {
    let env = Env::of_process().with_prefixes(&PREFIXES);
    let outcome = match Arguments::parse().command {
        Command::Serve => run(&env),
        Command::Health => health(&env),
        Command::Seed(size) => seed(&env, size.seed_size()),
        Command::Popularity { size, rows } => print(&seed::popularity(size.seed_size(), rows)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let _stderr_closed = writeln!(std::io::stderr(), "listings: {failure}");
            ExitCode::from(if failure.is::<probe::NotReady>() { 1 } else { 2 })
        }
    }
}

fn health(env: &Env) -> Result<(), Failure> {
    Ok(probe::ask(http_address(env)?)?)
}

fn print_line(line: &str) -> Result<(), Failure> {
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

fn seed(env: &Env, size: SeedSize) -> Result<(), Failure> {
    kit::logs::start(env)?;
    let settings = Settings::read(env)?;
    let settings = Settings { store: settings.store.with_one_writer(), ..settings };
    runtime(env)?.block_on(async {
        let (store, _cache) = server::open(&settings, &Metrics::new("listings")).await?;
        seed::fill(&store, size).await?;
        store.close().await;
        print_line(&format!("{} listings of {} storefronts", size.listings, size.storefronts))
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
        tracing::warn!(
            "AUTH_ENABLED is false: callers are not verified; the user id in a request is trusted"
        );
    }
    if !settings.limits.is_on {
        tracing::warn!("RATE_LIMIT_ENABLED is false: calls are not limited");
    }
    let mut signals = Signals::catch()?;
    let running = server::start(settings).await?;
    let signal = tokio::select! {
        signal = signals.first() => signal,
        () = running.ready() => {
            tracing::info!(addresses = %running.addresses, "ready");
            print_line(&format!("ready {}", running.addresses))?;
            signals.first().await
        }
    };
    tracing::info!(signal, "draining");
    running.stop().await;
    tracing::info!("stopped");
    Ok(())
}
