//! Services on fresh databases, and runs of Plimsoll's plans against them.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result, ensure};

use super::options::Options;
use super::store::{Database, Store};
use crate::bench::print_command;
use crate::bench::run_report::RunReport;
use xtask::child::Running;
use xtask::service_process::ServiceProcess;
use xtask::workspace::Workspace;

/// Players of `prepare.toml`.
pub(super) const PLAYERS: u64 = 10_000;

/// How many times its planned time the preparation takes, at rates that are lower by the same factor: even a busy
/// machine must not refuse any of it.
pub(super) const PREPARATION: f64 = 4.0;

/// What every measurement needs.
pub(super) struct BenchContext<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) options: &'a Options,
    pub(super) store: &'a Store,
    pub(super) folder: PathBuf,
    /// The database that is copied for fixtures with players.
    pub(super) prepared: OnceCell<Database>,
}

/// How a service is started, beyond its database.
#[derive(Default)]
pub(super) struct Setup {
    /// More of its environment.
    pub(super) environment: Vec<(&'static str, String)>,
    /// The processors that it may use, as `taskset` writes them; all when none are named.
    pub(super) processors: Option<&'static str>,
}

/// A plan, with the factors for its time and its rates.
pub(super) struct Load {
    /// Its name in `examples/challenge`.
    pub(super) plan: &'static str,
    pub(super) time_scale: f64,
    pub(super) load: f64,
    /// The processors that the generator may use.
    pub(super) processors: Option<&'static str>,
}

impl Load {
    /// A plan unchanged.
    pub(super) fn of(plan: &'static str) -> Self {
        Self { plan, time_scale: 1.0, load: 1.0, processors: None }
    }

    /// The same for another time.
    pub(super) fn for_time(self, time_scale: f64) -> Self {
        Self { time_scale, ..self }
    }

    /// The same at other rates.
    pub(super) fn at(self, load: f64) -> Self {
        Self { load, ..self }
    }
}

/// A service on a database that was fresh when it was made.
pub(super) struct Fixture<'a> {
    pub(super) context: &'a BenchContext<'a>,
    database: Database,
    pub(super) service: ServiceProcess,
}

