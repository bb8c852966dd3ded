//! The `listings` command: serving, and its maintenance commands.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use kit::env::Env;
use kit::metrics::Metrics;
use kit::process::{self, Failure};
use listings::seed::{self, SeedSize};
use listings::server;
use listings::settings::{PREFIXES, Settings, operators_address, without_effect};

#[derive(Parser)]
#[command(about = "Marketplace listings over gRPC and HTTP", version)]
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
    /// Bring the schema of the configured store to this version, while other processes serve; `serve` does it, too.
    Migrate,
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

fn main() -> ExitCode {
    let env = Env::of_process().with_prefixes(&PREFIXES);
    let outcome = match Arguments::parse().command {
        Command::Serve => serve(&env),
        Command::Health => process::health(operators_address(&env)),
        Command::Migrate => migrate(&env),
        Command::Seed(size) => seed(&env, size.seed_size()),
        Command::Popularity { size, rows } => process::print(&seed::popularity(size.seed_size(), rows)),
    };
    process::exit("listings", outcome)
}

fn serve(env: &Env) -> Result<(), Failure> {
    kit::logs::start(env)?;
    kit::profiling::start(env)?;
    #[cfg(feature = "faults")]
    kit::faults::start(env, listings::faults::FAULTS)?;
    let settings = Settings::read(env)?;
    for line in without_effect(env) {
        tracing::warn!("{line}");
    }
    settings.exposure.warn();
    if !settings.limits.is_on {
        tracing::warn!("RATE_LIMIT_ENABLED is false: calls are not limited");
    }
    runtime(env)?.block_on(process::serve(server::start(&settings)))
}

fn migrate(env: &Env) -> Result<(), Failure> {
    kit::logs::start(env)?;
    let settings = Settings::read(env)?;
    let settings = Settings { store: settings.store.with_one_writer(), redis: None, ..settings };
    runtime(env)?.block_on(async {
        let (store, _no_cache) = server::open(&settings, &Metrics::new("listings")).await?;
        store.close().await;
        process::print("the schema is that of this version\n")
    })
}

fn seed(env: &Env, size: SeedSize) -> Result<(), Failure> {
    kit::logs::start(env)?;
    let settings = Settings::read(env)?;
    let settings = Settings { store: settings.store.with_one_writer(), ..settings };
    runtime(env)?.block_on(async {
        let (store, _cache) = server::open(&settings, &Metrics::new("listings")).await?;
        seed::fill(&store, size).await?;
        store.close().await;
        process::print(&format!("{} listings of {} storefronts\n", size.listings, size.storefronts))
    })
}

fn runtime(env: &Env) -> Result<tokio::runtime::Runtime, Failure> {
    process::runtime(env, "WORKER_THREADS")
}
