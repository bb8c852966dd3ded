//! What is measured of a run where runs are compared: a measure without a bound, or a cost per request.

use serde::{Deserialize, Serialize};

use super::{Filter, Measure};

/// One number of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    Measure {
        measure: Measure,
        /// The observations that count.
        filter: Filter,
    },
    /// What a request costs its target.
    Cost {
        /// What it is paid with.
        cost: CostKind,
        /// The target; none if only one is observed.
        target: Option<String>,
        /// The phase; none for all.
        phase: Option<String>,
    },
}

/// What requests are paid with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostKind {
    /// `cpu_per_request(…)`: processor time, in ms.
    Cpu,
    /// `allocated_per_request(…)`: bytes allocated, as the target's Go runtime counts them.
    AllocatedBytes,
    /// `allocations_per_request(…)`: objects allocated, as the target's Go runtime counts them.
    Allocations,
}

impl CostKind {
    /// Each with the name that it is asked for by.
    pub const NAMES: [(&'static str, CostKind); 3] = [
        ("cpu_per_request", CostKind::Cpu),
        ("allocated_per_request", CostKind::AllocatedBytes),
        ("allocations_per_request", CostKind::Allocations),
    ];

    /// The observed rate that it is the integral of.
    pub fn series(self) -> &'static str {
        match self {
            CostKind::Cpu => "cpu",
            CostKind::AllocatedBytes => "go_memstats_alloc_bytes_total",
            CostKind::Allocations => "go_memstats_mallocs_total",
        }
    }

    /// What the integral is multiplied by to be in [`Quantity::unit`].
    pub fn factor(self) -> f64 {
        match self {
            CostKind::Cpu => 1_000.0,
            CostKind::AllocatedBytes | CostKind::Allocations => 1.0,
        }
    }
}

impl Quantity {
    /// The unit of its values, as [`Measure::unit`].
    pub fn unit(&self) -> &'static str {
        match self {
            Quantity::Measure { measure, .. } => measure.unit(),
            Quantity::Cost { cost: CostKind::Cpu, .. } => "ms",
            Quantity::Cost { cost: CostKind::AllocatedBytes, .. } => "bytes",
            Quantity::Cost { cost: CostKind::Allocations, .. } => "1/request",
        }
    }

    /// Whether its values are shares of requests: compared by their difference, because they may be 0.
    pub fn is_share(&self) -> bool {
        matches!(self, Quantity::Measure { measure: Measure::ErrorRate | Measure::CheckRate { .. }, .. })
    }

    /// Whether its values are times of requests or iterations.
    pub fn is_time(&self) -> bool {
        matches!(
            self,
            Quantity::Measure {
                measure: Measure::ResponseTime(_) | Measure::ServiceTime(_) | Measure::IterationTime(_),
                ..
            }
        )
    }

    /// Whether more of it is better.
    pub fn is_better_higher(&self) -> bool {
        matches!(
            self,
            Quantity::Measure {
                measure: Measure::Goodput { .. } | Measure::Throughput | Measure::CheckRate { .. },
                ..
            }
        )
    }
}
