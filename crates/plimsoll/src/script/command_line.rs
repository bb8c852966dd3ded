//! What a command line is completed by, and which of it is refused.

use std::collections::BTreeMap;

use anyhow::anyhow;
use conduct::failure::{CommandResult, Failure};
use conduct::screen;

use crate::arguments::{ScriptArguments, without_effect};

/// k6's exit code for a command line of which it refuses something.
const REFUSED: u8 = 255;

/// Something that a command line asks for and that cannot be had.
pub(super) fn refused(why: impl std::fmt::Display) -> Failure {
    Failure::Script { code: REFUSED, error: anyhow!("{why}") }
}

/// Complete flags by variables, and refuse or note those that have no effect.
pub(super) fn accept(arguments: &mut ScriptArguments) -> CommandResult<()> {
    if arguments.once {
        if arguments.workers.asked().is_some() {
            return Err(refused("--once makes its iterations in this process: leave out the workers"));
        }
        // One iteration shows nothing of them.
        arguments.no_thresholds = true;
    }
    let variables: BTreeMap<String, String> = std::env::vars().collect();
    if arguments.script.extension().is_some_and(|ending| ending == "tar") {
        let script = arguments.script.display();
        return Err(refused(format_args!("{script}: archives are not read: unpack it and run its script")));
    }
    if let Some(why) = arguments.foreign.refusal(&variables) {
        return Err(refused(why));
    }
    arguments.foreign.notes().iter().for_each(screen::note);
    let text = std::fs::read_to_string(&arguments.script).unwrap_or_default();
    without_effect(&variables, &text).iter().for_each(screen::note);
    arguments.complete(&variables).map_err(refused)
}
