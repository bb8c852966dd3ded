//! The evidence that objectives are measured in.

use evidence::run::ReadError;
use evidence::{Run, Seconds};
use figures::Figures;
use workload::{Filter, Workload};

use super::stalls::DisturbedTime;
use crate::backlog::{self, Backlog};

/// The evidence of one run.
pub(crate) struct MeasureSource<'a> {
    pub(crate) run: &'a dyn Run,
    pub(crate) workload: &'a Workload,
    pub(crate) figures: &'a Figures,
    pub(crate) disturbed: &'a DisturbedTime,
    /// Scenarios with which the target did not keep up.
    pub(crate) backlogs: &'a [Backlog],
}

/// What the measures of a run are read from, read.
pub(crate) struct Readings<'a> {
    run: &'a dyn Run,
    workload: &'a Workload,
    pub(crate) figures: Figures,
    disturbed: DisturbedTime,
    backlogs: Vec<Backlog>,
}

impl<'a> Readings<'a> {
    pub(crate) fn read(run: &'a dyn Run, workload: &'a Workload) -> Result<Readings<'a>, ReadError> {
        let figures = Figures::fold(run, workload)?;
        let disturbed = DisturbedTime::read(run, workload)?;
        let backlogs = backlog::backlogs(run, workload)?;
        Ok(Readings { run, workload, figures, disturbed, backlogs })
    }

    pub(crate) fn source(&self) -> MeasureSource<'_> {
        let Readings { run, workload, figures, disturbed, backlogs } = self;
        MeasureSource { run: *run, workload, figures, disturbed, backlogs }
    }
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
