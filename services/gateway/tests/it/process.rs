//! `gateway serve` in a process of its own.

use std::process::Command;

use testkit::process::Process;

use crate::support::PORTS;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_gateway");

pub(crate) fn started(settings: &[(&str, &str)]) -> Process {
    Process::start(&mut serving(settings))
}

pub(crate) fn serving(settings: &[(&str, &str)]) -> Command {
    let mut command = Command::new(BINARY);
    command.arg("serve").env_clear().envs(PORTS).envs(settings.iter().copied());
    command
}
