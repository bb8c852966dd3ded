//! Verbs that the program was built without: whatever follows them is accepted, so that the answer says what is missing.

use std::ffi::OsString;

use clap::Args;

/// Words that nothing reads.
#[derive(Debug, Args)]
pub(crate) struct UnreadArguments {
    /// The input
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<OsString>,
}

pub(super) mod generate {
    pub(in crate::arguments) const COMPLETIONS_EXAMPLES: &str = "This program was built without completions.";
    pub(in crate::arguments) const MAN_EXAMPLES: &str = "This program was built without manual pages.";
    pub(crate) use super::{UnreadArguments as CompletionsArguments, UnreadArguments as ManArguments};
}

pub(super) mod import {
    pub(in crate::arguments) const EXAMPLES: &str = "This program was built without imports.";
    pub(crate) use super::UnreadArguments as ImportArguments;
}
