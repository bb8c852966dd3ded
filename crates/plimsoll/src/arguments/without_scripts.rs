//! `plimsoll run SCRIPT` in a program that was built without scripts: whatever follows is accepted, and nothing is run.

use std::ffi::OsString;

use clap::Args;

pub(super) const EXAMPLES: &str = "This program was built without k6 scripts.";
pub(super) const EXIT_CODES: &str = "";
/// What `check SCRIPT` becomes.
pub(super) const CHECK_FLAG: &str = "check-script";

#[derive(Debug, Args)]
pub(crate) struct ScriptArguments {
    /// The script and k6's flags
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}
