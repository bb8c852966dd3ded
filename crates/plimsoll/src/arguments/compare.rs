//! The arguments of `plimsoll compare`.

use std::path::PathBuf;

use clap::Args;

use super::ReportFileArguments;

pub(super) const EXAMPLES: &str = "\
Examples:
  plimsoll compare before.plimsoll after.plimsoll
  plimsoll compare before.plimsoll after.plimsoll --html both.html --md both.md
  plimsoll compare before.plimsoll after.plimsoll --expect 'p95(list) -30%'
  plimsoll compare a.plimsoll b.plimsoll c.plimsoll --json - | jq .findings

A comparison describes and makes no claim: the exit code is 0 whatever it finds, 5 where the evidence of a run was changed
after it was sealed, and 2 where a file cannot be used.";

#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// The run files; the first is the baseline
    #[arg(required = true, num_args = 2..)]
    pub(crate) files: Vec<PathBuf>,
    /// A change that you expect, such as `p95 -30%` or `avg(list) +5%`; shown beside the measured change and marked as your
    /// expectation; repeatable
    #[arg(long, value_name = "CHANGE", allow_hyphen_values = true)]
    pub(crate) expect: Vec<judge::Expectation>,
    /// Show every phase, observed series and profile, and findings in full
    #[arg(short, long)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) reports: ReportFileArguments,
}
