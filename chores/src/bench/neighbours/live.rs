//! One run: its target, its neighbours, and the tool.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use rustix::thread::{CpuSet, sched_getaffinity};

use super::arranged::{ArrangedRun, Neighbours, TargetKind};
use super::{DEFAULT_SECONDS, MOST_SECONDS};
use crate::bench::run_report::RunReport;
use crate::bench::testbed_target::TestbedTarget;
use crate::bench::{print_command, proc};
use xtask::child::Running;
use xtask::service_process::ServiceProcess;
use xtask::workspace::Workspace;

const PLAN: &str = "examples/demo.toml";
/// The demo waits until this is answered.
const HEALTH: &str = "/challenge/healthz";
const NEIGHBOUR_PERCENT: &str = "50";
/// Longer than any run.
const TARGET_LIFE: &str = "3600s";
/// How much longer than a run neighbours take processors, if nothing ends them.
const NEIGHBOUR_MARGIN_S: u64 = 120;
/// The run with an outage takes ten minutes where the others have their usual length.
const OUTAGE_RUN_SECONDS: u64 = 600;
/// How long the target is frozen, in milliseconds for each second of the run: 9 s in ten minutes.
const OUTAGE_MS_A_SECOND: u64 = 15;

/// What all runs have in common.
pub(super) struct LiveRuns<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) folder: &'a Path,
    /// Length of a run of the demo's plan.
    pub(super) seconds: u64,
}

/// What a run gave.
pub(super) struct LiveResult {
    pub(super) report: RunReport,
    /// The share of a processor that each neighbour took.
    pub(super) taken: Vec<f64>,
}

/// A target, and how the tool is started against it.
struct LiveTarget {
    _processes: Processes,
    /// Arguments of `plimsoll run`, the plan first.
    arguments: Vec<String>,
}

/// What dropping a target ends.
enum Processes {
    Service { _service: ServiceProcess },
    Testbed { _targets: Vec<TestbedTarget> },
}

/// A running neighbour.
struct Neighbour {
    running: Running,
    began: Instant,
}

