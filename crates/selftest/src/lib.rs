//! Tests Plimsoll itself: what its generator can do on this machine, how often its verdicts and experiments are wrong.
//!
//! Each test is run, and shown as text and as JSON: [`GeneratorTest`], [`VerdictTest`], [`ExperimentTest`].

#[cfg(feature = "simulation")]
mod capacities;
#[cfg(feature = "simulation")]
mod diagnoses;
#[cfg(feature = "simulation")]
mod experiments;
mod generator;
#[cfg(feature = "simulation")]
pub mod sealed;
#[cfg(feature = "simulation")]
mod verdicts;

#[cfg(feature = "simulation")]
pub use crate::experiments::{ExperimentOptions, ExperimentTest, LivePairsOfHost};
pub use generator::GeneratorTest;
#[cfg(feature = "simulation")]
pub use verdicts::{VerdictOptions, VerdictTest};
