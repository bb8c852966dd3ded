//! Experiments: two arms under the load of one plan, and what they are compared by. [`crate::plan::load_experiment`] reads
//! one from a file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cpu_list::CpuList;
use crate::interleaved::SharedLoad;
use crate::objective::{CostKind, Measure, Quantity, Statistic};

/// The most metrics that an experiment is decided by.
pub const MOST_METRICS: usize = 8;

/// An experiment, resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// Its name: that of its file.
    pub name: String,
    pub plan: PathBuf,
    /// The folder in which commands are run.
    pub folder: PathBuf,
    /// A, the baseline, and B, the candidate.
    pub arms: [Arm; 2],
    /// How often, how long.
    pub design: Design,
    /// What decides it; at most [`MOST_METRICS`], the error rate among them.
    pub metrics: Vec<GateMetric>,
    /// Who decides whether the arms run at the same moment.
    pub timing: Timing,
}

/// Who decides whether two arms run at the same moment or in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// The experiment says it.
    Given,
    /// At the same moment where they can.
    Usual,
}

/// One of the two sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// The command that starts it; none where it runs already.
    pub start: Option<String>,
    /// Environment variables of its commands.
    pub env: BTreeMap<String, String>,
    /// The URL that answers 2xx once it is ready; none: once every target of the plan accepts connections.
    pub ready: Option<String>,
    /// The longest wait for that.
    pub ready_within: Duration,
    /// The command that sets its state back, before each slot.
    pub reset: Option<String>,
    /// From SIGTERM to SIGKILL.
    pub stop_within: Duration,
    /// Addresses of targets, instead of the plan's.
    pub targets: BTreeMap<String, String>,
    /// The processors that its commands may use; none: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuList>,
}

impl Arm {
    /// The arm at this side.
    #[must_use]
    pub fn at(mut self, side: &Side) -> Arm {
        self.env.extend(side.env.clone());
        self.targets.extend(side.targets.clone());
        self.ready = side.ready.clone().or(self.ready);
        self.cpus = side.cpus.clone();
        self
    }
}

impl Default for Arm {
    fn default() -> Arm {
        Arm {
            start: None,
            env: BTreeMap::new(),
            ready: None,
            ready_within: Duration::from_secs(30),
            reset: None,
            stop_within: Duration::from_secs(10),
            targets: BTreeMap::new(),
            cpus: None,
        }
    }
}

/// Both arms at the same moment: each arrival goes to one of them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Together {
    /// What both are offered.
    pub share: SharedLoad,
    /// Where they run, exchanged between windows; none: where the settings of each arm say.
    pub sides: Option<[Side; 2]>,
    /// Whether it is meant that both use the same database, cache or queue.
    pub shared_store: bool,
    /// Whether pairs in turn are appended for what this cannot show.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confirm: bool,
    /// Whether windows have 90 or 110 % of the load, which shows how times grow with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub vary_load: bool,
}

/// Where one of two arms runs in a window: its ports, its processors.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Side {
    /// Environment variables besides those of the arm.
    pub env: BTreeMap<String, String>,
    /// Addresses of targets, instead of the plan's.
    pub targets: BTreeMap<String, String>,
    /// The URL that answers 2xx once an arm at this side is ready, instead of the arm's.
    pub ready: Option<String>,
    pub cpus: Option<CpuList>,
}

