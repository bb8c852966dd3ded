//! A seeded marketplace in one store, listings services on it, and runs of Plimsoll's plans against them.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result, ensure};
use peers::redis::Redis;

use crate::bench::challenge::options::Options;
use crate::bench::challenge::store::{Database, Store, StoreKind};
use crate::bench::run_report::RunReport;
use crate::bench::{print_command, proc};
use crate::steps;
use xtask::child::Running;
use xtask::service_process::ServiceProcess;
use xtask::workspace::Workspace;

/// What every measurement in one store needs.
pub(super) struct BenchContext<'a> {
    workspace: &'a Workspace,
    pub(super) options: &'a Options,
    folder: PathBuf,
    store: Store,
    database: Database,
    redis: Option<Redis>,
    /// A number for the file names of each run.
    count: AtomicU32,
}

/// A plan, with the factors for its time and its rates.
#[derive(Clone, Copy)]
pub(super) struct Load {
    /// Its name in `examples/listings`.
    pub(super) plan: &'static str,
    pub(super) time_scale: f64,
    pub(super) load: f64,
}

/// The report of a run, and what no plan observes.
pub(super) struct LoadResult {
    pub(super) report: RunReport,
    /// CPU-seconds of Redis while it ran; none without Redis.
    redis_cpu_s: Option<f64>,
}

impl<'a> BenchContext<'a> {
    /// Starts what the store needs, and fills it.
    ///
    /// # Errors
    /// When a server does not start, or the seed fails.
    pub(super) fn new(workspace: &'a Workspace, options: &'a Options, kind: StoreKind) -> Result<Self> {
        let folder = workspace.scratch(&format!("bench-listings-{}", kind.name()))?;
        let store = Store::start(kind, folder.clone())?;
        let redis = match kind {
            StoreKind::Sqlite => None,
            StoreKind::Postgres => Some(Redis::start(&[]).context("cannot start Redis")?),
        };
        let mut database = store.database()?;
        let address = redis.iter().map(|redis| ("REDIS_URL", format!("redis://{}", redis.address())));
        database.environment.extend(address);
        let context = Self { workspace, options, folder, store, database, redis, count: AtomicU32::new(1) };
        steps::step(&format!("seed {}", kind.name()), || context.seed())?;
        Ok(context)
    }

    /// The stores, with their versions.
    ///
    /// # Errors
    /// When the database does not answer.
    pub(super) fn stores(&self) -> Result<String> {
        let cache = if self.redis.is_some() {
            "responses cached in Redis"
        } else {
            "responses cached in the service"
        };
        Ok(format!("{}; {cache}", self.store.version()?))
    }

    fn service(&self) -> Command {
        let mut command = Command::new(self.workspace.binary("listings"));
        command.env("AUTH_ENABLED", "false").env("RATE_LIMIT_ENABLED", "false").env("LOG_LEVEL", "error");
        command.env("GRPC_PORT", "0").env("HTTP_PORT", "0");
        command.envs(self.database.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    fn seed(&self) -> Result<()> {
        let mut command = self.service();
        command.arg("seed").stdin(Stdio::null());
        print_command(&command);
        let status = command.status().context("cannot start the service")?;
        ensure!(status.success(), "listings seed ended with {status}");
        self.store.vacuum(&self.database)
    }

    /// Runs a plan against a service of its own.
    ///
    /// # Errors
    /// When the run did not complete or its counts do not add up; bad figures are no error.
    pub(super) fn offer(&self, load: Load) -> Result<LoadResult> {
        let mut command = self.service();
        command.arg("serve");
        let service = ServiceProcess::start(command, self.folder.join("listings.log"))?;
        let offered = self.run(load, &service).with_context(|| load.plan.to_owned());
        service.stop()?;
        offered
    }

    fn run(&self, load: Load, service: &ServiceProcess) -> Result<LoadResult> {
        let name = format!("{}-{}", self.count.fetch_add(1, Ordering::Relaxed), load.plan);
        let file = |kind: &str| self.folder.join(format!("{name}.{kind}"));
        let mut command = Command::new(self.workspace.binary("plimsoll"));
        command.arg("run").arg(format!("examples/listings/{}.toml", load.plan));
        command.arg("--target").arg(format!("listings={}", service.address("grpc")?));
        command.args(["--time-scale", &load.time_scale.to_string(), "--load", &load.load.to_string()]);
        command
            .args(["--quiet", "--no-precheck"])
            .arg("-o")
            .arg(file("plimsoll"))
            .arg("--json")
            .arg(file("json"));
        command.current_dir(self.workspace.root()).stdin(Stdio::null()).stdout(Stdio::null());
        print_command(&command);
        let before = self.cpu_s()?;
        let status = Running::start("plimsoll", command)?.wait()?;
        let after = self.cpu_s()?;
        ensure!(matches!(status.code(), Some(0 | 3..=5)), "plimsoll run ended with {status}");
        let report = std::fs::read(file("json")).context("cannot read the report")?;
        let report = serde_json::from_slice(&report).context("the report is no JSON")?;
        let [database_cpu_s, redis_cpu_s] =
            [0, 1].map(|store| before[store].zip(after[store]).map(|(before, after)| after - before));
        Ok(LoadResult { report: RunReport::new(report, database_cpu_s)?, redis_cpu_s })
    }

    /// CPU-seconds so far of the database and of Redis.
    fn cpu_s(&self) -> Result<[Option<f64>; 2]> {
        let redis = self.redis.as_ref().map(|redis| proc::family_cpu_s(redis.pid())).transpose()?;
        Ok([self.store.cpu_s()?, redis])
    }
}

impl LoadResult {
    /// CPU-microseconds of each request: the service, its database, Redis, the generator.
    pub(super) fn cost_us(&self) -> [Option<f64>; 4] {
        let report = &self.report;
        let requests: u64 = report.endpoints().map(|row| row.ended()).sum();
        let cpu_s = |target| report.cores(target).map(|cores| cores * report.seconds());
        [cpu_s("listings"), report.database_cpu_s, self.redis_cpu_s, cpu_s("generator")]
            .map(|cpu_s| cpu_s.filter(|_| requests > 0).map(|cpu_s| cpu_s * 1e6 / requests as f64))
    }
}
