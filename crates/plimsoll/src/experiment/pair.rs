//! One run of a pair: the plan with the pair's load, at one of the arms.

use std::path::Path;
use std::time::Duration;

use workload::LoadedPlan;
use workload::experiment::Experiment;

use super::arm::NotBegun;
use super::list::MadeRun;
use super::order::load_seed;
use super::sampled;
use super::slot::{Slot, time_scale};
use crate::arguments::{OverrideArguments, SlotArguments};
use crate::failure::CommandResult;
use crate::plan;
use crate::signals::Listener;

/// What one run of a pair needs.
pub(crate) struct PairRun<'a> {
    pub(crate) experiment: &'a Experiment,
    pub(crate) options: &'a SlotArguments,
    pub(crate) listener: &'a Listener,
    /// The folder of the experiment's runs.
    pub(crate) folder: &'a Path,
    /// The number of the pair.
    pub(crate) pair: u32,
    /// 0 is A, 1 is B.
    pub(crate) arm: usize,
}

impl PairRun<'_> {
    pub(crate) fn make(&self) -> Result<MadeRun, NotBegun> {
        let letter = if self.arm == 0 { 'a' } else { 'b' };
        let slot = Slot {
            arm: &self.experiment.arms[self.arm],
            commands_in: &self.experiment.folder,
            plan: self.plan()?,
            folder: self.folder,
            name: format!("pair-{:02}-{letter}", self.pair),
            shown: format!("arm {letter} of pair {}", self.pair),
            rest: Duration::ZERO,
            options: self.options,
            listener: self.listener,
        };
        slot.make()
    }

    /// The plan with the seed of the pair and the addresses of the arm.
    fn plan(&self) -> CommandResult<LoadedPlan> {
        let Experiment { plan: path, arms, design, .. } = self.experiment;
        let overrides = OverrideArguments {
            targets: arms[self.arm].targets.clone().into_iter().collect(),
            time_scale: time_scale(path, design.slot)?,
            seed: Some(load_seed(design.seed, self.pair)),
            ..OverrideArguments::default()
        };
        let mut plan = plan::resolve(path, &overrides)?;
        plan.workload.profiles.extend(sampled::mark(design, &plan.workload, self.pair));
        Ok(plan)
    }
}
