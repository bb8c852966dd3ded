//! The virtual users that are made before the archive begins, so that the run's epoch waits for them.

use std::time::{Duration, Instant};

use engine::Loops;

use crate::failure::{CommandResult, Failure};
use crate::outputs;
use crate::prepare::PreparedRun;
use crate::run_request::{Progress, RunRequest};

/// After this long, and then as often, it is shown how many are made.
const SHOWN_EVERY: Duration = Duration::from_secs(2);

/// The loops of the run, with all virtual users that are made before it.
pub(crate) fn made_loops(prepared: &PreparedRun, request: &RunRequest<'_>) -> CommandResult<Loops> {
    let count = request.options.loops.into();
    let loops = Loops::make(&prepared.program, prepared.behaviour.as_ref(), count).map_err(Failure::own)?;
    let began = Instant::now();
    let mut was_shown = false;
    while !loops.wait(SHOWN_EVERY) {
        if request.progress == Progress::Shown {
            let (made, to_make) = loops.made();
            outputs::note(format_args!("virtual users made: {made} of {to_make}"));
            was_shown = true;
        }
    }
    if was_shown {
        let (made, took) = (loops.made().0, began.elapsed().as_secs_f64());
        outputs::note(format_args!("virtual users made: {made}, in {took:.1} s"));
    }
    Ok(loops)
}
