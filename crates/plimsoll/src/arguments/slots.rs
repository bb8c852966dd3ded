//! What experiments and capacity searches have in common.

use std::path::{Path, PathBuf};

use clap::Args;

use super::OnInconclusive;

/// How each of their runs is made.
#[derive(Debug, Clone, Args)]
pub(crate) struct SlotArguments {
    /// Loops that offer the load
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) loops: u16,
    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// Where they are reported, besides the terminal; `-` is standard output.
#[derive(Debug, Args)]
pub(crate) struct ExperimentOutputArguments {
    /// Write the report as one self-contained HTML file, with its plots
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write the report as Markdown, for a CI job's summary
    #[arg(long, value_name = "FILE")]
    pub(crate) md: Option<PathBuf>,
    /// Write the report as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the answers as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// The exit code of an INCONCLUSIVE verdict: 4, or 0 with a note
    #[arg(long, value_enum, value_name = "MODE", default_value = "fail")]
    pub(crate) inconclusive: OnInconclusive,
}

impl ExperimentOutputArguments {
    /// The files that are named.
    pub(crate) fn named(&self) -> [Option<&Path>; 4] {
        [&self.html, &self.md, &self.json, &self.junit].map(Option::as_deref)
    }
}
