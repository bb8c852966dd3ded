//! The `challenge` command: serves players and publishers, and checks and generates challenge files.

use std::path::PathBuf;
use std::process::ExitCode;

use challenge::catalog::{Catalog, CatalogSize, generate};
use challenge::identity::TestHeader;
use challenge::role::Role;
use challenge::server;
use challenge::settings::{Settings, admin_address, without_effect};
use clap::{Parser, Subcommand};
use kit::env::Env;
use kit::process::{self, Failure};

/// What `--version` prints after the name.
const VERSION: &str = match cfg!(feature = "full") {
    true => env!("CARGO_PKG_VERSION"),
    false => concat!(env!("CARGO_PKG_VERSION"), " (built without bearer tokens, PostgreSQL and TLS)"),
};

#[derive(Parser)]
#[command(about = "Goals, progress and rewards over HTTP and gRPC", version = VERSION)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve players and publishers in one process; configured by the environment.
    All,
    /// Serve players only: HTTP, gRPC and the admin port; requires PostgreSQL.
    Api,
    /// Serve publishers only: the event services and the admin port; requires PostgreSQL.
    Events,
    /// Check whether the process with the same environment is ready: exit code 0, or 1 with the reason.
    Health,
    /// Validate a challenge file and report every problem.
    Check {
        /// The file.
        file: PathBuf,
    },
    /// Commands for challenge files.
    #[command(subcommand)]
    Config(Config),
}

#[derive(Subcommand)]
enum Config {
    /// Print a challenge file of a given size.
    Generate {
        /// Number of challenges.
        #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=999))]
        challenges: u32,
        /// Number of goals in each challenge.
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=99))]
        goals: u32,
        /// Number of goals assigned by default, over the whole file.
        #[arg(long, default_value_t = 10)]
        default: u32,
    },
}

fn main() -> ExitCode {
    let env = Env::of_process();
    let outcome = match Arguments::parse().command {
        Command::All => serve(&env, Role::All),
        Command::Api => serve(&env, Role::Api),
        Command::Events => serve(&env, Role::Events),
        Command::Health => process::health(admin_address(&env)),
        Command::Check { file } => check(&file),
        Command::Config(Config::Generate { challenges, goals, default }) => {
            write_generated(CatalogSize { challenges, goals, defaults: default })
        }
    };
    process::exit("challenge", outcome)
}

fn check(file: &std::path::Path) -> Result<(), Failure> {
    let catalog = Catalog::load(file)?;
    let (challenges, goals) = (catalog.challenges.len(), catalog.goals().count());
    let defaults = catalog.defaults().len();
    let file = file.display();
    for warning in &catalog.warnings {
        process::print(&format!("{file}: warning: {warning}\n"))?;
    }
    process::print(&format!(
        "{file}: {challenges} challenges, {goals} goals, {defaults} assigned by default\n"
    ))
}

fn write_generated(size: CatalogSize) -> Result<(), Failure> {
    let all_goals = size.challenges * size.goals;
    if size.defaults > all_goals {
        return Err(format!("--default {} is more than the {all_goals} goals", size.defaults).into());
    }
    process::print(&generate(size))
}

fn serve(env: &Env, role: Role) -> Result<(), Failure> {
    kit::logs::start(env)?;
    kit::profiling::start(env)?;
    #[cfg(feature = "faults")]
    kit::faults::start(env, challenge::faults::FAULTS)?;
    let settings = Settings::read(env, role)?;
    for line in without_effect(env) {
        tracing::warn!("{line}");
    }
    settings.exposure.warn();
    if settings.test_header == TestHeader::On {
        tracing::warn!(
            "TEST_IDENTITY_HEADER is on: every caller is the user that x-mock-user-id names; for tests only"
        );
    }
    process::runtime(env, "WORKER_THREADS")?.block_on(process::serve(server::start(&settings, role)))
}
