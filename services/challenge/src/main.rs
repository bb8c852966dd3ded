//! The `challenge` command: serves players and publishers, and checks and generates challenge files.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use challenge::catalog::{Catalog, CatalogSize, generate};
use challenge::identity::TestHeader;
use challenge::role::Role;
use challenge::server;
use challenge::settings::{Settings, admin_address};
use clap::{Parser, Subcommand};
use kit::drain::Signals;
use kit::env::Env;
use kit::probe;

type Failure = Box<dyn std::error::Error>;

#[derive(Parser)]
#[command(about = "Goals, progress and rewards over HTTP and gRPC", version)]
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

/// 0 on success, 1 when `health` found the process not ready, 2 when the input, the settings, a port or the database
/// cannot be used.
fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::All => run(Role::All),
        Command::Api => run(Role::Api),
        Command::Events => run(Role::Events),
        Command::Health => health(),
        Command::Check { file } => check(&file),
        Command::Config(Config::Generate { challenges, goals, default }) => {
            write_generated(CatalogSize { challenges, goals, defaults: default })
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let _stderr_closed = writeln!(std::io::stderr(), "challenge: {failure}");
            ExitCode::from(if failure.is::<probe::NotReady>() { 1 } else { 2 })
        }
    }
}

fn health() -> Result<(), Failure> {
    Ok(probe::ask(admin_address(&Env::of_process())?)?)
}

fn check(file: &std::path::Path) -> Result<(), Failure> {
    let catalog = Catalog::load(file)?;
    let (challenges, goals) = (catalog.challenges.len(), catalog.goals().count());
    let defaults = catalog.defaults().len();
    print_line(&format!(
        "{}: {challenges} challenges, {goals} goals, {defaults} assigned by default",
        file.display()
    ))
}

fn write_generated(size: CatalogSize) -> Result<(), Failure> {
    let all_goals = size.challenges * size.goals;
    if size.defaults > all_goals {
        return Err(format!("--default {} is more than the {all_goals} goals", size.defaults).into());
    }
    Ok(std::io::stdout().write_all(generate(size).as_bytes())?)
}

fn print_line(line: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

fn run(role: Role) -> Result<(), Failure> {
    let env = Env::of_process();
    kit::logs::start(&env)?;
    #[cfg(feature = "faults")]
    kit::faults::start(&env, challenge::faults::FAULTS)?;
    let settings = Settings::read(&env, role)?;
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let workers = env.within("WORKER_THREADS", cores.min(4), 1..=64)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(usize::try_from(workers)?)
        .enable_all()
        .build()?;
    runtime.block_on(serve(&settings, role))
}

async fn serve(settings: &Settings, role: Role) -> Result<(), Failure> {
    if settings.test_header == TestHeader::On {
        tracing::warn!(
            "TEST_IDENTITY_HEADER is on: every caller is the user that x-mock-user-id names; for tests only"
        );
    }
    let mut signals = Signals::catch()?;
    let running = server::start(settings, role).await?;
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
