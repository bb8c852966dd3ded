//! Gateways in folders of their own, and runs of Plimsoll's plans against them.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result, ensure};

use super::options::Options;
use crate::bench::run_report::RunReport;
use crate::bench::{CpuPlacement, print_command};
use xtask::child::Running;
use xtask::service_process::ServiceProcess;
use xtask::workspace::Workspace;

/// What every measurement needs.
pub(super) struct BenchContext<'a> {
    workspace: &'a Workspace,
    pub(super) options: &'a Options,
    folder: PathBuf,
    count: AtomicU32,
}

/// A plan, with the factors for its time and its rates.
pub(super) struct Load {
    /// Its path below `examples`, without its ending.
    plan: &'static str,
    time_scale: f64,
    load: f64,
}

impl Load {
    /// A plan unchanged.
    pub(super) fn of(plan: &'static str) -> Self {
        Self { plan, time_scale: 1.0, load: 1.0 }
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

/// A gateway; dropping it ends it.
pub(super) struct Fixture<'a> {
    pub(super) context: &'a BenchContext<'a>,
    pub(super) gateway: ServiceProcess,
}

impl<'a> BenchContext<'a> {
    pub(super) fn new(workspace: &'a Workspace, options: &'a Options) -> Result<Self> {
        let folder = workspace.scratch("bench-gateway")?;
        Ok(Self { workspace, options, folder, count: AtomicU32::new(1) })
    }

    /// A number for the file names of one run.
    fn number(&self) -> u32 {
        self.count.fetch_add(1, Ordering::Relaxed)
    }

    /// A new folder.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(super) fn fresh(&self) -> Result<PathBuf> {
        let folder = self.folder.join(self.number().to_string());
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(folder)
    }

    /// A gateway with these variables in its environment, on the first processor: the generator has the other.
    ///
    /// # Errors
    /// When it does not start.
    pub(super) fn fixture(&'a self, environment: &[(&str, String)]) -> Result<Fixture<'a>> {
        let mut command = CpuPlacement::SERVER.command(&self.workspace.binary("gateway"));
        command.arg("serve").current_dir(&self.folder).env("LOG_LEVEL", "error");
        command.envs([("HTTP_PORT", "0"), ("ADMIN_PORT", "0")]);
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        let gateway =
            ServiceProcess::start(command, self.folder.join(format!("{}-gateway.log", self.number())))?;
        Ok(Fixture { context: self, gateway })
    }

    /// A plan with the length that the options set.
    pub(super) fn load(&self, plan: &'static str) -> Load {
        Load::of(plan).for_time(self.options.time_scale())
    }
}

impl Fixture<'_> {
    /// Runs a plan against this gateway.
    ///
    /// # Errors
    /// When the run did not complete or its counts do not add up; bad figures are no error.
    pub(super) fn offer(&self, load: &Load) -> Result<RunReport> {
        let name = format!("{}-{}", self.context.number(), load.plan.replace('/', "-"));
        let file = |kind: &str| self.context.folder.join(format!("{name}.{kind}"));
        let mut command = CpuPlacement::GENERATOR.command(&self.context.workspace.binary("plimsoll"));
        command.arg("run").arg(format!("examples/{}.toml", load.plan));
        command.args(["--target", &format!("gateway=http://{}", self.gateway.address("http")?)]);
        command.args(["--time-scale", &load.time_scale.to_string(), "--load", &load.load.to_string()]);
        command
            .args(["--quiet", "--no-precheck"])
            .arg("-o")
            .arg(file("plimsoll"))
            .arg("--json")
            .arg(file("json"));
        command.current_dir(self.context.workspace.root()).stdin(Stdio::null()).stdout(Stdio::null());
        print_command(&command);
        let status = Running::start("plimsoll", command)?.wait()?;
        ensure!(matches!(status.code(), Some(0 | 3..=5)), "plimsoll run {} ended with {status}", load.plan);
        let report = std::fs::read(file("json")).context("cannot read the report")?;
        let report = serde_json::from_slice(&report).context("the report is no JSON")?;
        RunReport::new(report, None).with_context(|| format!("the plan {}", load.plan))
    }

    /// Stops the gateway.
    ///
    /// # Errors
    /// When it has ended before, or ends with a failure.
    pub(super) fn end(self) -> Result<()> {
        self.gateway.stop()
    }
}
