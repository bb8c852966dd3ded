//! `plimsoll ab`: pairs of runs of two arms, in random order, until it is decided whether the second is worse; or pairs
//! that were made before, judged.

mod bisect;
pub(crate) mod definition;
mod urls;

use ::report::Detail;
use ::report::experiment::ExperimentSummary;
use anyhow::Context as _;
use conduct::failure::{CommandResult, Failure};
use conduct::screen::note;
use conduct::signals::Listener;
use evidence::{ExperimentJudgement, Verdict};
use experiments::pairs::made_elsewhere::ForeignPairs;
use experiments::pairs::{PairedArms, Pairs, calibration, detectable};
use experiments::record::Record;
use experiments::session;
use workload::experiment::Experiment;

use crate::arguments::AbArguments;
use crate::outputs::{self, PreopenedReports};

pub(crate) fn ab(arguments: &AbArguments) -> CommandResult<u8> {
    let judgement = reported(arguments);
    if arguments.bisect {
        return Ok(bisect::exit_code(judgement));
    }
    let verdict = judgement?.map_or(Verdict::Inconclusive, |judgement| judgement.verdict);
    Ok(outputs::exit_code(verdict, arguments.session.outputs.on_inconclusive()))
}

/// The judgement on what was asked for, after its reports; none where there is nothing to judge.
fn reported(arguments: &AbArguments) -> CommandResult<Option<ExperimentJudgement>> {
    let AbArguments { from, against, gate, session, .. } = arguments;
    let preopened = || PreopenedReports::all(session.outputs.files.named());
    let (summary, reports) = if !from.is_empty() {
        let files = ForeignPairs::of(from, against)?;
        let reports = preopened()?;
        (files.judged(gate)?, reports)
    } else if let Some(folder) = &session.judge {
        let record = Record::<Pairs>::read(folder)?;
        let reports = preopened()?;
        (record.judged_again(folder)?, reports)
    } else {
        let drafts = tempfile::tempdir().context("no temporary folder can be made").map_err(Failure::own)?;
        let experiment = definition::read(arguments, drafts.path())?;
        if let Some(build) = &arguments.build
            && !bisect::builds(build)?
        {
            return Ok(None);
        }
        (made(arguments, experiment)?, PreopenedReports::default())
    };
    outputs::write(&summary, &session.outputs, Detail::Full, &reports)?;
    Ok(Some(summary.judgement))
}

/// Make the pairs; those of a bisection once more where they decide nothing.
fn made(arguments: &AbArguments, experiment: Experiment) -> CommandResult<ExperimentSummary> {
    let listener = Listener::start()?;
    let calibration = calibration::find(&experiment, arguments.calibration.as_deref())?;
    if !arguments.bisect {
        detectable::announce(&experiment, calibration.as_ref());
    }
    let arms = PairedArms::prepared(experiment, calibration)?;
    let mut options = arguments.session.options();
    let made = session::run::<Pairs>(&listener, &arms, &options)?;
    if !arguments.bisect || made.judgement.verdict != Verdict::Invalid {
        return Ok(made.summary());
    }
    note("the result is invalid: repeating these pairs once");
    options.folder = options.folder.map(|folder| folder.with_extension("again.ab"));
    Ok(session::run::<Pairs>(&listener, &arms, &options)?.summary())
}
