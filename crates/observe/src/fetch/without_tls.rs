//! A program that was built without TLS fetches documents without it.

use std::io;

use ureq::config::ConfigBuilder;
use ureq::typestate::AgentScope;

use crate::lean::refused;

pub(super) fn trusting_system(config: ConfigBuilder<AgentScope>) -> ConfigBuilder<AgentScope> {
    config
}

/// Check that there is TLS, which there is not.
pub(super) fn require() -> io::Result<()> {
    Err(refused("TLS"))
}
