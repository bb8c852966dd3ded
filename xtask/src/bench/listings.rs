//! The listings service measured by Plimsoll, with the plans of `examples/listings` on a seeded marketplace: what a
//! CPU-second of the service is worth, and whether the promised rates are held. Nothing is asserted of a speed.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use peers::redis::Redis;

use super::challenge::options::Options;
use super::challenge::store::{Database, Kind, Store};
use super::row::{HEAD, Row};
use super::seen::Seen;
use super::table::{self, Table};
use super::{machine, say};
use crate::child::Running;
use crate::served::Served;
use crate::steps;
use crate::workspace::Workspace;

/// A plan, and what one CPU-second of the service is asked to do in it.
const PLANS: [(&str, Option<f64>); 4] =
    [("stats-flat-out", Some(20_000.0)), ("mix-flat-out", Some(10_000.0)), ("stats", None), ("mix", None)];

/// Measures what is asked for and prints it as Markdown.
///
/// # Errors
/// When an argument is not understood, or a measurement could not be carried out.
pub(super) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let options = Options::read(arguments)?;
    let known: Vec<&str> = PLANS.iter().map(|(plan, _)| *plan).collect();
    options.only.check(&known)?;
    let mut build = workspace.cargo();
    build.args(["build", "--package", "plimsoll", "--package", "listings", "--bins"]);
    build.args(workspace.profile());
    steps::run(build).context("cannot build the tool and the service")?;
    println!("{}", machine::describe(workspace, ("listings", arguments)).render());
    for &kind in &options.stores {
        let text = in_store(workspace, &options, kind)?;
        println!("{text}");
    }
    Ok(())
}

fn in_store(workspace: &Workspace, options: &Options, kind: Kind) -> Result<String> {
    let folder = workspace.scratch(&format!("bench-listings-{}", kind.word()))?;
    let store = Store::start(kind, folder.clone())?;
    let redis = match kind {
        Kind::Sqlite => None,
        Kind::Postgres => Some(Redis::start(&[]).context("cannot start Redis")?),
    };
    let mut database = store.database()?;
    database
        .environment
        .extend(redis.iter().map(|redis| ("REDIS_URL", format!("redis://{}", redis.address()))));
    steps::step(&format!("seed {}", kind.word()), || seed(workspace, &database))?;
    let mut table = Table { title: store.version()?, head: HEAD, ..Table::default() };
    let mut claims = Table { head: &["plan", "objective", "observed", "verdict"], ..Table::default() };
    for (plan, asked) in PLANS.into_iter().filter(|(plan, _)| options.only.wants(plan)) {
        let seen = steps::step(&format!("{plan} on {}", kind.word()), || {
            let service = serve(workspace, &folder, &database)?;
            let seen = offer(workspace, (&folder, options), (plan, &service, &store));
            service.stop()?;
            seen
        })?;
        table.rows.push(Row::of_run(plan, (&seen, "listings")).asked(asked).cells());
        for claim in seen.claims() {
            let observed = format!("{} {}", table::figure(claim.observed, 3), claim.unit.replace('1', ""));
            let row = [plan, &format!("`{}`", claim.text), observed.trim_end(), &claim.verdict];
            claims.rows.push(row.map(str::to_owned).to_vec());
        }
    }
    Ok(table.render() + &claims.render())
}

fn service(workspace: &Workspace, database: &Database) -> Command {
    let mut command = Command::new(workspace.binary("listings"));
    command.env("AUTH_ENABLED", "false").env("RATE_LIMIT_ENABLED", "false").env("LOG_LEVEL", "error");
    command.env("GRPC_PORT", "0").env("HTTP_PORT", "0");
    command.envs(database.environment.iter().map(|(name, value)| (name, value)));
    command
}

fn seed(workspace: &Workspace, database: &Database) -> Result<()> {
    let mut command = service(workspace, database);
    command.arg("seed").stdin(Stdio::null());
    say(&command);
    let status = command.status().context("cannot start the service")?;
    ensure!(status.success(), "listings seed ended with {status}");
    Ok(())
}

fn serve(workspace: &Workspace, folder: &Path, database: &Database) -> Result<Served> {
    let mut command = service(workspace, database);
    command.arg("serve");
    Served::start(command, folder.join("listings.log"))
}

fn offer(
    workspace: &Workspace,
    (folder, options): (&Path, &Options),
    (plan, service, store): (&str, &Served, &Store),
) -> Result<Seen> {
    let json = folder.join(format!("{plan}.json"));
    let mut command = Command::new(workspace.binary("plimsoll"));
    command.arg("run").arg(format!("examples/listings/{plan}.toml"));
    command.arg("--target").arg(format!("listings={}", service.address("grpc")?));
    command.args(["--time-scale", &options.time_scale().to_string(), "--quiet"]);
    command.arg("-o").arg(folder.join(format!("{plan}.plimsoll"))).arg("--json").arg(&json);
    command.current_dir(workspace.root()).stdin(Stdio::null()).stdout(Stdio::null());
    say(&command);
    let before = store.cpu_s()?;
    let status = Running::start("plimsoll", command)?.wait()?;
    let after = store.cpu_s()?;
    ensure!(matches!(status.code(), Some(0 | 3..=5)), "plimsoll run {plan} ended with {status}");
    let report = std::fs::read(&json).context("cannot read the report")?;
    let report = serde_json::from_slice(&report).context("the report is no JSON")?;
    Seen::new(report, before.zip(after).map(|(before, after)| after - before))
        .with_context(|| plan.to_owned())
}
