//! Drafts that were tried: each step is sent once, and where one fails, its values are taken from other places.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use conduct::environment::environment;
use conduct::failure::{CommandResult, Failure};
use conduct::{once, screen, standard_output};
use draft::{Avoided, Choice, Draft};
use engine::{DryRun, DryRunError, Program};
use evidence::{Exemplar, Outcome as StepOutcome};
use plans::{Overrides, load};

use super::{Drafted, PLAN, checked, source};
use crate::arguments::NewArguments;

/// How often the steps are sent at most.
const MOST_TRIES: usize = 16;

/// Whether each status was that of the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Equal,
    Different,
}

pub(super) fn exit_code(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Equal => 0,
        Outcome::Different => 3,
    }
}

/// A draft whose steps were all answered as the source says, or the first one if there is none.
pub(super) fn drafted(arguments: &NewArguments) -> CommandResult<(Draft, Outcome)> {
    let mut avoided = Avoided::default();
    let mut draft = checked(source::drafted(arguments, &avoided)?)?;
    let first = draft.clone();
    for tried in 1..=MOST_TRIES {
        let exchanges = sent_once(&draft)?;
        let Some(failed) = exchanges.iter().find(|exchange| exchange.outcome != StepOutcome::Ok) else {
            screen::note(format_args!(
                "plimsoll: note: verified: each status is the expected one, at attempt {tried}"
            ));
            return Ok((draft, Outcome::Equal));
        };
        let Some(choice) = other_place(&draft, &failed.endpoint) else {
            standard_output::print(&once::show(failed))?;
            break;
        };
        screen::note(format_args!(
            "plimsoll: note: `{}` failed: another place than `{}` is tried for `{}`",
            failed.endpoint, choice.from, choice.name
        ));
        avoided.add(choice);
        draft = checked(source::drafted(arguments, &avoided)?)?;
    }
    screen::note(format_args!(
        "plimsoll: note: not verified: a step failed, and no other place has its values; the plan is the first draft"
    ));
    Ok((first, Outcome::Different))
}

/// A value that the failed step sends or extracts, and that other places have, too.
fn other_place<'d>(draft: &'d Draft, failed: &str) -> Option<&'d Choice> {
    let mut choices = draft.choices.iter().filter(|choice| choice.has_alternatives);
    choices.find(|choice| choice.step == failed || choice.from == failed)
}

/// What came of each step.
fn sent_once(draft: &Draft) -> CommandResult<Vec<Exemplar>> {
    let plan = load(Path::new(PLAN), &Drafted(&draft.text), &environment, &Overrides::default())
        .context("the steps cannot be sent")
        .map_err(Failure::usage)?;
    let program = Program::compile(plan).map_err(Failure::usage)?;
    let dry_run = DryRun::new(program).set_up().map_err(|error| match error {
        DryRunError::Engine(error) => Failure::own(error),
        failed @ DryRunError::Failed(_) => Failure::own(anyhow!("{failed}")),
    })?;
    dry_run.once().map_err(Failure::own)
}
