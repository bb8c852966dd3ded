//! Where measurements happen: gateways in folders of their own, and Plimsoll's plans offered to them.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result, ensure};

use super::options::Options;
use crate::bench::seen::Seen;
use crate::bench::{Place, say};
use crate::child::Running;
use crate::served::Served;
use crate::workspace::Workspace;

/// What every measurement is given.
pub(super) struct BenchContext<'a> {
    workspace: &'a Workspace,
    pub(super) options: &'a Options,
    folder: PathBuf,
    count: AtomicU32,
}

/// A plan and what is changed of it.
pub(super) struct Load {
    /// Its path below `examples`, without its ending.
    plan: &'static str,
    time_scale: f64,
    load: f64,
}

impl Load {
    /// A plan as it stands.
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
    context: &'a BenchContext<'a>,
    pub(super) gateway: Served,
}

impl<'a> BenchContext<'a> {
    pub(super) fn new(workspace: &'a Workspace, options: &'a Options) -> Result<Self> {
        let folder = workspace.scratch("bench-gateway")?;
        Ok(Self { workspace, options, folder, count: AtomicU32::new(1) })
    }

    /// Keeps files of one run apart.
    fn number(&self) -> u32 {
        self.count.fetch_add(1, Ordering::Relaxed)
    }

    /// A folder that nobody has used.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(super) fn fresh(&self) -> Result<PathBuf> {
        let folder = self.folder.join(self.number().to_string());
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(folder)
    }

    /// A gateway with more in its environment, on the first processor: the generator has the other.
    ///
    /// # Errors
    /// When it does not start.
    pub(super) fn fixture(&'a self, environment: &[(&str, String)]) -> Result<Fixture<'a>> {
        let mut command = Place::SERVER.command(&self.workspace.binary("gateway"));
        command.arg("serve").current_dir(&self.folder).env("LOG_LEVEL", "error");
        command.envs([("HTTP_PORT", "0"), ("ADMIN_PORT", "0")]);
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        let gateway = Served::start(command, self.folder.join(format!("{}-gateway.log", self.number())))?;
        Ok(Fixture { context: self, gateway })
    }

    /// A plan's usual length, by what was asked for.
    pub(super) fn load(&self, plan: &'static str) -> Load {
        Load::of(plan).for_time(self.options.time_scale())
    }
}

impl Fixture<'_> {
    /// Runs a plan against this gateway.
    ///
    /// # Errors
    /// When the run is no evidence; bad figures are none.
    pub(super) fn offer(&self, load: &Load) -> Result<Seen> {
        let name = format!("{}-{}", self.context.number(), load.plan.replace('/', "-"));
        let file = |kind: &str| self.context.folder.join(format!("{name}.{kind}"));
        let mut command = Place::GENERATOR.command(&self.context.workspace.binary("plimsoll"));
        command.arg("run").arg(format!("examples/{}.toml", load.plan));
        command.args(["--target", &format!("gateway=http://{}", self.gateway.address("http")?)]);
        command.args(["--time-scale", &load.time_scale.to_string(), "--load", &load.load.to_string()]);
        command.arg("--quiet").arg("-o").arg(file("plimsoll")).arg("--json").arg(file("json"));
        command.current_dir(self.context.workspace.root()).stdin(Stdio::null()).stdout(Stdio::null());
        say(&command);
        let status = Running::start("plimsoll", command)?.wait()?;
        ensure!(matches!(status.code(), Some(0 | 3..=5)), "plimsoll run {} ended with {status}", load.plan);
        let report = std::fs::read(file("json")).context("cannot read the report")?;
        let report = serde_json::from_slice(&report).context("the report is no JSON")?;
        Seen::new(report, None).with_context(|| format!("the plan {}", load.plan))
    }

    /// Ends the gateway in good order.
    ///
    /// # Errors
    /// When it has ended before, or not well.
    pub(super) fn end(self) -> Result<()> {
        self.gateway.stop()
    }
}
