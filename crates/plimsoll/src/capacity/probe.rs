//! One run of a search: the plan and the arm at one level.

use std::path::Path;
use std::time::Duration;

use evidence::capacity::ProbeStage;
use judge::capacity::PlannedProbe;
use workload::LoadedPlan;
use workload::capacity::{CapacityExperiment, OverloadShape, PLACEHOLDER, Searched, collapse};
use workload::experiment::Arm;

use super::record::Resolved;
use crate::arguments::{CapacityArguments, OverrideArguments};
use crate::experiment::arm::NotBegun;
use crate::experiment::list::MadeRun;
use crate::experiment::order::load_seed;
use crate::experiment::slot::{Slot, time_scale};
use crate::failure::CommandResult;
use crate::plan;
use crate::signals::Listener;

/// Steps of the bracket are not longer.
const LONGEST_BRACKET: Duration = Duration::from_secs(30);
/// Loads of the overload run, as multiples of the capacity, and the one before and after.
pub(super) const OVERLOADS: [f64; 3] = [1.2, 1.5, 2.0];
pub(super) const UNDERLOAD: f64 = 0.7;
/// A probe is not ended as collapsed before this share of it, or so much, has been measured.
const COLLAPSES_AFTER: f64 = 0.2;
const COLLAPSES_AFTER_AT_LEAST: Duration = Duration::from_secs(3);

/// What one run needs.
pub(super) struct Probe<'a> {
    pub(super) experiment: &'a CapacityExperiment,
    pub(super) resolved: &'a Resolved,
    pub(super) arguments: &'a CapacityArguments,
    pub(super) listener: &'a Listener,
    /// The folder of the search's runs.
    pub(super) folder: &'a Path,
    /// Its number, from 1.
    pub(super) number: u32,
    pub(super) planned: PlannedProbe,
}

/// How long a probe is under load.
pub(super) fn length(experiment: &CapacityExperiment, step_s: f64, stage: ProbeStage) -> Duration {
    let step = Duration::from_secs_f64(step_s);
    match stage {
        ProbeStage::Bracket => step.min(LONGEST_BRACKET),
        ProbeStage::Coarse | ProbeStage::Grid | ProbeStage::Again => step,
        ProbeStage::Hold => experiment.search.hold,
        ProbeStage::Overload => overload_shape(experiment).parts.iter().map(|(_, _, length)| *length).sum(),
    }
}

fn overload_shape(experiment: &CapacityExperiment) -> OverloadShape {
    OverloadShape::around(UNDERLOAD, &OVERLOADS, experiment.search.overload)
}

impl Probe<'_> {
    pub(super) fn make(&self) -> Result<MadeRun, NotBegun> {
        let slot = Slot {
            arm: &self.arm(),
            commands_in: &self.experiment.folder,
            plan: self.plan()?,
            folder: self.folder,
            name: format!("probe-{:03}", self.number),
            shown: format!("the arm of probe {}", self.number),
            rest: self.experiment.search.rest,
            options: &self.arguments.slots,
            listener: self.listener,
        };
        slot.make()
    }

    /// The arm with the level in its commands.
    fn arm(&self) -> Arm {
        let arm = &self.experiment.arm;
        if self.experiment.search.searched != Searched::Number {
            return arm.clone();
        }
        let level = format!("{:.0}", self.planned.level);
        let filled = |text: &String| text.replace(PLACEHOLDER, &level);
        Arm {
            start: arm.start.as_ref().map(filled),
            reset: arm.reset.as_ref().map(filled),
            env: arm.env.iter().map(|(name, value)| (name.clone(), filled(value))).collect(),
            ..arm.clone()
        }
    }

    /// The plan at the level of the probe, as long as its stage is, with the searched objectives alone.
    fn plan(&self) -> CommandResult<LoadedPlan> {
        let Probe { experiment, resolved, planned, .. } = self;
        let length = length(experiment, resolved.step_s, planned.stage);
        let length = if planned.stage == ProbeStage::Overload {
            Duration::from_secs_f64(resolved.step_s)
        } else {
            length
        };
        let overrides = OverrideArguments {
            targets: experiment.arm.targets.clone().into_iter().collect(),
            time_scale: time_scale(&experiment.plan, Some(length))?,
            load: resolved.plan_level.map(|plan| planned.level / plan),
            seed: Some(load_seed(experiment.search.seed, self.number)),
            ..OverrideArguments::default()
        };
        let mut plan = plan::resolve(&experiment.plan, &overrides)?;
        let workload = &mut plan.workload;
        workload.until_decided = None;
        let after = length.mul_f64(COLLAPSES_AFTER).max(COLLAPSES_AFTER_AT_LEAST)
            + Duration::from_secs(u64::from(resolved.warm_up_s));
        let collapses = experiment.slos.iter().filter_map(|slo| collapse(slo, after));
        workload.objectives = experiment.slos.iter().cloned().chain(collapses).collect();
        match planned.stage {
            ProbeStage::Overload => {
                let measured = workload.measured_phase(&experiment.slos).cloned();
                if let Some(measured) = measured {
                    *workload = overload_shape(experiment).of(workload, &measured);
                }
            }
            // What is asked for at the end of the hold is whether it held.
            ProbeStage::Hold => workload.objectives.truncate(experiment.slos.len()),
            ProbeStage::Bracket | ProbeStage::Coarse | ProbeStage::Grid | ProbeStage::Again => {}
        }
        Ok(plan)
    }
}
