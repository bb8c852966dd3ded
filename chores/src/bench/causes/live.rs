//! One case: its servers, how much they complete at most, the load, and what the diagnosis says.

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::draw::{Case, Shape};
use super::outcome::{self, Outcome};
use super::server::Servers;
use crate::bench::CpuPlacement;
use xtask::workspace::Workspace;

/// Users that are enough to use up what is planted.
const MANY_USERS: u64 = 32;
/// A response time so many times that without load breaks the objective.
const SLOWER: f64 = 3.0;
/// And so many milliseconds, which a busy machine takes now and then.
const SLACK_MS: f64 = 20.0;
const ARRANGED_STEP: &str = "2s";

/// Where cases are carried out.
pub(super) struct Bench<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) programs: &'a Path,
    /// Emptied for each case.
    pub(super) folder: &'a Path,
}

/// What a short closed loop completed.
struct Calibration {
    completions_per_s: f64,
    mean_ms: f64,
}

impl Bench<'_> {
    /// # Errors
    /// When a server or the tool cannot be run.
    pub(super) fn carry_out(&self, case: &Case<'_>) -> Result<Outcome> {
        let began = Instant::now();
        if self.folder.exists() {
            fs::remove_dir_all(self.folder).context("cannot empty the folder of the last case")?;
        }
        fs::create_dir_all(self.folder).context("cannot make the folder of the case")?;
        let servers = Servers::start(case, self.programs, self.folder)?;
        let users = if case.planted.has_few_users { case.severity } else { MANY_USERS };
        // The first warms the service up.
        self.calibrated(case, &servers, users)?;
        let alone = self.calibrated(case, &servers, 1)?;
        let most = self.calibrated(case, &servers, users)?;
        let objective = format!("p95(get) < {:.0}ms", SLOWER * alone.mean_ms + SLACK_MS);
        let plan = plan(case, &servers, &load(case, most.completions_per_s), Some(&objective));
        fs::write(self.folder.join("plan.toml"), plan).context("cannot write the plan")?;
        let report = match case.shape {
            Shape::Steps(..) => {
                self.plimsoll(&["run", "plan.toml", "-o", "run.plimsoll"], "run.json")?;
                self.plimsoll(&["diagnose", "run.plimsoll"], "diagnosis.json")?
            }
            Shape::Arranged => {
                let arguments = ["diagnose", "plan.toml", "--step", ARRANGED_STEP, "-o", "run.capacity"];
                self.plimsoll(&arguments, "diagnosis.json")?
            }
        };
        Ok(outcome::of(case, &report, began.elapsed().as_secs()))
    }

    fn calibrated(&self, case: &Case<'_>, servers: &Servers, users: u64) -> Result<Calibration> {
        let load = format!("executor = \"constant-vus\"\nvus = {users}\nduration = \"2s\"\n");
        fs::write(self.folder.join("short.toml"), plan(case, servers, &load, None))
            .context("cannot write the plan")?;
        let report =
            self.plimsoll(&["run", "short.toml", "-o", "short.plimsoll", "--force"], "short.json")?;
        let seconds = report["run"]["seconds"].as_f64().context("the run has no length")?;
        let ok = report["accounting"]["ok"].as_f64().context("the run has no counts")?;
        let mean_ms = report["endpoints"][0]["response_time"]["avg_ms"].as_f64();
        let mean_ms = mean_ms.context("nothing was answered correctly")?;
        Ok(Calibration { completions_per_s: ok / seconds, mean_ms })
    }

    /// The JSON report of a call of the tool; its exit code is a verdict.
    fn plimsoll(&self, arguments: &[&str], report: &str) -> Result<Value> {
        let mut command = CpuPlacement::GENERATOR.command(&self.workspace.binary("plimsoll"));
        command.args(arguments).args(["--quiet", "--json", report]).current_dir(self.folder);
        let output = command.output().context("cannot start plimsoll")?;
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let text = fs::read(self.folder.join(report));
        let text = text.with_context(|| format!("`plimsoll {}`: {errors}", arguments.join(" ")))?;
        serde_json::from_slice(&text).with_context(|| format!("{report} is no JSON"))
    }
}

/// The load of the case, of a service that completes so much at most.
fn load(case: &Case<'_>, most_per_s: f64) -> String {
    let max_vus = if case.planted.has_few_users { case.severity } else { 1_000 };
    let rate = |share: f64| format!("{}/s", (share * most_per_s).round().max(1.0));
    match case.shape {
        Shape::Arranged => format!(
            "executor = \"constant-arrival-rate\"\nrate = \"{}\"\nduration = \"10s\"\nmax_vus = {max_vus}\n",
            rate(0.6)
        ),
        Shape::Steps(shares, seconds) => {
            let stage = |share: &f64| {
                let to = rate(*share);
                format!("  {{ to = \"{to}\", over = \"0s\" }}, {{ to = \"{to}\", over = \"{seconds}s\" }},\n")
            };
            let stages: String = shares.iter().map(stage).collect();
            let first = rate(shares[0]);
            format!(
                "executor = \"ramping-arrival-rate\"\nstart_rate = \"{first}\"\nmax_vus = {max_vus}\nstages = [\n{stages}]\n"
            )
        }
    }
}

fn plan(case: &Case<'_>, servers: &Servers, load: &str, objective: Option<&str>) -> String {
    let Servers { address, backend, path, .. } = servers;
    let target = |name: &str, port: u16| {
        format!("[targets.{name}]\nurl = \"http://127.0.0.1:{port}\"\nprocess = {{ port = {port} }}\n")
    };
    let backend = if case.planted.is_backend_observed { target("backend", *backend) } else { String::new() };
    let objective = objective.map(|text| format!("[objectives]\nslow = \"{text}\"\n")).unwrap_or_default();
    format!(
        "version = 1\n{}{backend}[[scenarios]]\nname = \"s\"\n{load}[[scenarios.steps]]\nname = \"get\"\nget = \
         \"${{web.url}}{path}\"\nheaders = {{ Accept-Encoding = \"gzip\" }}\n{objective}",
        target("web", address.port())
    )
}
