//! What offers the load: loops of this process, or of workers. It is ready before the archive begins, so that the run's epoch
//! waits for it.

use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use engine::{EngineError, LoopGroup, Loops, RunOptions, Totals};
use evidence::Observed;
use evidence::manifest::Worker;
use evidence::tick_channel::TickSender;

use crate::failure::{CommandResult, Failure};
use crate::outputs;
use crate::prepare::PreparedRun;
use crate::run_request::{Progress, RunRequest};
use crate::workers::ReadyWorkers;

/// After this long, and then as often, it is shown how many are made.
const SHOWN_EVERY: Duration = Duration::from_secs(2);

/// What offers the load.
pub(crate) enum Offering {
    /// Loops of this process.
    Here(Loops),
    /// Those of workers.
    Elsewhere(ReadyWorkers),
}

/// What became of a load.
pub(crate) struct Offered {
    pub(crate) totals: Result<Totals, EngineError>,
    /// How many names of endpoints were folded into others.
    pub(crate) folded_endpoints: u64,
}

impl Offering {
    /// Make the virtual users of the run, here or in its workers.
    pub(crate) fn ready(prepared: &mut PreparedRun, request: &RunRequest<'_>) -> CommandResult<Offering> {
        match prepared.workers.take() {
            Some(workers) => {
                workers.make_ready(&prepared.program, request.options.loops).map(Offering::Elsewhere)
            }
            None => made_loops(prepared, request).map(Offering::Here),
        }
    }

    /// What the run file says of the workers.
    pub(crate) fn workers(&self, loops: u16) -> Vec<Worker> {
        match self {
            Offering::Here(_) => Vec::new(),
            Offering::Elsewhere(workers) => workers.described(loops),
        }
    }

    /// Offer the load.
    pub(crate) fn run(
        self,
        options: &RunOptions,
        outlets: Vec<TickSender>,
        observed: &Sender<Observed>,
    ) -> Offered {
        match self {
            Offering::Here(loops) => {
                let totals = loops.run(options, outlets);
                Offered { totals, folded_endpoints: options.program.folded_endpoints() }
            }
            Offering::Elsewhere(workers) => {
                let totals = workers.run(options, outlets, observed);
                Offered { totals, folded_endpoints: options.program.folded_endpoints() }
            }
        }
    }
}

/// The loops of the run, with all virtual users that are made before it.
fn made_loops(prepared: &PreparedRun, request: &RunRequest<'_>) -> CommandResult<Loops> {
    let group = LoopGroup::whole(request.options.loops);
    let loops = Loops::make(&prepared.program, prepared.behaviour.as_ref(), &group).map_err(Failure::own)?;
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
