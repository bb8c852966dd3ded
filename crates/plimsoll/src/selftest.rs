//! `plimsoll selftest`: what the generator can do on this machine, and how often verdicts and experiments are wrong.

use std::path::Path;

use conduct::failure::CommandResult;
use conduct::standard_output;
use evidence::TerminalText;
use selftest::GeneratorTest;
#[cfg(feature = "full")]
use selftest::{ExperimentOptions, ExperimentTest, LivePairsOfHost, VerdictOptions, VerdictTest};

use crate::arguments::SelftestEngineArguments;
#[cfg(feature = "full")]
use crate::arguments::{SelftestExperimentsArguments, SelftestVerdictsArguments};
#[cfg(not(feature = "full"))]
pub(crate) use crate::lean::simulation::{experiments, verdicts};
use crate::outputs::{self, PreopenedReports};

/// Verdicts or experiments are wrong more often than they say.
const WRONG_TOO_OFTEN: u8 = 1;

pub(crate) fn engine(arguments: &SelftestEngineArguments) -> CommandResult<u8> {
    let found = GeneratorTest::run(arguments.seconds)?;
    standard_output::print(&found.text())?;
    if let Some(path) = &arguments.json {
        outputs::put(path, &found.json())?;
    }
    Ok(0)
}

#[cfg(feature = "full")]
pub(crate) fn verdicts(arguments: &SelftestVerdictsArguments) -> CommandResult<u8> {
    let SelftestVerdictsArguments { runs, seed, only, json } = arguments;
    let found = VerdictTest::run(VerdictOptions { runs: *runs, seed: *seed, only: only.clone() })?;
    show(json.as_deref(), &found.text(), || found.json(), &PreopenedReports::default())?;
    Ok(if found.is_within_limits() { 0 } else { WRONG_TOO_OFTEN })
}

#[cfg(feature = "full")]
pub(crate) fn experiments(arguments: &SelftestExperimentsArguments) -> CommandResult<u8> {
    let SelftestExperimentsArguments { experiments, searches, seed, live, json } = arguments;
    // Once the files of others are read no other can be opened.
    let opened = PreopenedReports::all([json.as_deref()])?;
    let live = live.as_deref().map(LivePairsOfHost::read).transpose()?;
    let asked = ExperimentOptions { experiments: *experiments, searches: *searches, seed: *seed };
    let found = ExperimentTest::run(asked, live.as_ref());
    show(json.as_deref(), &found.text(), || found.json(), &opened)?;
    Ok(if found.meets_targets() { 0 } else { WRONG_TOO_OFTEN })
}

/// The text on standard output unless JSON takes it, and the JSON where it is asked for.
#[cfg(feature = "full")]
fn show(
    asked: Option<&Path>,
    text: &TerminalText,
    json: impl FnOnce() -> String,
    opened: &PreopenedReports,
) -> CommandResult<()> {
    if asked != Some(Path::new("-")) {
        standard_output::print(text)?;
    }
    asked.map_or(Ok(()), |path| opened.put(path, &json()))
}
