//! Intervals and tests, each with its source and one worked number. Pure: numbers in, numbers out.

pub mod batch;
pub mod student;

pub use batch::{Interval, batch_means};
pub use student::t_quantile;
