//! What a sample type measures, and how many samples a value is made of: the error of a sum of nanoseconds or bytes
//! depends on the number of samples that the profiler took.

use crate::model::{LabelValue, Profile, Sample};

/// What a sample type measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Processor time, sampled by a timer, over the time of the profile.
    Cpu,
    /// Allocations, since the process started unless it is a difference: the churn.
    Allocated,
    /// Memory in use at the last collection: the footprint.
    InUse,
    /// Waiting for locks or channels, since the process started unless it is a difference; off by default in Go.
    Contention,
    /// A state that was counted completely, such as goroutines.
    State,
    /// Anything else.
    Other,
}

impl Kind {
    /// What the sample type at this index measures.
    pub fn detect(profile: &Profile, index: usize) -> Kind {
        let Some(found) = profile.sample_types.get(index) else { return Kind::Other };
        match found.name.as_str() {
            "alloc_objects" | "alloc_space" => Kind::Allocated,
            "inuse_objects" | "inuse_space" => Kind::InUse,
            "contentions" | "delay" => Kind::Contention,
            "cpu" => Kind::Cpu,
            "samples" if profile.period_type.name == "cpu" => Kind::Cpu,
            name if found.unit == "count" && profile.period_type.name == name && profile.period <= 1 => {
                Kind::State
            }
            _ => Kind::Other,
        }
    }

    /// Whether a value only grows from the start of the process on, so that a window is a difference.
    pub fn accumulates(self) -> bool {
        matches!(self, Kind::Allocated | Kind::Contention)
    }

    /// Whether it shows a state: a cost per request has no meaning for it.
    pub fn is_state(self) -> bool {
        matches!(self, Kind::InUse | Kind::State)
    }

    /// The number of samples that a value needs to be tested.
    pub fn least_samples(self) -> f64 {
        match self {
            // About 10 MiB at Go's rate of one sample in 512 KiB.
            Kind::Allocated | Kind::InUse => 20.0,
            Kind::State => 0.0,
            Kind::Cpu | Kind::Contention | Kind::Other => 25.0,
        }
    }
}

/// What an empty profile means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sampling {
    /// There are samples.
    Seen,
    /// The rate in the profile is 0: its samples are older.
    Off,
    /// There are none, and the profiler may have been off: nothing was measured.
    OffOrUnknown,
    /// There are none, of a kind that is always on while it is captured.
    NoneSeen,
}

/// How many samples the profiler took for a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Counting {
    /// The value of the sample type at this index.
    Column(usize),
    /// One per period.
    Period(f64),
    /// Allocations are sampled at random, one in `rate_bytes` on average, and scaled up by their size.
    Heap {
        /// The index of the sample type that counts objects.
        objects: usize,
        /// Bytes between two samples on average.
        rate_bytes: f64,
    },
    /// All of them: a value has no sampling error.
    Complete,
    /// At most the value of the sample type at this index; the profiler's rate is not in the profile.
    AtMost(usize),
    /// The profile does not contain it.
    Unknown,
}

impl Counting {
    /// How the sample type at this index was sampled.
    pub(crate) fn of(profile: &Profile, index: usize) -> Counting {
        let column = |name: &str| profile.sample_types.iter().position(|found| found.name == name);
        let Some(found) = profile.sample_types.get(index) else { return Counting::Unknown };
        match Kind::detect(profile, index) {
            Kind::State => Counting::Complete,
            // Delays differ from one another by any factor, and the profile contains their sum only.
            Kind::Contention if found.name == "contentions" => Counting::AtMost(index),
            Kind::Contention => Counting::Unknown,
            Kind::Allocated | Kind::InUse => {
                let objects = found.name.split('_').next().map(|first| format!("{first}_objects"));
                match objects.and_then(|name| column(&name)) {
                    Some(objects) if profile.period > 1 => {
                        Counting::Heap { objects, rate_bytes: profile.period as f64 }
                    }
                    _ => Counting::Unknown,
                }
            }
            Kind::Cpu | Kind::Other => match column("samples") {
                Some(samples) if profile.sample_types[samples].unit == "count" => Counting::Column(samples),
                _ if profile.period > 0 && profile.period_type == *found => {
                    Counting::Period(profile.period as f64)
                }
                _ => Counting::Unknown,
            },
        }
    }

    /// How many samples a value of `sample` is made of, for the sample type that this was made for.
    pub(crate) fn samples_of(self, profile: &Profile, sample: &Sample<'_>, value: i64) -> Option<f64> {
        let column = |index: usize| sample.values.get(index).map(|count| count.unsigned_abs() as f64);
        match self {
            Counting::Column(index) | Counting::AtMost(index) => column(index),
            Counting::Period(period) => Some(value.unsigned_abs() as f64 / period),
            Counting::Heap { objects, rate_bytes } => {
                let objects = column(objects)?;
                let size = object_bytes(profile, sample)
                    .unwrap_or_else(|| value.unsigned_abs() as f64 / objects.max(1.0));
                // The runtime divided by this to scale the sample up.
                Some(objects * -(-size / rate_bytes).exp_m1())
            }
            Counting::Complete => Some(value.unsigned_abs() as f64),
            Counting::Unknown => None,
        }
    }
}

/// The size of the allocated objects, which Go's heap profiles contain for each sample.
fn object_bytes(profile: &Profile, sample: &Sample<'_>) -> Option<f64> {
    sample.labels.iter().find_map(|label| match label.value {
        LabelValue::Number(bytes, _) if bytes > 0 && profile.text(label.key) == "bytes" => Some(bytes as f64),
        _ => None,
    })
}
