//! The arguments of `plimsoll fetch-imports`.

use std::path::PathBuf;

use clap::Args;

pub(super) const EXAMPLES: &str = "\
Examples:
  plimsoll fetch-imports script.js                fetch what is missing, and write plimsoll-imports.lock beside the script
  plimsoll fetch-imports script.js --update       fetch all of it again, and lock what it is now
  plimsoll fetch-imports script.js --import-cache imports
  plimsoll run script.js --import-cache imports";

#[derive(Debug, Args)]
pub(crate) struct FetchImportsArguments {
    /// The script
    pub(crate) script: PathBuf,
    /// Keep the modules in this folder [default: plimsoll/imports in the user's cache]
    #[arg(long, value_name = "DIR")]
    pub(crate) import_cache: Option<PathBuf>,
    /// A variable in __ENV, as the script needs it to be evaluated
    #[arg(short = 'e', long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// Fetch modules again that are there, and accept what changed since they were locked
    #[arg(long)]
    pub(crate) update: bool,
}
