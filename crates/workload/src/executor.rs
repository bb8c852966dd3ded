//! How arrivals come about: open models, whose arrivals depend on nothing, and closed ones, whose virtual
//! users begin again when they are done.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How arrivals come about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "type")]
pub enum Executor {
    /// Open model: this many arrivals a second, whatever the target does.
    ConstantArrivalRate {
        /// Arrivals a second.
        rate: f64,
        /// For how long.
        duration: Duration,
    },
    /// Open model: the rate moves linearly from stage to stage.
    RampingArrivalRate {
        /// Arrivals a second at the start.
        start_rate: f64,
        /// Where it goes from there.
        stages: Vec<Stage>,
    },
    /// Closed model: each virtual user begins its next iteration when the last one ended.
    ConstantVus {
        /// How many virtual users.
        vus: u32,
        /// For how long new iterations begin.
        duration: Duration,
    },
    /// Closed model: the number of virtual users moves linearly from stage to stage.
    RampingVus {
        /// How many virtual users there are at the start.
        start_vus: u32,
        /// Where their number goes from there.
        stages: Vec<VuStage>,
        /// How long the iteration of a virtual user that leaves may take before it is cancelled.
        graceful_ramp_down: Duration,
    },
    /// Closed model: each virtual user makes the same number of iterations.
    PerVuIterations {
        /// How many virtual users.
        vus: u32,
        /// How many iterations each of them makes.
        iterations: u64,
        /// For how long new iterations begin at most.
        max_duration: Duration,
    },
    /// Closed model: virtual users share a number of iterations; who is free takes the next.
    SharedIterations {
        /// How many virtual users.
        vus: u32,
        /// How many iterations they make together; at least one each.
        iterations: u64,
        /// For how long new iterations begin at most.
        max_duration: Duration,
    },
}

/// How the arrivals of an open model are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// One after the other as the rate earns them.
    #[default]
    Even,
    /// At random and independent of each other, at the same rate in the mean: a Poisson process.
    Poisson,
}

/// One stretch of a ramp of arrivals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Arrivals a second at its end.
    pub to: f64,
    /// How long it takes to get there.
    pub over: Duration,
}

/// One stretch of a ramp of virtual users.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VuStage {
    /// Virtual users at its end.
    pub to: u32,
    /// How long it takes to get there.
    pub over: Duration,
}

impl Executor {
    /// For how long it starts iterations, at most.
    pub fn duration(&self) -> Duration {
        match self {
            Executor::ConstantArrivalRate { duration, .. } | Executor::ConstantVus { duration, .. } => {
                *duration
            }
            Executor::RampingArrivalRate { stages, .. } => stages.iter().map(|s| s.over).sum(),
            Executor::RampingVus { stages, .. } => stages.iter().map(|s| s.over).sum(),
            Executor::PerVuIterations { max_duration, .. }
            | Executor::SharedIterations { max_duration, .. } => *max_duration,
        }
    }

    /// The highest number of arrivals a second; 0 for a closed model.
    pub fn peak_rate(&self) -> f64 {
        match self {
            Executor::ConstantArrivalRate { rate, .. } => *rate,
            Executor::RampingArrivalRate { start_rate, stages } => {
                stages.iter().map(|stage| stage.to).fold(*start_rate, f64::max)
            }
            _ => 0.0,
        }
    }

    /// The most virtual users a closed model has at once; none for an open one, which has as many as its
    /// arrivals need.
    pub fn peak_vus(&self) -> Option<u32> {
        match self {
            Executor::ConstantArrivalRate { .. } | Executor::RampingArrivalRate { .. } => None,
            Executor::ConstantVus { vus, .. }
            | Executor::PerVuIterations { vus, .. }
            | Executor::SharedIterations { vus, .. } => Some(*vus),
            Executor::RampingVus { start_vus, stages, .. } => {
                Some(stages.iter().map(|stage| stage.to).fold(*start_vus, u32::max))
            }
        }
    }

    /// How many iterations it makes, if that is what ends it.
    pub fn iterations(&self) -> Option<u64> {
        match self {
            Executor::PerVuIterations { vus, iterations, .. } => {
                Some(iterations.saturating_mul(u64::from(*vus)))
            }
            Executor::SharedIterations { iterations, .. } => Some(*iterations),
            _ => None,
        }
    }

    /// Whether arrivals are independent of completions.
    pub fn is_open(&self) -> bool {
        self.peak_vus().is_none()
    }
}
