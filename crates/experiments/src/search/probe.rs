//! One run of a search: the plan and the arm at one level.

use std::time::Duration;

use conduct::failure::CommandResult;
use conduct::plan;
use conduct::run_request::ProbeUse;
use evidence::capacity::{ProbeStage, shown_level};
use plans::Overrides;
use serde::{Deserialize, Serialize};
use workload::LoadedPlan;
use workload::capacity::{CapacityExperiment, PLACEHOLDER, Searched, collapse};
use workload::experiment::Arm;

use super::lengths::{length, overload_shape};
use super::range::Resolved;
use crate::design::RunPlace;
use crate::slot::{SlotPlan, load_seed, time_scale};

/// A probe is not ended as collapsed before this share of it, or so much, has been measured.
const COLLAPSES_AFTER: f64 = 0.2;
const COLLAPSES_AFTER_AT_LEAST: Duration = Duration::from_secs(3);

/// What one run needs.
pub(super) struct Probe<'a> {
    pub(super) experiment: &'a CapacityExperiment,
    pub(super) resolved: &'a Resolved,
    pub(super) place: &'a ProbeRun,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbeRun {
    /// Its number, from 1.
    pub number: u32,
    pub stage: ProbeStage,
    pub level: f64,
}

impl RunPlace for ProbeRun {
    fn step(&self) -> u32 {
        self.number
    }

    fn side(&self) -> usize {
        0
    }
}

impl Probe<'_> {
    pub(super) fn plan(&self) -> CommandResult<SlotPlan> {
        let ProbeRun { number, stage, level } = *self.place;
        let search = &self.experiment.search;
        let length = length(search, self.resolved.step_s, stage);
        Ok(SlotPlan {
            letter: 'A',
            arm: self.arm(),
            load: self.load()?,
            name: format!("probe-{number:03}"),
            shown: format!("the arm of probe {number}"),
            title: format!(
                "probe {number}, {}: {} for {:.0} s",
                name(stage),
                shown_level(level, search.searched.unit()),
                length.as_secs_f64()
            ),
            probe: ProbeUse::None,
            rest: search.rest,
        })
    }

    /// The arm with the level in its commands.
    fn arm(&self) -> Arm {
        let arm = &self.experiment.arm;
        if self.experiment.search.searched != Searched::Number {
            return arm.clone();
        }
        let level = format!("{:.0}", self.place.level);
        let filled = |text: &String| text.replace(PLACEHOLDER, &level);
        Arm {
            start: arm.start.as_ref().map(filled),
            reset: arm.reset.as_ref().map(filled),
            env: arm.env.iter().map(|(name, value)| (name.clone(), filled(value))).collect(),
            ..arm.clone()
        }
    }

    /// The plan at the level of the probe, as long as its stage is, with the searched objectives alone.
    fn load(&self) -> CommandResult<LoadedPlan> {
        let Probe { experiment, resolved, place } = self;
        let length = match place.stage {
            ProbeStage::Overload => Duration::from_secs_f64(resolved.step_s),
            stage => length(&experiment.search, resolved.step_s, stage),
        };
        let overrides = Overrides {
            targets: experiment.arm.targets.clone(),
            time_scale: time_scale(&experiment.plan, Some(length))?,
            load: resolved.plan_level.map(|plan| place.level / plan),
            seed: Some(load_seed(experiment.search.seed, place.number)),
            ..Overrides::default()
        };
        let mut plan = plan::resolve(&experiment.plan, &overrides)?;
        let workload = &mut plan.workload;
        workload.until_decided = None;
        let after = length.mul_f64(COLLAPSES_AFTER).max(COLLAPSES_AFTER_AT_LEAST)
            + Duration::from_secs(u64::from(resolved.warm_up_s));
        let collapses = experiment.slos.iter().filter_map(|slo| collapse(slo, after));
        workload.objectives = experiment.slos.iter().cloned().chain(collapses).collect();
        match place.stage {
            ProbeStage::Overload => {
                let measured = workload.measured_phase(&experiment.slos).cloned();
                if let Some(measured) = measured {
                    *workload = overload_shape(&experiment.search).apply_to(workload, &measured);
                }
            }
            // What is asked for at the end of the hold is whether it held.
            ProbeStage::Hold => workload.objectives.truncate(experiment.slos.len()),
            ProbeStage::Bracket
            | ProbeStage::Coarse
            | ProbeStage::Grid
            | ProbeStage::Spread
            | ProbeStage::Again => {}
        }
        Ok(plan)
    }
}

fn name(stage: ProbeStage) -> &'static str {
    match stage {
        ProbeStage::Bracket => "bracket",
        ProbeStage::Coarse => "bisection",
        ProbeStage::Grid => "grid",
        ProbeStage::Spread => "level",
        ProbeStage::Hold => "hold",
        ProbeStage::Overload => "overload",
        ProbeStage::Again => "once more",
    }
}
