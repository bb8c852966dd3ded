//! Arguments of `manifest` with a script.

use clap::Args;

use super::script::ScriptArguments;

/// What is printed of a script for a repository.
#[derive(Debug, Args)]
pub(crate) struct ScriptManifestArguments {
    #[command(flatten)]
    pub(crate) script: ScriptArguments,
    /// The name of the objects [default: the script's]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The Secret with the run's keys and the values of -e, which is not printed [default: the name]
    #[arg(long, value_name = "NAME")]
    pub(crate) secret: Option<String>,
}
