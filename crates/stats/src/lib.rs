//! Intervals and tests, each with its source and one worked example. Pure: numbers in, numbers out.

#![warn(missing_docs)]

pub mod batch;
pub mod binomial;
pub mod difference;
pub mod gamma;
pub mod inversion;
pub mod line;
pub mod looks;
pub mod paired;
pub mod paired_deviations;
pub mod power;
pub mod rate;
pub mod regression;
pub mod sample;
pub mod signs;
pub mod steady;
pub mod student;
pub mod tolerance;
pub mod trend;

pub use batch::{
    Interval, batch_means, correlation_of_batches, design_effect, design_effect_of_shares, relaxation,
};
pub use binomial::{ShareLimits, UNKNOWN_DESIGN_EFFECT, fewest_without, share_limits};
pub use difference::{Proportion, fisher, total_variation, two_mixes, two_shares};
pub use inversion::{Inversion, InversionRules, LevelMargin};
pub use line::residuals;
pub use looks::{Looks, UnknownLooks};
pub use paired::{Paired, benjamini_hochberg, holm, sign_flip};
pub use paired_deviations::deviation_ratio_limit;
pub use power::{deviation_limit, normal_below, power, smallest_effect};
pub use rate::{RateLimits, RateWindow, rate_limits};
pub use regression::Regression;
pub use sample::{mean, quantile, standard_deviation};
pub use signs::{MedianLimits, falling_medians, sign_test};
pub use steady::{NotSteady, Steady, mser_5, steady};
pub use student::{t_quantile, t_two_sided};
pub use tolerance::tolerance_factor;
pub use trend::{Slope, Trend, mann_kendall, mann_kendall_within, theil_sen, theil_sen_within};
