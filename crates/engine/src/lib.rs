//! The loop that starts each arrival when due and drives its iteration.
//!
//! It owns the clock. It never waits for a reader: ticks are swapped for empty ones once a second, and when
//! the recorder lags the loop goes on accumulating. A failing target is data; an [`EngineError`] means that
//! the measurement itself has become impossible. No async runtime: readiness, a timer descriptor, and
//! protocols as state machines. Start reading at [`run`], then `event_loop`; what one virtual user does is
//! in [`iteration`].

mod accounting;
mod arrivals;
pub mod clock;
pub mod control;
mod dry_run;
mod event_loop;
mod exemplars;
pub mod iteration;
mod network;
pub mod operation;
pub mod program;
mod steps;
mod users;
mod vu_slots;

use std::sync::Arc;

use evidence::exchange::Outlet;
use workload::schedule::Segment;

pub use clock::Clock;
pub use control::{Command, Control};
pub use dry_run::{DryRun, DryRunError};
pub use event_loop::LATE_AFTER;
pub use network::Exhausted;
pub use program::{CompileError, Program};

use event_loop::{EventLoop, LoopEnd};
use iteration::Behaviour;

/// The measurement has become impossible. A failing target is never the reason.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The generator has run out of something.
    #[error(transparent)]
    Exhausted(#[from] Exhausted),
    /// The operating system refuses the loop itself.
    #[error("the operating system refuses the loop: {0}")]
    Poll(std::io::Error),
    /// Nobody records any more.
    #[error("the recorder is gone, so nothing more can be recorded")]
    RecorderGone,
    /// An iteration found that it cannot be carried out as the plan says.
    #[error("{0}")]
    Aborted(String),
    /// A loop's thread could not be started or did not come back.
    #[error("a loop of the engine has failed: {0}")]
    Loop(String),
}

/// What a run needs besides its outlets.
#[derive(Clone)]
pub struct RunOptions {
    /// What to offer.
    pub program: Arc<Program>,
    /// The run's clock.
    pub clock: Clock,
    /// Through which it can be stopped.
    pub control: Control,
    /// What virtual users do instead of the program's steps; none: the steps.
    pub behaviour: Option<Arc<dyn Behaviour>>,
}

/// What the loops leave behind, added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// The last second in which anything was recorded.
    pub last_second: u32,
    /// Requests that were begun and have no outcome.
    pub requests_in_flight: u64,
    /// Iterations that were started and neither done nor cancelled.
    pub iterations_in_flight: u64,
    /// Ticks that were folded into a later one because the recorder lagged.
    pub folded_ticks: u64,
}

/// Offer the load: one loop an outlet, each a segment of the whole. Returns when every scenario has run
/// its course or [`Control`] has stopped them.
///
/// # Errors
/// [`EngineError`] when the measurement has become impossible; the other loops are then stopped too.
pub fn run(setting: &RunOptions, outlets: Vec<Outlet>) -> Result<Totals, EngineError> {
    let count = u32::try_from(outlets.len()).unwrap_or(u32::MAX);
    let mut loops = Vec::new();
    for (index, outlet) in (0..count).zip(outlets) {
        loops.push(EventLoop::new(setting, Segment { index, count }, outlet)?);
    }
    let ends = std::thread::scope(|scope| {
        let threads: Vec<_> = loops.into_iter().map(|one| spawn(scope, (one, setting))).collect();
        let join = |thread: std::io::Result<std::thread::ScopedJoinHandle<'_, _>>| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|_| Err(EngineError::Loop("it panicked".into()))),
            Err(error) => Err(EngineError::Loop(error.to_string())),
        };
        threads.into_iter().map(join).collect::<Vec<Result<LoopEnd, EngineError>>>()
    });
    let mut remains = Totals::default();
    for end in ends {
        let end = end?;
        remains.last_second = remains.last_second.max(end.last_second);
        remains.requests_in_flight += end.requests_in_flight;
        remains.iterations_in_flight += end.iterations_in_flight;
        remains.folded_ticks += end.folded_ticks;
    }
    Ok(remains)
}

type LoopThread<'scope> = std::thread::ScopedJoinHandle<'scope, Result<LoopEnd, EngineError>>;

fn spawn<'scope>(
    scope: &'scope std::thread::Scope<'scope, '_>,
    (one, setting): (EventLoop, &RunOptions),
) -> std::io::Result<LoopThread<'scope>> {
    let control = setting.control.clone();
    let run = move || {
        let end = one.run();
        if end.is_err() {
            control.abandon();
        }
        end
    };
    std::thread::Builder::new().name("plimsoll-loop".into()).spawn_scoped(scope, run)
}
