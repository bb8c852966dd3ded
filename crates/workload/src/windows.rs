//! The windows of a run's phases.

use evidence::run::{ReadError, load_end};
use evidence::{PhaseSpan, Run, Windows};

use crate::model::{Phase, Workload};

impl Workload {
    /// The windows of the phases of `run`, which offered this workload: what ended in one is counted per second of it.
    ///
    /// # Errors
    /// [`ReadError`] when the evidence cannot be read.
    pub fn windows(&self, run: &dyn Run) -> Result<Windows, ReadError> {
        let load = load_end(run)?;
        let span = |phase: &Phase| {
            let offered = self.offered_of(phase, load);
            PhaseSpan {
                name: phase.name.as_str().into(),
                begin: phase.start,
                end: phase.start + offered,
                is_cut: offered < phase.end.saturating_sub(phase.start),
            }
        };
        Ok(Windows::read(run, self.phases.iter().map(span).collect()))
    }
}
