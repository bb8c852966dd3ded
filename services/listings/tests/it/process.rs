//! `listings serve` in a process of its own.

use std::process::Command;

use testkit::data::TestDatabase;
use testkit::process::Process;

use crate::database::BASE_SETTINGS;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_listings");

pub(crate) fn started(store: &TestDatabase) -> Process {
    Process::start(&mut serving(store))
}

pub(crate) fn serving(store: &TestDatabase) -> Command {
    let mut command = Command::new(BINARY);
    command.arg("serve").env_clear().envs(BASE_SETTINGS).envs(store.env());
    command
}
