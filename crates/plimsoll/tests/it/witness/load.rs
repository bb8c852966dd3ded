//! A load on paper, and the run that offers it.

use std::time::Duration;

use serde_json::Value;
use testbed::{Served, Target, now_ns};

use super::log::{Bounds, LoggedRequest, TargetLog};
use crate::command::TestFolder;

/// Nothing is wrapped, and no column left out.
const WIDE: &str = "export COLUMNS=2000";
pub(super) const FILE: &str = "run.plimsoll";

#[derive(Debug, Clone)]
pub(super) struct PaperPhase {
    pub(super) name: &'static str,
    pub(super) from_ms: u64,
    pub(super) to_ms: u64,
}

/// When arrivals are due.
#[derive(Debug, Clone)]
pub(super) enum Arrivals {
    /// At these instants, in nanoseconds from the beginning of the load.
    At(Vec<u64>),
    /// Whenever a virtual user is ready.
    WhenReady,
}

/// Why arrivals are dropped, where any are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dropped {
    VuLimit,
    GeneratorLate,
}

/// A load of one scenario on paper.
#[derive(Debug, Clone)]
pub(super) struct PaperLoad {
    pub(super) scenario: &'static str,
    /// The endpoints: each arrival is a request of one of them, whose path is its name.
    pub(super) steps: &'static [&'static str],
    /// One at least; `run` is the name of the only one of a plan without phases.
    pub(super) phases: Vec<PaperPhase>,
    pub(super) arrivals: Arrivals,
    /// How many there may be.
    pub(super) virtual_users: u64,
    /// The highest rate of arrivals, a second; of an open model.
    pub(super) highest_rate: f64,
    pub(super) dropped: Dropped,
    /// How many arrivals a worker took that vanished before it could say so.
    pub(super) lost: u64,
}

impl PaperLoad {
    /// Arrivals at a constant rate: number n is due n / rate after the beginning.
    pub(super) fn constant(rate: u64, length: Duration, virtual_users: u64) -> PaperLoad {
        let due_ns = |n: u64| (n * 1_000_000_000).div_ceil(rate);
        let count = rate * length.as_millis() as u64 / 1_000;
        PaperLoad {
            arrivals: Arrivals::At((0..count).map(due_ns).collect()),
            highest_rate: rate as f64,
            ..PaperLoad::closed(virtual_users, length)
        }
    }

    /// A constant number of virtual users.
    pub(super) fn closed(virtual_users: u64, length: Duration) -> PaperLoad {
        PaperLoad {
            scenario: "load",
            steps: &["get"],
            phases: vec![PaperPhase { name: "run", from_ms: 0, to_ms: length.as_millis() as u64 }],
            arrivals: Arrivals::WhenReady,
            virtual_users,
            highest_rate: 0.0,
            dropped: Dropped::VuLimit,
            lost: 0,
        }
    }

    /// How many arrivals are due in a phase and counted; none in a closed model.
    pub(super) fn due_in(&self, phase: &PaperPhase) -> Option<u64> {
        let Arrivals::At(due_ns) = &self.arrivals else { return None };
        let is_its = |due_ns: &&u64| phase.contains(**due_ns);
        Some(due_ns.iter().filter(is_its).count() as u64 - self.lost)
    }

    /// Whether the log has a request of this endpoint.
    pub(super) fn is_of(&self, step: &str, request: &LoggedRequest) -> bool {
        self.steps.len() == 1 || request.served.path.strip_prefix('/') == Some(step)
    }

    /// When the request was due, by its arrival's number: `?n=12`.
    fn due_ns(&self, served: &Served) -> Option<u64> {
        let Arrivals::At(due_ns) = &self.arrivals else { return None };
        let number: usize = served.query.strip_prefix("n=").unwrap().parse().unwrap();
        Some(due_ns[number])
    }
}

impl PaperPhase {
    pub(super) fn contains(&self, due_ns: u64) -> bool {
        (self.from_ms * 1_000_000..self.to_ms * 1_000_000).contains(&due_ns)
    }

    pub(super) fn length_s(&self) -> f64 {
        (self.to_ms - self.from_ms) as f64 / 1e3
    }
}

/// A run, as it is reported and as its target saw it.
pub(super) struct WitnessedRun {
    pub(super) paper: PaperLoad,
    pub(super) log: TargetLog,
    pub(super) report: Value,
    pub(super) terminal: String,
}

impl WitnessedRun {
    /// The same with only these of the requests in the log, and so many arrivals lost.
    pub(super) fn counting(&self, is_counted: impl Fn(&LoggedRequest) -> bool, lost: u64) -> WitnessedRun {
        WitnessedRun {
            log: self.log.select(is_counted),
            paper: PaperLoad { lost, ..self.paper.clone() },
            report: self.report.clone(),
            terminal: self.terminal.clone(),
        }
    }

    /// So many arrivals, a second: over the length of the load, or over the seconds in which anything ended.
    pub(super) fn mean_rate(&self, arrivals: u64) -> Bounds {
        let length_s: f64 = self.paper.phases.iter().map(PaperPhase::length_s).sum();
        let seconds = (self.log.elapsed_ms().high / 1e3).floor() + 1.0;
        Bounds { low: arrivals as f64 / seconds, high: arrivals as f64 / length_s }
    }

    /// The requests of a phase.
    pub(super) fn log_of(&self, phase: &PaperPhase) -> TargetLog {
        self.log.select(|request: &LoggedRequest| request.due_ns.is_none_or(|due_ns| phase.contains(due_ns)))
    }
}

/// A plan of the scenario `load` with the step `get`, whose requests have their arrivals' numbers.
pub(super) fn plan(target: &Target, scenario: &str, objectives: &str) -> String {
    plan_of(target, scenario, &["get"], objectives)
}

/// The same with these steps, of which each arrival is one.
pub(super) fn plan_of(target: &Target, scenario: &str, steps: &[&str], objectives: &str) -> String {
    let weight = if steps.len() > 1 { "weight = 1\n" } else { "" };
    let step = |name: &&str| {
        format!(
            "[[scenarios.steps]]\nname = \"{name}\"\n{weight}get = \"${{api.url}}/{name}?n=${{arrivals.id}}\"\n"
        )
    };
    format!(
        r#"version = 1
precheck = false
[targets.api]
url = "http://{}"
[data.arrivals]
generate = "{{0..99999}}"
{scenario}
{}{objectives}"#,
        target.addr(),
        steps.iter().map(step).collect::<String>()
    )
}

/// Offer the load of `plan` to its end.
pub(super) fn offer(target: &Target, plan: &str, paper: PaperLoad) -> WitnessedRun {
    let folder = TestFolder::new(plan);
    let ran = folder.plimsoll(&["run", "plan.toml", "--quiet", "-o", FILE]);
    let ended_ns = now_ns();
    assert!(ran.code.is_some_and(|code| [0, 3, 4, 5].contains(&code)), "{ran:?}");
    witnessed(&folder, target, paper, ended_ns)
}

/// The run in `folder`, whose command had ended at `ended_ns`.
pub(super) fn witnessed(
    folder: &TestFolder,
    target: &Target,
    paper: PaperLoad,
    ended_ns: u64,
) -> WitnessedRun {
    let shown = folder.plimsoll_after(WIDE, &["report", FILE, "-v", "--json", "run.json"]);
    assert!(shown.stderr.is_empty() && shown.code.is_some(), "{shown:?}");
    let log = TargetLog::of(target, ended_ns, |served| paper.due_ns(served));
    WitnessedRun { log, report: folder.json("run.json"), terminal: shown.stdout, paper }
}