impl LiveRuns<'_> {
    /// Carries out one run on a fresh target.
    ///
    /// # Errors
    /// When something cannot be started, or the run did not complete or its counts do not add up.
    pub(super) fn carry_out(&self, arranged: &ArrangedRun, number: u64) -> Result<LiveResult> {
        let target = self.target(arranged.target)?;
        let mut neighbours = match arranged.neighbours {
            Neighbours::None => Vec::new(),
            Neighbours::Half => self.neighbours(number)?,
        };
        let report = self.offer(&target, &format!("{}-{number}", arranged.name))?;
        let taken = neighbours.iter_mut().map(Neighbour::share_taken).collect::<Result<_>>()?;
        Ok(LiveResult { report, taken })
    }

    fn target(&self, kind: TargetKind) -> Result<LiveTarget> {
        match kind {
            TargetKind::Service { faults } => self.service(faults),
            TargetKind::Failing { status, grpc_code } => {
                let http = ["http", "--status", status, "--healthy", HEALTH, "--for", TARGET_LIFE];
                let http = TestbedTarget::start(self.workspace, &http)?;
                let grpc = ["grpc", "--code", grpc_code, "--for", TARGET_LIFE];
                let grpc = TestbedTarget::start(self.workspace, &grpc)?;
                let arguments = self.demo(&http.address, &grpc.address);
                Ok(LiveTarget { _processes: Processes::Testbed { _targets: vec![http, grpc] }, arguments })
            }
            TargetKind::Outage => self.outage(),
        }
    }

    fn service(&self, faults: &str) -> Result<LiveTarget> {
        let database = self.workspace.scratch("bench-neighbours-service")?;
        let mut command = Command::new(self.workspace.binary("challenge"));
        command
            .arg("all")
            .current_dir(self.workspace.root())
            .env("DATABASE_PATH", database.join("challenge.db"));
        command.env("TEST_IDENTITY_HEADER", "on").env("BASE_PATH", "/challenge").env("LOG_LEVEL", "warn");
        command.env("INJECT_FAULTS", faults);
        for port in ["HTTP_PORT", "GRPC_PORT", "EVENTS_PORT", "ADMIN_PORT"] {
            command.env(port, "0");
        }
        let service = ServiceProcess::start(command, self.folder.join("challenge.log"))?;
        let arguments = self.demo(service.address("http")?, service.address("events")?);
        Ok(LiveTarget { _processes: Processes::Service { _service: service }, arguments })
    }

    /// The demo's plan against these addresses.
    fn demo(&self, http: &str, events: &str) -> Vec<String> {
        let scale = self.seconds as f64 / MOST_SECONDS as f64;
        let mut arguments = vec![PLAN.to_owned(), "--time-scale".to_owned(), format!("{scale:.4}")];
        for target in [format!("challenge=http://{http}/challenge"), format!("events={events}")] {
            arguments.extend(["--target".to_owned(), target]);
        }
        arguments
    }

    /// A plan and a target that freezes once, after three quarters of it.
    fn outage(&self) -> Result<LiveTarget> {
        let seconds = OUTAGE_RUN_SECONDS * self.seconds / DEFAULT_SECONDS;
        let outage_ms = OUTAGE_MS_A_SECOND * seconds;
        let freeze = format!("{outage_ms}ms/{}ms", seconds * 750);
        let arguments = ["http", "--delay", "1ms", "--freeze", &freeze, "--for", TARGET_LIFE];
        let target = TestbedTarget::start(self.workspace, &arguments)?;
        let plan = self.folder.join("outage.toml");
        fs::write(&plan, outage_plan(&target.address, seconds)).context("cannot write the plan")?;
        let arguments = vec![plan.display().to_string()];
        Ok(LiveTarget { _processes: Processes::Testbed { _targets: vec![target] }, arguments })
    }

    /// A neighbour on each processor that this process may use.
    fn neighbours(&self, seed: u64) -> Result<Vec<Neighbour>> {
        let processors = sched_getaffinity(None).context("cannot list the processors")?;
        let processors = (0..CpuSet::MAX_CPU).filter(|processor| processors.is_set(*processor));
        let life_s = (self.seconds + NEIGHBOUR_MARGIN_S).to_string();
        let start = |processor: usize| {
            let mut command = Command::new(self.workspace.binary("neighbour"));
            command.arg(processor.to_string()).args(["--share", NEIGHBOUR_PERCENT, "--seconds", &life_s]);
            command.args(["--seed", &(seed * 1_000 + processor as u64).to_string()]).stdin(Stdio::null());
            print_command(&command);
            Ok(Neighbour { running: Running::start("a neighbour", command)?, began: Instant::now() })
        };
        processors.map(start).collect()
    }

    fn offer(&self, target: &LiveTarget, name: &str) -> Result<RunReport> {
        let file = |kind: &str| -> PathBuf { self.folder.join(format!("{name}.{kind}")) };
        let mut command = Command::new(self.workspace.binary("plimsoll"));
        command.current_dir(self.workspace.root()).stdin(Stdio::null()).stdout(Stdio::null());
        command.arg("run").args(&target.arguments).args(["--force", "--quiet", "-o"]).arg(file("plimsoll"));
        command.arg("--json").arg(file("json"));
        print_command(&command);
        let status = Running::start("plimsoll", command)?.wait()?;
        ensure!(matches!(status.code(), Some(0 | 3..=5)), "plimsoll ended with {status}");
        let text = fs::read(file("json")).context("cannot read the report")?;
        RunReport::new(serde_json::from_slice(&text).context("the report is not JSON")?)
    }
}

impl Neighbour {
    fn share_taken(&mut self) -> Result<f64> {
        let ended = self.running.ended()?;
        ensure!(ended.is_none(), "a neighbour ended before the run did");
        Ok(proc::family_cpu_s(self.running.child().id())? / self.began.elapsed().as_secs_f64())
    }
}

/// Requests that are due in the outage wait for a ninth of it at most.
fn outage_plan(address: &str, seconds: u64) -> String {
    let timeout_ms = OUTAGE_MS_A_SECOND * seconds / 9;
    format!(
        "version = 1\nprecheck = false\n[targets.server]\nurl = \"http://{address}\"\n[[phases]]\nname = \"load\"\n\
         duration = \"{seconds}s\"\n[[scenarios]]\nname = \"ask\"\nexecutor = \"constant-arrival-rate\"\n\
         phases = [\"load\"]\nrate = \"100/s\"\n[[scenarios.steps]]\nname = \"item\"\n\
         get = \"${{server.url}}/\"\ntimeout = \"{timeout_ms}ms\"\n[objectives]\n\
         fast = \"p96(item) < 50ms\"\nfew_errors = \"error_rate(item) < 0.05%\"\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outage_is_longer_than_a_request_waits() {
        let plan = outage_plan("127.0.0.1:1", 600);
        assert!(plan.contains("duration = \"600s\"") && plan.contains("timeout = \"1000ms\""), "{plan}");
    }
}