impl<'a> BenchContext<'a> {
    /// A service on a fresh database.
    ///
    /// # Errors
    /// When either cannot be started.
    pub(super) fn fixture(&'a self, setup: &Setup) -> Result<Fixture<'a>> {
        let database = self.store.database()?;
        let service = self.service(&database, setup)?;
        Ok(Fixture { context: self, database, service })
    }

    /// A fixture whose ten thousand players have their goals. They are prepared once, on a database that is then copied.
    ///
    /// # Errors
    /// When one of them could not be initialized.
    pub(super) fn fixture_with_players(&'a self, setup: &Setup) -> Result<Fixture<'a>> {
        let database = match self.prepared.get() {
            Some(prepared) => self.store.copy(prepared)?,
            None => {
                let prepared = self.prepare()?;
                self.store.copy(self.prepared.get_or_init(|| prepared))?
            }
        };
        let service = self.service(&database, setup)?;
        Ok(Fixture { context: self, database, service })
    }

    fn prepare(&'a self) -> Result<Database> {
        let fixture = self.fixture(&Setup::default())?;
        fixture.offer_to_all(&Load::of("prepare").for_time(PREPARATION).at(1.0 / PREPARATION))?;
        let Fixture { database, service, .. } = fixture;
        service.stop()?;
        self.store.vacuum(&database)?;
        Ok(database)
    }

    /// One more service on the same database.
    pub(super) fn service(&self, database: &Database, setup: &Setup) -> Result<ServiceProcess> {
        let mut command = self.on(setup.processors, "challenge");
        command.arg("all").current_dir(&self.folder);
        command.env("TEST_IDENTITY_HEADER", "on").env("LOG_LEVEL", "warn");
        for port in ["HTTP_PORT", "GRPC_PORT", "EVENTS_PORT", "ADMIN_PORT"] {
            command.env(port, "0");
        }
        command.envs(database.environment.iter().map(|(name, value)| (name, value)));
        command.envs(setup.environment.iter().map(|(name, value)| (name, value)));
        ServiceProcess::start(command, self.folder.join(format!("{}-challenge.log", number())))
    }

    /// Runs a plan against these targets (`NAME=ADDRESS`).
    ///
    /// # Errors
    /// When the run did not complete or its counts do not add up; bad figures are no error.
    pub(super) fn offer(&self, load: &Load, targets: &[String]) -> Result<RunReport> {
        let file = |kind: &str, number: u32| self.folder.join(format!("{number}-{}.{kind}", load.plan));
        let number = number();
        let json = file("json", number);
        let mut command = self.on(load.processors, "plimsoll");
        command.arg("run").arg(format!("examples/challenge/{}.toml", load.plan));
        for target in targets {
            command.arg("--target").arg(target);
        }
        command.args(["--time-scale", &load.time_scale.to_string(), "--load", &load.load.to_string()]);
        command
            .args(["--quiet", "--no-precheck"])
            .arg("-o")
            .arg(file("plimsoll", number))
            .arg("--json")
            .arg(&json);
        command.current_dir(self.workspace.root()).stdin(Stdio::null()).stdout(Stdio::null());
        print_command(&command);
        let before = self.store.cpu_s()?;
        let status = Running::start("plimsoll", command)?.wait()?;
        let after = self.store.cpu_s()?;
        ensure!(matches!(status.code(), Some(0 | 3..=5)), "plimsoll run {} ended with {status}", load.plan);
        let report = std::fs::read(&json).context("cannot read the report")?;
        let report = serde_json::from_slice(&report).context("the report is no JSON")?;
        let database_cpu_s = before.zip(after).map(|(before, after)| after - before);
        RunReport::new(report, database_cpu_s).with_context(|| format!("the plan {}", load.plan))
    }

    fn on(&self, processors: Option<&str>, program: &str) -> Command {
        let program = self.workspace.binary(program);
        let Some(processors) = processors else { return Command::new(program) };
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", processors]).arg(program);
        command
    }

    /// A plan with the length that the options set.
    pub(super) fn load(&self, plan: &'static str) -> Load {
        Load::of(plan).for_time(self.options.time_scale())
    }
}

impl Fixture<'_> {
    /// Runs a plan against this service.
    ///
    /// # Errors
    /// When the run did not complete or its counts do not add up; bad figures are no error.
    pub(super) fn offer(&self, load: &Load) -> Result<RunReport> {
        let text = std::fs::read_to_string(self.context.workspace.root().join(path(load.plan)))
            .with_context(|| format!("cannot read {}", path(load.plan).display()))?;
        let mut targets = Vec::new();
        if text.contains("[targets.challenge]") {
            targets.push(format!("challenge=http://{}/challenge", self.service.address("http")?));
        }
        if text.contains("[targets.events]") {
            targets.push(format!("events={}", self.service.address("events")?));
        }
        self.context.offer(load, &targets)
    }

    /// Runs a plan that prepares every player: every request must succeed.
    ///
    /// # Errors
    /// When one failed.
    pub(super) fn offer_to_all(&self, load: &Load) -> Result<RunReport> {
        let report = self.offer(load)?;
        ensure!(
            report.errors() == 0 && report.ok() == PLAYERS,
            "{}: {} of {PLAYERS} succeeded: {}",
            load.plan,
            report.ok(),
            report.outcomes()
        );
        Ok(report)
    }

    /// Its database, for more services.
    pub(super) fn database(&self) -> &Database {
        &self.database
    }

    /// Stops the service and starts it again on the same database.
    ///
    /// # Errors
    /// When it ends with a failure or does not start.
    pub(super) fn restart(self) -> Result<Self> {
        let Self { context, database, service } = self;
        service.stop()?;
        let service = context.service(&database, &Setup::default())?;
        Ok(Self { context, database, service })
    }

    /// Stops the service.
    ///
    /// # Errors
    /// When it has ended before, or ends with a failure.
    pub(super) fn end(self) -> Result<()> {
        self.service.stop()
    }
}

/// The path of a plan from the root.
fn path(plan: &str) -> PathBuf {
    Path::new("examples/challenge").join(plan).with_extension("toml")
}

/// A number for the file names of one run.
fn number() -> u32 {
    static COUNT: AtomicU32 = AtomicU32::new(1);
    COUNT.fetch_add(1, Ordering::Relaxed)
}
