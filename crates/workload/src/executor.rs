//! Executors: what starts the iterations of a scenario. In open models arrivals are independent of the target; in
//! closed models a virtual user starts its next iteration after its last one.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The highest number of virtual users of a scenario.
pub const MAX_VUS: u32 = 1_000_000;
/// The highest default of a VU limit: each user may open a connection, and processes may have few files.
pub const MOST_DEFAULT_VUS: u32 = 10_000;

/// What starts the iterations of a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "type")]
pub enum Executor {
    /// Open model: a constant number of arrivals a second.
    ConstantArrivalRate {
        /// Arrivals a second.
        rate: f64,
        /// How long arrivals come.
        duration: Duration,
    },
    /// Open model: the rate changes linearly within each stage.
    RampingArrivalRate {
        /// Arrivals a second at the start.
        start_rate: f64,
        /// The stages that follow.
        stages: Vec<Stage>,
    },
    /// Closed model: a constant number of virtual users.
    ConstantVus {
        /// The number of virtual users.
        vus: u32,
        /// How long new iterations start.
        duration: Duration,
    },
    /// Closed model: the number of virtual users changes linearly within each stage.
    RampingVus {
        /// The number of virtual users at the start.
        start_vus: u32,
        /// The stages that follow.
        stages: Vec<VuStage>,
        /// How long the iteration of a virtual user that is removed may take before it is cancelled.
        graceful_ramp_down: Duration,
    },
    /// Closed model: each virtual user makes the same number of iterations.
    PerVuIterations {
        /// The number of virtual users.
        vus: u32,
        /// The number of iterations of each virtual user.
        iterations: u64,
        /// How long new iterations start at most.
        max_duration: Duration,
    },
    /// Closed model: virtual users share a number of iterations; each free one starts the next.
    SharedIterations {
        /// The number of virtual users.
        vus: u32,
        /// The number of iterations of all virtual users together; at least one each.
        iterations: u64,
        /// How long new iterations start at most.
        max_duration: Duration,
    },
}

/// How the arrivals of an open model are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// At the instants at which the integral of the rate reaches a whole number.
    #[default]
    Even,
    /// At random and independent of each other, with the same mean rate: a Poisson process.
    Poisson,
}

/// A stage of a ramp of the arrival rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Arrivals a second at its end.
    pub to: f64,
    pub over: Duration,
}

/// A stage of a ramp of virtual users.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VuStage {
    /// Virtual users at its end.
    pub to: u32,
    pub over: Duration,
}

impl Executor {
    /// Offer so many times the arrivals a second; nothing changes in a closed model.
    pub fn scale_rate(&mut self, factor: f64) {
        match self {
            Executor::ConstantArrivalRate { rate, .. } => *rate *= factor,
            Executor::RampingArrivalRate { start_rate, stages } => {
                *start_rate *= factor;
                stages.iter_mut().for_each(|stage| stage.to *= factor);
            }
            Executor::ConstantVus { .. }
            | Executor::RampingVus { .. }
            | Executor::PerVuIterations { .. }
            | Executor::SharedIterations { .. } => {}
        }
    }

    /// How long iterations are started, at most.
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

    /// The highest number of virtual users of a closed model; none for an open model, which has as many as its
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

    /// The number of iterations, if that number ends the scenario.
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
