//! The environment variables of this process.

use std::collections::BTreeMap;

/// The values of the environment variables that a plan or an option names.
pub type Environment = BTreeMap<String, String>;

/// The value of an environment variable.
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
