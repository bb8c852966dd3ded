//! The loop that starts each arrival when due and drives its iteration.
//!
//! It owns the clock. It never waits for a reader: ticks are swapped for empty ones once a second, and when
//! the recorder lags the loop keeps adding to the same tick. A failing target is data; an [`EngineError`] means
//! that the measurement itself has become impossible. There is no async runtime: the engine uses readiness
//! events, a timer descriptor, and protocols as state machines. Start reading at [`run`], then `event_loop`;
//! what one virtual user does is in [`iteration`].

mod accounting;
mod arrivals;
mod body_budget;
pub mod clock;
pub mod control;
mod dry_run;
mod event_loop;
pub mod exchange;
mod exemplars;
mod index;
pub mod iteration;
mod metrics;
mod network;
mod operation;
pub mod program;
mod script_cpu;
mod steps;
mod users;
mod vu_slots;

use std::sync::Arc;

use evidence::Instant;
use evidence::tick_channel::TickSender;
use workload::schedule::Segment;

pub use body_budget::BODY_BUDGET_BYTES;
pub use clock::Clock;
pub use control::{Command, Control};
pub use dry_run::{DryRun, DryRunError};
pub use event_loop::LATE_AFTER;
pub use index::{CheckIndex, EndpointIndex, OriginIndex};
pub use metrics::NotFinite;
pub use network::Exhausted;
pub use program::{CompileError, Program};

use event_loop::{EventLoop, LoopLinks, LoopLoad, LoopShare, LoopTotals, Shared};
use iteration::Behaviour;
use vu_slots::BegunIterations;

/// The measurement has become impossible. A failing target is never the reason.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The generator has run out of something.
    #[error(transparent)]
    Exhausted(#[from] Exhausted),
    /// The operating system refuses the loop itself.
    #[error("the operating system refuses the loop: {0}")]
    Poll(std::io::Error),
    /// The recorder has ended before the run.
    #[error("the recorder is gone, so nothing more can be recorded")]
    RecorderGone,
    /// An iteration cannot be carried out as planned; the reason.
    #[error("{0}")]
    Aborted(String),
    /// A loop's thread could not be started, or panicked.
    #[error("a loop of the engine has failed: {0}")]
    Loop(String),
}

/// The options of a run.
#[derive(Clone)]
pub struct RunOptions {
    /// The load to offer.
    pub program: Arc<Program>,
    /// The run's clock.
    pub clock: Clock,
    /// Stops the run.
    pub control: Control,
    /// What virtual users do instead of the program's steps; none: the steps, of which a scenario of a script has none.
    pub behaviour: Option<Arc<dyn Behaviour>>,
}

/// Totals of a run, over all loops.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// The last second in which anything was recorded, from 0.
    pub last_second: u32,
    /// Requests that began and have no outcome.
    pub requests_in_flight: u64,
    /// Iterations that started and were neither done nor cancelled.
    pub iterations_in_flight: u64,
    /// Ticks that were folded into a later one because the recorder lagged.
    pub folded_ticks: u64,
    /// When the first loop obeyed [`Control`] and started nothing more; none in a run that was not stopped.
    pub stopped_at: Option<Instant>,
}

/// Offer the load, with one loop for each outlet, each a segment of the whole. Returns when every scenario is
/// over or [`Control`] has stopped the run.
///
/// # Errors
/// [`EngineError`] when the measurement has become impossible; the other loops are then stopped too.
pub fn run(options: &RunOptions, outlets: Vec<TickSender>) -> Result<Totals, EngineError> {
    let count = u32::try_from(outlets.len()).unwrap_or(u32::MAX);
    let begun: Arc<[_]> = options.program.shape.all().map(|_| BegunIterations::default()).collect();
    let shared = Shared::default();
    let ends = std::thread::scope(|scope| {
        let shares =
            (0..count).map(|index| LoopShare { segment: Segment { index, count }, begun: begun.clone() });
        let links = outlets.into_iter().map(|outlet| LoopLinks { outlet, shared: shared.clone() });
        let threads: Vec<_> =
            shares.zip(links).map(|(share, links)| spawn(scope, options, share, links)).collect();
        let join = |thread: std::io::Result<std::thread::ScopedJoinHandle<'_, _>>| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|_| Err(EngineError::Loop("it panicked".into()))),
            Err(error) => Err(EngineError::Loop(error.to_string())),
        };
        threads.into_iter().map(join).collect::<Vec<Result<LoopTotals, EngineError>>>()
    });
    let mut totals = Totals::default();
    for end in ends {
        let end = end?;
        totals.last_second = totals.last_second.max(end.last_second);
        totals.requests_in_flight += end.requests_in_flight;
        totals.iterations_in_flight += end.iterations_in_flight;
        totals.folded_ticks += end.folded_ticks;
        totals.stopped_at = totals.stopped_at.into_iter().chain(end.stopped_at).min();
    }
    Ok(totals)
}

type LoopThread<'scope> = std::thread::ScopedJoinHandle<'scope, Result<LoopTotals, EngineError>>;

/// Start a loop, which is made in its own thread: virtual users stay there.
fn spawn<'scope>(
    scope: &'scope std::thread::Scope<'scope, '_>,
    options: &'scope RunOptions,
    share: LoopShare,
    links: LoopLinks,
) -> std::io::Result<LoopThread<'scope>> {
    let guard = LoopGuard { others: Some(options.control.clone()) };
    let run = move || {
        let end = EventLoop::new(options, LoopLoad::Share(share), links).and_then(EventLoop::run);
        if end.is_ok() {
            guard.disarm();
        }
        end
    };
    std::thread::Builder::new().name("plimsoll-loop".into()).spawn_scoped(scope, run)
}

/// Ends the other loops when it is dropped with them: its loop failed or panicked, or its thread never started.
struct LoopGuard {
    others: Option<Control>,
}

impl LoopGuard {
    /// The loop ended well: the others go on.
    fn disarm(mut self) {
        self.others = None;
    }
}

impl Drop for LoopGuard {
    fn drop(&mut self) {
        if let Some(others) = &self.others {
            others.abandon();
        }
    }
}
