//! Think times: the pauses that users make between requests, constant or drawn anew for each iteration.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::draw::Draw;
use crate::schedule::MAX_STAGE;

#[cfg(test)]
mod tests;

/// The 95th percentile of the standard normal distribution.
const Z95: f64 = 1.644_853_626_951_472_2;
/// The largest standard deviation of a normal think time, as a share of its mean: less than 0.14 % of the drawn times
/// are then below zero, and count as zero.
const MAX_DEVIATION: f64 = 1.0 / 3.0;
/// The largest ratio of the 95th percentile of a log-normal think time to its median: beyond it a mean says nothing.
const MAX_SPREAD: f64 = 100.0;

/// The pause before a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Think {
    /// Always the same. Stored as a duration, as in run files from before there were others.
    Constant(Duration),
    /// Drawn for each iteration.
    Drawn(ThinkDistribution),
}

/// What a think time is drawn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThinkDistribution {
    /// Any time between two, each as likely as any other.
    Uniform {
        /// The shortest.
        min: Duration,
        /// The longest.
        max: Duration,
    },
    /// Many short ones and few long ones, as between independent events.
    Exponential {
        /// The mean, which is the standard deviation too.
        mean: Duration,
    },
    /// Symmetric around its mean; drawn times below zero count as zero.
    Normal {
        mean: Duration,
        /// The standard deviation, at most a third of the mean.
        sd: Duration,
    },
    /// Skewed, as people's reading times are: half are shorter than the median, one in twenty is longer than `p95`.
    LogNormal {
        median: Duration,
        /// The 95th percentile: above the median, and at most 100 times as long.
        p95: Duration,
    },
}

impl Default for Think {
    fn default() -> Think {
        Think::Constant(Duration::ZERO)
    }
}

impl From<Duration> for Think {
    fn from(time: Duration) -> Think {
        Think::Constant(time)
    }
}

impl Think {
    /// The pause of the iteration whose choices `draw` makes; each step with think time has a `salt` of its own.
    pub fn time(&self, draw: &Draw, salt: u64) -> Duration {
        match self {
            Think::Constant(time) => *time,
            Think::Drawn(distribution) => distribution.time(draw.bits(salt)),
        }
    }

    /// The mean pause.
    pub fn mean(&self) -> Duration {
        match self {
            Think::Constant(time) => *time,
            Think::Drawn(distribution) => distribution.mean(),
        }
    }
}

impl ThinkDistribution {
    /// The time for 64 random bits.
    fn time(&self, bits: u64) -> Duration {
        let seconds = match self {
            ThinkDistribution::Uniform { min, max } => {
                let (min, max) = (min.as_secs_f64(), max.as_secs_f64());
                min + uniform(bits) * (max - min)
            }
            ThinkDistribution::Exponential { mean } => -uniform(bits).ln() * mean.as_secs_f64(),
            ThinkDistribution::Normal { mean, sd } => {
                (mean.as_secs_f64() + normal(bits) * sd.as_secs_f64()).max(0.0)
            }
            ThinkDistribution::LogNormal { median, p95 } => {
                median.as_secs_f64() * (sigma(*median, *p95) * normal(bits)).exp()
            }
        };
        Duration::try_from_secs_f64(seconds).map_or(MAX_STAGE, |time| time.min(MAX_STAGE))
    }

    fn mean(&self) -> Duration {
        match self {
            ThinkDistribution::Uniform { min, max } => (*min + *max) / 2,
            ThinkDistribution::Exponential { mean } | ThinkDistribution::Normal { mean, .. } => *mean,
            ThinkDistribution::LogNormal { median, p95 } => {
                median.mul_f64((sigma(*median, *p95).powi(2) / 2.0).exp())
            }
        }
    }

    /// Check that the times fit each other.
    ///
    /// # Errors
    /// What is wrong, and what to do.
    pub fn check(&self) -> Result<(), String> {
        match self {
            ThinkDistribution::Uniform { min, max } if min >= max => {
                Err("the second time of a range is longer than the first: `\"1s..3s\"`".to_owned())
            }
            ThinkDistribution::Exponential { mean } | ThinkDistribution::Normal { mean, .. } if mean.is_zero() => {
                Err("a mean think time is longer than 0".to_owned())
            }
            ThinkDistribution::Normal { mean, sd } if sd.is_zero() || sd.as_secs_f64() > mean.as_secs_f64() * MAX_DEVIATION => {
                Err("`sd` is above 0 and at most a third of `mean`, or times below 0 would be drawn; for a wider spread give \
                     `median` and `p95`"
                    .to_owned())
            }
            ThinkDistribution::LogNormal { median, p95 }
                if median.is_zero() || p95 <= median || p95.as_secs_f64() > median.as_secs_f64() * MAX_SPREAD =>
            {
                Err("`median` is above 0, and `p95` is longer than it, at most 100 times".to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// The standard deviation of the logarithm.
fn sigma(median: Duration, p95: Duration) -> f64 {
    (p95.as_secs_f64() / median.as_secs_f64()).ln() / Z95
}

/// Above 0 and below 1, uniformly distributed, by the upper 53 bits.
fn uniform(bits: u64) -> f64 {
    ((bits >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}

/// Standard normal, by the two halves of the bits (Box and Muller, "A Note on the Generation of Random Normal Deviates",
/// 1958). The largest is 6.8 standard deviations.
fn normal(bits: u64) -> f64 {
    let half = |bits: u64| ((bits & 0xffff_ffff) as f64 + 0.5) / (1_u64 << 32) as f64;
    (-2.0 * half(bits >> 32).ln()).sqrt() * (std::f64::consts::TAU * half(bits)).cos()
}
