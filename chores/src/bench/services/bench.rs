//! One service with one store, under its plans.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use super::stores::{StoreKind, Stores};
use crate::bench::run_report::{RunReport, TimeQuantiles};
use crate::bench::table::{Table, count, figure};
use crate::bench::{CpuPlacement, print_command};
use crate::steps;
use xtask::child::Running;
use xtask::service_process::ServiceProcess;
use xtask::workspace::Workspace;

const HEAD: &[&str] = &[
    "plan",
    "done a second",
    "per CPU-second of the service",
    "required",
    "p50 ms",
    "p95 ms",
    "p99 ms",
    "errors",
    "service cores",
    "store cores",
    "generator cores",
    "resident MB",
];
/// The targets of plans: what is before the address, the name of the address in the service's ready line, what is after it.
const TARGETS: [(&str, &str, &str, &str); 4] = [
    ("challenge", "http://", "http", "/challenge"),
    ("events", "", "events", ""),
    ("gateway", "http://", "http", ""),
    ("listings", "", "grpc", ""),
];
/// How many times its planned time a preparation takes, at rates that are lower by the same factor: even a busy machine
/// must not refuse any of it.
const PREPARATION: f64 = 4.0;

/// A service, and the plans that it is measured with, in this order and on one database.
pub(super) struct Bench {
    /// On the command line, and of the markers in the document.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// Its package, its program, and the folder of its plans.
    pub(super) service: &'static str,
    pub(super) arguments: &'static [&'static str],
    pub(super) environment: &'static [(&'static str, &'static str)],
    pub(super) store: StoreKind,
    pub(super) plans: &'static [Plan],
}

/// A plan of `examples/`.
pub(super) struct Plan {
    name: &'static str,
    /// Whether it makes the data of others and has no row: every request of it must succeed.
    is_preparation: bool,
    samples_per_request: f64,
    required_per_cpu_s: Option<f64>,
}

impl Plan {
    pub(super) const fn of(name: &'static str) -> Self {
        Self { name, is_preparation: false, samples_per_request: 1.0, required_per_cpu_s: None }
    }

    pub(super) const fn preparation(name: &'static str) -> Self {
        Self { is_preparation: true, ..Self::of(name) }
    }

    pub(super) const fn of_samples(self, samples_per_request: f64) -> Self {
        Self { samples_per_request, ..self }
    }

    /// With what a CPU-second of the service is to do.
    pub(super) const fn required(self, per_cpu_s: f64) -> Self {
        Self { required_per_cpu_s: Some(per_cpu_s), ..self }
    }
}

/// What a run showed, and the cores that the stores were busy on meanwhile.
struct Measured {
    report: RunReport,
    target: &'static str,
    store_cores: Option<f64>,
}

impl Bench {
    /// The plan's file, from the root.
    pub(super) fn path(&self, plan: &Plan) -> PathBuf {
        Path::new("examples").join(self.service).join(plan.name).with_extension("toml")
    }

    /// Runs every plan, each against a service that has just started.
    ///
    /// # Errors
    /// When something does not start, a run does not complete, or a request of a preparation fails.
    pub(super) fn measure(&self, workspace: &Workspace, time_scale: f64) -> Result<Table> {
        let folder = workspace.scratch(&format!("bench-{}", self.name))?;
        let fixture = Fixture { bench: self, workspace, folder, stores: Stores::start(self.store)? };
        if self.service == "listings" {
            let mut seed = fixture.program();
            seed.arg("seed").stdin(Stdio::null()).stdout(Stdio::null());
            steps::run(seed).context("cannot make the listings")?;
            fixture.stores.vacuum()?;
        }
        let mut rows = Vec::new();
        for plan in self.plans {
            let measured =
                fixture.measure(plan, time_scale).with_context(|| format!("the plan {}", plan.name))?;
            if plan.is_preparation {
                let errors = measured.report.errors();
                ensure!(errors == 0, "{errors} requests of `{}` failed, so data are missing", plan.name);
                fixture.stores.vacuum()?;
            } else {
                rows.push(cells(plan, &measured));
            }
        }
        Ok(Table { title: self.title.to_owned(), head: HEAD, rows, notes: Vec::new() })
    }
}

/// The servers and files of one bench.
struct Fixture<'a> {
    bench: &'a Bench,
    workspace: &'a Workspace,
    folder: PathBuf,
    stores: Stores,
}

