//! What offers the load: loops of this process, or of workers. It is ready before the archive begins, so that the run's epoch
//! waits for it.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use engine::iteration::Behaviour;
use engine::{EngineError, LoopGroup, Loops, Program, RunOptions, Totals};
use evidence::Observed;
use evidence::manifest::Worker;
use evidence::tick_channel::TickSender;

use crate::failure::{CommandResult, Failure};
use crate::run_request::{Progress, RunRequest};
use crate::screen;
use crate::workers::{ConnectedWorkers, ReadyWorkers};

/// After this long, and then as often, it is shown how many are made.
const SHOWN_EVERY: Duration = Duration::from_secs(2);

/// What offers the load.
pub(crate) enum LoadSource {
    /// Loops of this process.
    Local(Loops),
    Workers(ReadyWorkers),
}

/// What became of a load.
pub(crate) struct Offered {
    pub(crate) totals: Result<Totals, EngineError>,
    /// How many names of endpoints were folded into others.
    pub(crate) folded_endpoints: u64,
}

impl LoadSource {
    /// Creates the virtual users of the run in this process.
    pub(crate) fn local(
        program: &Arc<Program>,
        behaviour: Option<&Arc<dyn Behaviour>>,
        request: &RunRequest<'_>,
    ) -> CommandResult<LoadSource> {
        let group = LoopGroup::whole(request.loops);
        let loops = Loops::spawn(program, behaviour, &group).map_err(Failure::own)?;
        wait_for_virtual_users(&loops, request.progress);
        Ok(LoadSource::Local(loops))
    }

    /// Hands the run over to workers, which create its virtual users.
    pub(crate) fn workers(
        workers: ConnectedWorkers,
        program: &Program,
        request: &RunRequest<'_>,
    ) -> CommandResult<LoadSource> {
        workers.make_ready(program, request.loops).map(LoadSource::Workers)
    }

    /// What the run file says of the workers.
    pub(crate) fn described(&self) -> Vec<Worker> {
        match self {
            LoadSource::Local(_) => Vec::new(),
            LoadSource::Workers(workers) => workers.described(),
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
            LoadSource::Local(loops) => {
                let totals = loops.run(options, outlets);
                Offered { totals, folded_endpoints: options.program.folded_endpoints() }
            }
            LoadSource::Workers(workers) => {
                let totals = workers.run(options, outlets, observed);
                Offered { totals, folded_endpoints: options.program.folded_endpoints() }
            }
        }
    }
}

/// Waits until all virtual users are created that the run begins with.
fn wait_for_virtual_users(loops: &Loops, progress: Progress) {
    let began = Instant::now();
    let mut was_shown = false;
    while !loops.wait(SHOWN_EVERY) {
        if progress != Progress::Quiet {
            let (made, to_make) = loops.vus_ready();
            screen::note(format_args!("virtual users created: {made} of {to_make}"));
            was_shown = true;
        }
    }
    if was_shown {
        let (made, took) = (loops.vus_ready().0, began.elapsed().as_secs_f64());
        screen::note(format_args!("virtual users created: {made}, in {took:.1} s"));
    }
}
