//! `plimsoll run SCRIPT` in a program that was built without scripts: what to build instead.

use anyhow::anyhow;
use conduct::failure::{CommandResult, Failure};

use crate::arguments::ScriptArguments;

pub(crate) fn script(_: ScriptArguments) -> CommandResult<u8> {
    Err(unavailable())
}

#[cfg(feature = "full")]
pub(crate) fn served(
    _: serde_json::Value,
    _: &mut cluster::Session,
) -> CommandResult<conduct::workers::Served> {
    Err(unavailable())
}

fn unavailable() -> Failure {
    Failure::Usage(anyhow!(
        "this program was built without k6 scripts, as `cargo xtask demo` does to begin sooner; \
         `cargo build --package plimsoll` builds one that runs them"
    ))
}