impl Fixture<'_> {
    /// The service's program with its settings.
    fn program(&self) -> Command {
        let mut command = CpuPlacement::SERVER.command(&self.workspace.binary(self.bench.service));
        command.current_dir(&self.folder).env("DATABASE_PATH", self.folder.join("bench.db"));
        command.envs([("HTTP_PORT", "0"), ("ADMIN_PORT", "0")]);
        command.envs(self.bench.environment.iter().copied()).envs(self.stores.environment());
        command
    }

    /// Runs a plan against a service of its own.
    fn measure(&self, plan: &Plan, time_scale: f64) -> Result<Measured> {
        let mut service = self.program();
        service.args(self.bench.arguments);
        let service = ServiceProcess::start(service, self.folder.join(format!("{}.log", plan.name)))?;
        let text = std::fs::read_to_string(self.workspace.root().join(self.bench.path(plan)))?;
        let is_named = |name: &str| text.contains(&format!("[targets.{name}]"));
        let mut named = TARGETS.iter().filter(|(name, ..)| is_named(name)).peekable();
        let (target, ..) = **named.peek().context("it has none of the known targets")?;
        let targets: Vec<String> = named
            .map(|(name, before, address, after)| {
                Ok(format!("{name}={before}{}{after}", service.address(address)?))
            })
            .collect::<Result<_>>()?;
        let mut command = self.load(plan, time_scale);
        command.args(targets.iter().flat_map(|target| ["--target", target]));
        print_command(&command);
        let before = self.stores.cpu_s()?;
        let status = Running::start("plimsoll", command)?.wait()?;
        let after = self.stores.cpu_s()?;
        service.stop()?;
        ensure!(matches!(status.code(), Some(0 | 3..=5)), "plimsoll run ended with {status}");
        let report = std::fs::read(self.file(plan, "json")).context("cannot read the report")?;
        let report = RunReport::new(serde_json::from_slice(&report).context("the report is not JSON")?)?;
        let seconds = report.seconds();
        let cpu_s = before.zip(after).map(|(before, after)| after - before);
        let store_cores = cpu_s.filter(|_| seconds > 0.0).map(|cpu_s| cpu_s / seconds);
        Ok(Measured { report, target, store_cores })
    }

    /// The command of a run, without its targets.
    fn load(&self, plan: &Plan, time_scale: f64) -> Command {
        let mut command = CpuPlacement::GENERATOR.command(&self.workspace.binary("plimsoll"));
        command.arg("run").arg(self.bench.path(plan)).args(["--quiet", "--no-precheck"]);
        let [time_scale, load] = match plan.is_preparation {
            true => [PREPARATION, 1.0 / PREPARATION],
            false => [time_scale, 1.0],
        };
        command.args(["--time-scale", &time_scale.to_string(), "--load", &load.to_string()]);
        command.arg("-o").arg(self.file(plan, "plimsoll")).arg("--json").arg(self.file(plan, "json"));
        command.current_dir(self.workspace.root()).stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    fn file(&self, plan: &Plan, kind: &str) -> PathBuf {
        self.folder.join(plan.name).with_extension(kind)
    }
}

/// A row below [`HEAD`].
fn cells(plan: &Plan, measured: &Measured) -> Vec<String> {
    let report = &measured.report;
    let mut endpoints = report.endpoints();
    let times = match (endpoints.next(), endpoints.next()) {
        (Some(only), None) => only.response_time(),
        // Quantiles of several endpoints have no common one.
        _ => TimeQuantiles::default(),
    };
    let done_per_s = report.throughput_per_s() * plan.samples_per_request;
    let cores = report.cores(measured.target);
    let dash = || "–".to_owned();
    vec![
        plan.name.replace('-', " "),
        count(done_per_s),
        cores.filter(|cores| *cores > 0.0).map_or_else(dash, |cores| count(done_per_s / cores)),
        plan.required_per_cpu_s.map_or_else(dash, |required| format!("≥ {}", count(required))),
        figure(times.p50_ms, 2),
        figure(times.p95_ms, 2),
        figure(times.p99_ms, 2),
        count(report.errors() as f64),
        figure(cores, 2),
        figure(measured.store_cores, 2),
        figure(report.cores("generator"), 2),
        figure(report.series_max(measured.target, "rss").map(|bytes| bytes / 1e6), 0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::run_report::tests::report;

    fn measured(target: &'static str) -> Measured {
        Measured { report: RunReport::new(report()).expect("a sound report"), target, store_cores: Some(0.4) }
    }

    #[test]
    fn work_is_divided_by_the_cores_that_did_it() {
        let plan = Plan::of("json-batch").of_samples(100.0).required(400_000.0);
        let cells = cells(&plan, &measured("challenge"));
        assert_eq!(cells.len(), HEAD.len());
        let row = "json batch | 100,000 | 400,000 | ≥ 400,000 | 1.00 | 2.50 | – | 11 | 0.25 | 0.40 | – | 25";
        assert_eq!(cells.join(" | "), row);
    }

    #[test]
    fn a_target_that_was_not_observed_has_no_cost() {
        assert_eq!(cells(&Plan::of("list"), &measured("events"))[2], "–");
    }
}
