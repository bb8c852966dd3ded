//! `plimsoll run SCRIPT` in a program that was built without scripts: what to build instead.

use anyhow::anyhow;
use cluster::Session;

use crate::arguments::ScriptArguments;
use crate::failure::{CommandResult, Failure};
use crate::workers::Served;

pub(crate) fn script(_: ScriptArguments) -> CommandResult<u8> {
    Err(unavailable())
}

pub(crate) fn served(_: serde_json::Value, _: &mut Session) -> CommandResult<Served> {
    Err(unavailable())
}

fn unavailable() -> Failure {
    Failure::Usage(anyhow!(
        "this program was built without k6 scripts, as `cargo xtask demo` does to begin sooner; \
         `cargo build --package plimsoll` builds one that runs them"
    ))
}
