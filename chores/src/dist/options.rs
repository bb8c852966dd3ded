//! The arguments of `cargo xtask dist`.

use clap::builder::PossibleValuesParser;

use super::platform::{self, Platform};

/// Every binary that is shipped; its package has the same name.
const BINARIES: [&str; 4] = [TOOL, "challenge", "gateway", "listings"];
/// The one that is also packed.
pub(super) const TOOL: &str = "plimsoll";

/// What is asked for.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// These binaries only
    #[arg(value_parser = PossibleValuesParser::new(BINARIES))]
    names: Vec<String>,
    /// Make the tool's, install each package into a root of its own and use it there; needs root
    #[arg(long)]
    pub(super) check: bool,
    /// The platform
    #[arg(long, value_name = "PLATFORM", default_value = platform::DEFAULT, value_parser = Platform::of)]
    pub(super) target: Platform,
}

impl Options {
    /// All binaries, unless some are named or the tool's packages are tried.
    pub(super) fn binaries(&self) -> Vec<String> {
        let all = if self.check { &BINARIES[..1] } else { &BINARIES };
        match self.names.is_empty() {
            true => all.iter().map(|name| (*name).to_owned()).collect(),
            false => self.names.clone(),
        }
    }
}
