//! `challenge` in a process of its own.

use std::process::Command;

use testkit::data::TestDatabase;
use testkit::process::Process;

use crate::database::PORTS;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_challenge");

/// `challenge all`, ready.
pub(crate) fn started(database: &TestDatabase, settings: &[(&str, String)]) -> Process {
    Process::start(serving(database).envs(settings.iter().map(|(name, value)| (*name, value))))
}

pub(crate) fn started_as(database: &TestDatabase, role: &str) -> Process {
    Process::start(&mut serving_as(database, role))
}

pub(crate) fn serving(database: &TestDatabase) -> Command {
    serving_as(database, "all")
}

pub(crate) fn serving_as(database: &TestDatabase, role: &str) -> Command {
    let mut command = Command::new(BINARY);
    command.arg(role).env_clear().envs(PORTS).envs(database.env());
    command
}
