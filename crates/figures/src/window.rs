//! The phases of a run, and what happened in the window of each.

use std::time::Duration;

use evidence::run::ReadError;
use evidence::{Ending, Instant, Run, Seconds, Window};
use workload::{Phase, Workload};

use crate::scenario_phase::ScenarioPhase;

/// Requests that began and ended in the window of a phase, whenever they were due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WindowCounts {
    /// Requests that began in it.
    pub begun: u64,
    /// Of these, the ones of iterations of an earlier phase.
    pub begun_by_earlier: u64,
    /// Requests that iterations of this phase began after it.
    pub begun_after: u64,
    /// In success or failure.
    pub completed: u64,
    /// By the generator.
    pub cancelled: u64,
    /// In flight at its end, over all loops; none where that was not counted.
    pub in_flight_at_end: Option<u64>,
}

/// A phase, as far as there is evidence of it.
#[derive(Debug, Clone)]
pub struct PhaseWindow {
    /// The phase's name.
    pub name: String,
    /// Where it begins.
    pub start: Duration,
    /// Its end in the plan; if the run ended earlier, no later than its last second with load.
    pub end: Duration,
    /// How much of it was offered: what counts are divided by.
    pub offered: Duration,
}

impl PhaseWindow {
    /// How much of it was offered, in seconds.
    pub fn length_s(&self) -> f64 {
        self.offered.as_secs_f64()
    }

    /// The seconds of the run that it overlaps.
    pub fn seconds(&self) -> Seconds {
        let second = |nanos: u128| u32::try_from(nanos).unwrap_or(u32::MAX);
        second(self.start.as_nanos() / 1_000_000_000)..second(self.end.as_nanos().div_ceil(1_000_000_000))
    }

    /// The window of its samples.
    pub fn window(&self) -> Window {
        Window { begin: Instant::at(self.start), end: Instant::at(self.end) }
    }
}

/// The phases. Those of a run that was cut short end with the last whole second in which anything was due: what the run
/// did not reach must not count as slowness. A run that ends when its iterations are done ends with the last second in
/// which anything was due, whole or not: nothing is missing from it. The phase of an imported run was made from its
/// evidence.
pub(crate) fn of_phases(
    run: &dyn Run,
    workload: &Workload,
    scenario_phases: &[ScenarioPhase],
) -> Result<Vec<PhaseWindow>, ReadError> {
    let load = evidence::run::load_end(run)?;
    let is_complete = run.end().is_some_and(|end| end.ending == Ending::Completed);
    let last_due =
        scenario_phases.iter().filter_map(|s| s.by_second.last_key_value().map(|(second, _)| *second)).max();
    let last_due = Duration::from_secs(u64::from(last_due.unwrap_or(0)));
    let over = last_due + Duration::from_secs(1);
    let ends_when_done = workload.scenarios.iter().any(|s| s.executor.iterations().is_some());
    let is_imported = run.manifest().source.is_some();
    let cut = |at: Duration| match is_complete {
        _ if is_imported || at <= over => at,
        true if ends_when_done => over,
        true => at,
        false => last_due,
    };
    let window = |phase: &Phase| PhaseWindow {
        name: phase.name.clone(),
        start: cut(phase.start),
        // A phase that the run did not reach is empty; its length must not be negative.
        end: cut(phase.end).max(cut(phase.start)),
        offered: workload.offered_of(phase, load),
    };
    Ok(workload.phases.iter().map(window).collect())
}
