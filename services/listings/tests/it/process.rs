//! `listings serve` in a process of its own.

use std::process::Command;

use testkit::process::Process;

use crate::test_store::{BASE_SETTINGS, TestStore};

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_listings");

pub(crate) fn started(store: &TestStore) -> Process {
    Process::start(&mut serving(store))
}

pub(crate) fn serving(store: &TestStore) -> Command {
    let mut command = Command::new(BINARY);
    command.arg("serve").env_clear().envs(BASE_SETTINGS).envs(store.env());
    command
}
