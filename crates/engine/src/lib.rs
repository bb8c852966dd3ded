//! The loop that starts each arrival when due and drives its iteration.
//!
//! It owns the clock. It never waits for a reader: ticks are swapped for empty ones once a second, and when
//! the recorder lags the loop keeps adding to the same tick. A failing target is data; an [`EngineError`] means
//! that the measurement itself has become impossible. There is no async runtime: the engine uses readiness
//! events, a timer descriptor, and protocols as state machines. Start reading at [`run`], then `event_loop`;
//! what one virtual user does is in [`iteration`].

#![cfg_attr(not(feature = "tls"), allow(dead_code, reason = "only TLS uses it"))]

mod absent;
mod accounting;
mod arrivals;
pub mod body;
mod body_budget;
pub mod clock;
pub mod control;
mod dry_run;
mod event_loop;
pub mod exchange;
mod exemplars;
mod handover;
mod index;
pub mod iteration;
mod loops;
mod merged_names;
mod metrics;
mod needed_rows;
mod network;
mod operation;
pub mod program;
mod script_cpu;
mod shared_iterations;
mod steps;
mod teardown;
pub mod tls_offer;
mod users;
mod vu_numbers;
mod vu_slots;
mod window;

use std::sync::Arc;

use evidence::Instant;
use evidence::tick_channel::TickSender;

pub use absent::AbsentLoop;
pub use body_budget::{BODY_BUDGET_BYTES, BodyBudget, BudgetError, HeldBytes};
pub use clock::Clock;
pub use control::{Command, Control};
pub use dry_run::{DryRun, DryRunError, DryRunProgress, LeftOut, StepUnderWay};
pub use event_loop::{LATE_AFTER, Wakeup};
pub use index::{CheckIndex, CheckNameIndex, EndpointIndex, OriginIndex};
pub use loops::{LoopGroup, Loops};
pub use merged_names::MergedNames;
pub use metrics::NotFinite;
pub use network::Exhausted;
pub use program::{CompileError, KeptExchanges, LimitsMet, Program};
pub use teardown::teardown_tick;

use iteration::Behaviour;

/// The measurement has become impossible. A failing target is never the reason.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The generator has run out of something.
    #[error(transparent)]
    Exhausted(#[from] Exhausted),
    /// The operating system refuses the loop itself.
    #[error("cannot set up the event loop: {0}")]
    Poll(std::io::Error),
    /// The recorder has ended before the run.
    #[error("the recorder is gone, so nothing more can be recorded")]
    RecorderGone,
    /// An iteration cannot be carried out as planned; the reason.
    #[error("{0}")]
    Aborted(String),
    /// Every process that offered the load for this one is gone; the reasons.
    #[error("{0}")]
    Lost(String),
    /// A loop's thread could not be started, or panicked.
    #[error("a loop of the engine has failed: {0}")]
    Loop(String),
}

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
    /// How loops are woken when something is due: by default the most exact way that this system has.
    pub wakeup: Wakeup,
}

impl RunOptions {
    /// A run of the program's own steps by this clock and a new control.
    pub fn new(program: Arc<Program>, clock: Clock) -> RunOptions {
        RunOptions { program, clock, control: Control::new(), behaviour: None, wakeup: Wakeup::default() }
    }
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
    let group = LoopGroup::whole(u16::try_from(outlets.len()).unwrap_or(u16::MAX));
    Loops::spawn(&options.program, options.behaviour.as_ref(), &group)?.run(options, outlets)
}
