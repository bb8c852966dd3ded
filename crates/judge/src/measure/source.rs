//! The evidence that objectives are measured in.

use evidence::{Run, Seconds};
use figures::Figures;
use workload::{Filter, Workload};

use super::stalls::DisturbedTime;
use crate::backlog::Backlog;

/// The evidence of one run.
pub(crate) struct MeasureSource<'a> {
    pub(crate) run: &'a dyn Run,
    pub(crate) workload: &'a Workload,
    pub(crate) figures: &'a Figures,
    pub(crate) disturbed: &'a DisturbedTime,
    /// Scenarios with which the target did not keep up.
    pub(crate) backlogs: &'a [Backlog],
}

impl MeasureSource<'_> {
    /// The confidence of each limit of a share, one-sided.
    pub(super) fn confidence(&self) -> f64 {
        crate::shares::confidence(self.workload)
    }

    /// The seconds from the beginning of the first phase that `filter` counts to the end of the last one.
    pub(crate) fn window(&self, filter: &Filter) -> Seconds {
        let is_in = |name: &str| filter.phase.as_deref().is_none_or(|phase| phase == name);
        let phases: Vec<Seconds> =
            self.figures.phases.iter().filter(|p| is_in(&p.name)).map(|p| p.seconds()).collect();
        let start = phases.iter().map(|s| s.start).min().unwrap_or(0);
        let end = phases.iter().map(|s| s.end).max().unwrap_or(0).min(self.run.seconds());
        start..end.max(start)
    }
}
