//! `plimsoll ab`: pairs of runs of two arms, in random order, until it is decided whether the second is worse; or pairs
//! that were made before, judged.

use ::report::experiment::ExperimentSummary;
use stats::Looks;

use crate::arguments::{AbArguments, OnInconclusive};
use crate::experiment::{definition, given, session};
use crate::failure::CommandResult;
use crate::outputs;
use crate::signals::Listener;

pub(crate) fn ab(arguments: &AbArguments) -> CommandResult<u8> {
    if !arguments.from.is_empty() {
        return given::from_files(arguments);
    }
    if let Some(folder) = &arguments.judge {
        return given::again(folder, arguments);
    }
    let listener = Listener::start()?;
    let experiment = definition::read(arguments)?;
    let summary = session::run(&listener, &experiment, arguments)?;
    outputs::write_experiment(&summary, &arguments.outputs, &outputs::PreopenedReports::default())?;
    Ok(exit_code(&summary, arguments))
}

/// The exit code of its verdict.
pub(crate) fn exit_code(summary: &ExperimentSummary, arguments: &AbArguments) -> u8 {
    let on_inconclusive: OnInconclusive = arguments.outputs.inconclusive;
    outputs::exit_code(summary.judgement.verdict, on_inconclusive)
}

/// What is wrong with a list of looks, if anything is.
pub(crate) fn check_looks(at: &[u32]) -> Result<(), String> {
    Looks::new(at).map(drop).map_err(|_| {
        let known: Vec<String> = Looks::known().map(|looks| format!("{looks:?}")).collect();
        format!(
            "there are no constants for looks after {at:?} pairs; take one number from {} to {}, or one of {}",
            stats::looks::FEWEST_PAIRS,
            stats::looks::MOST_PAIRS,
            known.join(", ")
        )
    })
}