/// How often and how long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Design {
    /// The time under load of each run; none: as long as the plan is.
    pub slot: Option<Duration>,
    /// After how many pairs it is decided whether to go on.
    pub looks: Vec<u32>,
    /// The longest that all of it may take; none: as long as it needs.
    pub budget: Option<Duration>,
    /// Of the order within pairs, and of the load of each pair.
    pub seed: u64,
    /// The chance of any false alarm, 0 to 1.
    pub level: f64,
    /// The chance that a change as large as the margin is called none, 0 to 1.
    #[serde(default = "usual_exclusion")]
    pub exclusion: f64,
    /// Rules whose findings do not invalidate the comparison: the difference is meant.
    pub accept: Vec<String>,
    /// How many starts of B may be bad; none where that is not asked.
    #[serde(default)]
    pub bad_starts: Option<BadStarts>,
    /// Processor profiles of both arms; none where it has none besides those of the plan.
    #[serde(default)]
    pub profiles: Option<SlotProfiles>,
    /// Both arms at the same moment; none: they run in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<Together>,
    /// Whether runs in turn are corrected by the reference probe.
    #[serde(default, skip_serializing_if = "Probe::is_auto")]
    pub probe: Probe,
}

/// Whether differences are corrected by the reference probe, whose work is constant: by how fast the machine was in each run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Probe {
    /// Where a calibration has shown that this lowers their deviation.
    #[default]
    Auto,
    /// Processor time in any case.
    On,
    Off,
}

impl Probe {
    fn is_auto(&self) -> bool {
        *self == Probe::Auto
    }
}

/// The share of B's starts that may be bad, which a mean over few pairs does not show.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BadStarts {
    /// 0 to 1.
    pub at_most: f64,
    /// A run is bad if a metric is worse than the median of A's runs by more than this: a share of it, or a difference of shares.
    pub worse_by: f64,
}

impl BadStarts {
    /// What is bad where nothing else is said: half as much again.
    pub const WORSE_BY: f64 = 0.5;
}

/// Processor profiles in random slots: of both runs of a pair, from the same second on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlotProfiles {
    pub target: String,
    /// How long each is; none: half of the longest phase, at most 30 s.
    pub length: Option<Duration>,
    /// The share of the pairs, above 0 to 1.
    pub share: f64,
}

impl Default for Design {
    fn default() -> Design {
        Design {
            slot: None,
            looks: vec![6, 10, 16],
            budget: None,
            seed: 1,
            level: 0.005,
            exclusion: usual_exclusion(),
            accept: Vec::new(),
            bad_starts: None,
            profiles: None,
            together: None,
            probe: Probe::Auto,
        }
    }
}

fn usual_exclusion() -> f64 {
    0.05
}

/// Something that decides an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateMetric {
    pub name: String,
    /// Its text in the file.
    pub source: String,
    pub quantity: Quantity,
    /// The change for the worse that is still accepted: a share of the baseline's value, of shares of requests a difference
    /// (0.001 is 0.1 percentage points).
    pub margin: f64,
    /// Whether more is better.
    pub is_better_higher: bool,
    /// How much of the reference probe's change its differences are corrected by; none: not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe_slope: Option<f64>,
}

impl GateMetric {
    /// A metric with the margin that is usual for what it measures.
    pub fn new(name: &str, source: &str, quantity: Quantity) -> GateMetric {
        GateMetric {
            name: name.to_owned(),
            source: source.to_owned(),
            margin: usual_margin(&quantity),
            is_better_higher: quantity.is_better_higher(),
            probe_slope: None,
            quantity,
        }
    }
}

/// 5 % of most; 10 % of high quantiles, which vary more; 2 % of allocations, which vary less; 0.1 percentage points of
/// shares.
fn usual_margin(quantity: &Quantity) -> f64 {
    match quantity {
        _ if quantity.is_share() => 0.001,
        Quantity::Cost { cost: CostKind::AllocatedBytes | CostKind::Allocations, .. } => 0.02,
        Quantity::Measure {
            measure:
                Measure::ResponseTime(statistic)
                | Measure::ServiceTime(statistic)
                | Measure::IterationTime(statistic),
            ..
        } if is_of_the_tail(*statistic) => 0.10,
        _ => 0.05,
    }
}

fn is_of_the_tail(statistic: Statistic) -> bool {
    matches!(statistic, Statistic::Max) || matches!(statistic, Statistic::Quantile(q) if q >= 0.99)
}
