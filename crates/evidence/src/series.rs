//! What an observer yields: values of a named series over the run's time.

use serde::{Deserialize, Serialize};

use crate::instance::Instance;
use crate::key::Name;
use crate::time::Instant;

/// What a series is about: `cpu` of target `challenge`, in cores.
///
/// The names observers and objectives share: `cpu` (cores: CPU-seconds a second), `rss` (bytes),
/// `processes`, `threads`, `fds` (open file descriptors), `ctx_voluntary` and `ctx_involuntary` (context switches a
/// second), `busiest_thread_cpu` (cores) and `run_delay` (seconds a second that its threads waited for a processor). The generator's own are kept under the target [`SeriesKey::GENERATOR`], with `in_flight`,
/// `virtual_users`, `connections`, `loop_cpu` (share of a core), `script_cpu` (the part of it that a script used) and
/// `recorder_lag` (seconds) besides.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SeriesKey {
    /// The series' name.
    pub name: Name,
    /// The target it describes, by its name in the plan.
    pub target: Name,
    /// The unit of its values: `cores`, `bytes`, `bytes/s`, `1`, `1/s`, `s`, `s/s`, `Hz`.
    pub unit: Name,
    /// Distinguishes several series of one name: a scenario, a process, labels. Empty when there is one.
    pub part: Name,
    /// The part of the generator that it is about; none for what is about a target, a machine or a whole process.
    pub instance: Option<Instance>,
}

impl SeriesKey {
    /// The target name under which the generator keeps its own series.
    pub const GENERATOR: &'static str = "generator";
    /// The name of the generator's series of the CPU that the code of a script used, which is part of `loop_cpu`.
    pub const SCRIPT_CPU: &'static str = "script_cpu";

    /// The name of the generator's series of how far a worker's clock is ahead of where it was when the load began.
    pub const CLOCK_DRIFT: &'static str = "clock_drift";
    /// The name of the generator's series of how far from the truth that may be.
    pub const CLOCK_ERROR: &'static str = "clock_error";
    /// The name of the generator's series of the arrivals that a worker has begun, per second.
    pub const OFFERED: &'static str = "offered";

    /// A series of which there is one for the target.
    pub fn new(name: &str, target: &str, unit: &str) -> Self {
        let [name, target, unit] = [name, target, unit].map(Name::from);
        SeriesKey { name, target, unit, part: "".into(), instance: None }
    }

    /// What its samples are of. The unit says it: `cores`, and everything per second, are rates.
    pub fn kind(&self) -> SampleKind {
        match &*self.unit {
            "cores" => SampleKind::Rate,
            unit if unit.ends_with("/s") => SampleKind::Rate,
            _ => SampleKind::Level,
        }
    }

    /// The processor time of a round of the reference probe, whose work is constant: how slow the machine is.
    pub fn reference_probe() -> Self {
        SeriesKey::new("host_probe", "host", "us")
    }

    /// The same series of one part.
    pub fn part(self, part: &str) -> Self {
        SeriesKey { part: part.into(), ..self }
    }

    /// The same series of one part of the generator.
    pub fn instance(self, instance: Instance) -> Self {
        SeriesKey { instance: Some(instance), ..self }
    }

    /// Part and instance in words, for tables: `loop 2`, `play`, `play loop 2`. The first loop's number is left out after a
    /// part. Nothing is found by it.
    pub fn label(&self) -> String {
        match self.instance {
            Some(instance) if self.part.is_empty() => instance.to_string(),
            Some(instance) if instance != Instance::default() => format!("{} {instance}", self.part),
            _ => self.part.to_string(),
        }
    }
}

/// What the samples of a series are of; see [`crate::coverage`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleKind {
    /// The interval since the sample before.
    Rate,
    /// The instant of the sample.
    Level,
}

/// One value of a series. A gap is an absent sample, never a zero.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// When the value was read, or the end of the interval a rate covers.
    pub at: Instant,
    /// In the series' unit.
    pub value: f64,
}
