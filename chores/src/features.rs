//! The features that the tests are built with.

/// Fault injection and profiles of the services, on top of every default: one build has the code of all tests. What only
/// a build without them shows is checked by `without_faults`.
pub(crate) const FEATURES: [&str; 2] = [
    "--features",
    "challenge/faults,gateway/faults,listings/faults,challenge/profiling,gateway/profiling,listings/profiling",
];
