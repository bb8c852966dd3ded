//! Intervals and tests, each with its source and one worked number. Pure: numbers in, numbers out.

pub mod batch;
pub mod sample;
pub mod student;

pub use batch::{Interval, batch_means, design_effect};
pub use sample::{mean, quantile, standard_deviation};
pub use student::t_quantile;
