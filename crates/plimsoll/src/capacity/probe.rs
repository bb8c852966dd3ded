//! One run of a search: the arm is made ready, loaded at one level by the stations of every run, and stopped.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use archive::Stored;
use evidence::Run as _;
use evidence::capacity::ProbeStage;
use judge::capacity::PlannedProbe;
use workload::capacity::{CapacityExperiment, OverloadShape, PLACEHOLDER, Searched, collapse};
use workload::experiment::Arm;
use workload::plan::LoadedPlan;

use super::record::Resolved;
use crate::arguments::{CapacityArguments, OutputArguments, OverrideArguments, RunOptionArguments};
use crate::experiment::arm::{ArmPlace, NotBegun, addresses};
use crate::experiment::order::load_seed;
use crate::failure::{CommandResult, Failure};
use crate::outputs::note;
use crate::plan;
use crate::prepare::prepare;
use crate::run::record;
use crate::run_file::Keep;
use crate::run_request::{Progress, RunRequest};
use crate::signals::Listener;

/// How often a run that could not be begun is tried.
const ATTEMPTS: u32 = 3;
/// Steps of the bracket are not longer.
const LONGEST_BRACKET: Duration = Duration::from_secs(30);
/// Loads of the overload run, as multiples of the capacity, and the one before and after.
pub(super) const OVERLOADS: [f64; 3] = [1.2, 1.5, 2.0];
pub(super) const UNDERLOAD: f64 = 0.7;
/// A probe is not ended as collapsed before this share of it, or so much, has been measured.
const COLLAPSES_AFTER: f64 = 0.2;
const COLLAPSES_AFTER_AT_LEAST: Duration = Duration::from_secs(3);
/// How often a pause looks for a signal.
const POLL: Duration = Duration::from_millis(50);

/// A run that is made.
pub(super) struct MadeProbe {
    pub(super) file: String,
    pub(super) digest: String,
    pub(super) started_at: String,
}

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
        ProbeStage::Coarse | ProbeStage::Grid => step,
        ProbeStage::Hold => experiment.search.hold,
        ProbeStage::Overload => overload_shape(experiment).parts.iter().map(|(_, _, length)| *length).sum(),
    }
}

fn overload_shape(experiment: &CapacityExperiment) -> OverloadShape {
    OverloadShape::around(UNDERLOAD, &OVERLOADS, experiment.search.overload)
}

impl Probe<'_> {
    /// Make the run. What fails before the load is tried again: that excludes nothing that was measured.
    pub(super) fn make(&self) -> Result<MadeProbe, NotBegun> {
        let mut attempt = 1;
        loop {
            match self.attempt() {
                Err(NotBegun::NotReady(why)) if attempt < ATTEMPTS => {
                    let number = self.number;
                    note(format_args!("probe {number}: {why}; tried again ({attempt} of {ATTEMPTS})"));
                    attempt += 1;
                }
                Err(NotBegun::NotReady(why)) => {
                    let number = self.number;
                    return Err(NotBegun::NotReady(format!(
                        "the arm could not be made ready for probe {number}, {ATTEMPTS} times: {why}"
                    )));
                }
                result => return result,
            }
        }
    }

    fn attempt(&self) -> Result<MadeProbe, NotBegun> {
        let plan = self.plan()?;
        let arm = self.arm();
        let name = format!("probe-{:03}", self.number);
        let place = ArmPlace {
            arm: &arm,
            letter: 'a',
            folder: &self.experiment.folder,
            log: self.folder.join(format!("{name}.log")),
            addresses: addresses(&plan.workload),
        };
        let group = place.begin(self.listener)?;
        let made = self.load(plan, self.folder.join(format!("{name}.plimsoll")));
        self.listener.between_slots();
        match group {
            Some(group) => group.stop(arm.stop_within),
            None => self.rest()?,
        }
        made
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

    /// What runs already works off what it has, before the next probe.
    fn rest(&self) -> Result<(), NotBegun> {
        let began = Instant::now();
        while began.elapsed() < self.experiment.search.rest {
            if self.listener.interrupted() {
                return Err(NotBegun::Interrupted);
            }
            thread::sleep(POLL);
        }
        Ok(())
    }

    /// The plan at the level of the probe, as long as its stage is, with the searched objectives alone.
    fn plan(&self) -> CommandResult<LoadedPlan> {
        let Probe { experiment, resolved, planned, .. } = self;
        let targets = &experiment.arm.targets;
        let length = length(experiment, resolved.step_s, planned.stage);
        let length = if planned.stage == ProbeStage::Overload {
            Duration::from_secs_f64(resolved.step_s)
        } else {
            length
        };
        let overrides = OverrideArguments {
            targets: targets.iter().map(|(name, address)| (name.clone(), address.clone())).collect(),
            time_scale: Some(length.as_secs_f64() / planned_s(&experiment.plan)?),
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
            ProbeStage::Bracket | ProbeStage::Coarse | ProbeStage::Grid => {}
        }
        Ok(plan)
    }

    fn load(&self, plan: LoadedPlan, file: PathBuf) -> Result<MadeProbe, NotBegun> {
        let options = RunOptionArguments {
            once: false,
            no_precheck: false,
            force: true,
            loops: self.arguments.loops,
            outs: Vec::new(),
            outputs: OutputArguments::default(),
        };
        let request = RunRequest {
            keep: Keep::At(&file),
            progress: Progress::unless(self.arguments.quiet),
            options: &options,
            address_hint: |name| format!(", or name its address in the arm's `targets`: {name} = \"…\""),
            script_rules: None,
            workers: 0,
        };
        let not_ready = |failure: Failure| match failure {
            Failure::Usage(_) | Failure::Steps { .. } => {
                NotBegun::NotReady(failure.text().trim_end().to_owned())
            }
            other => NotBegun::Failed(other),
        };
        let prepared =
            prepare(plan, &request).and_then(|reachable| reachable.precheck_and_identify(&options));
        let mut sealed = record(self.listener, prepared.map_err(not_ready)?, &request)?;
        if self.listener.interrupted() {
            return Err(NotBegun::Interrupted);
        }
        sealed.completed()?;
        Ok(made(sealed.path())?)
    }
}

fn made(path: &Path) -> CommandResult<MadeProbe> {
    let stored = Stored::open(path).map_err(Failure::own)?;
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let digest = stored.digest().unwrap_or_default().to_owned();
    Ok(MadeProbe { file, digest, started_at: stored.manifest().started_at.clone() })
}

/// How long the plan is, in seconds.
pub(super) fn planned_s(plan: &Path) -> CommandResult<f64> {
    let plan = plan::resolve(plan, &OverrideArguments::default())?;
    let end = plan.workload.phases.last().map_or(0.0, |phase| phase.end.as_secs_f64());
    Ok(if end > 0.0 { end } else { 1.0 })
}
