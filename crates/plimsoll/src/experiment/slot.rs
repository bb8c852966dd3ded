//! One run of an experiment: an arm is made ready, loaded by the stations of every run, and stopped.

use std::path::{Path, PathBuf};

use archive::Stored;
use evidence::Run as _;
use workload::experiment::Experiment;
use workload::plan::LoadedPlan;

use super::arm::{ArmPlace, NotBegun, addresses};
use super::options::SessionOptions;
use super::order::load_seed;
use super::sampled;
use crate::arguments::{OutputArguments, OverrideArguments, RunOptionArguments};
use crate::failure::{CommandResult, Failure};
use crate::plan;
use crate::prepare::prepare;
use crate::run::record;
use crate::run_file::Keep;
use crate::run_request::{Progress, RunRequest};
use crate::signals::Listener;

/// How often a run that could not be begun is tried.
const ATTEMPTS: u32 = 3;

/// A run that is made.
pub(crate) struct MadeRun {
    pub(crate) file: String,
    pub(crate) digest: String,
    pub(crate) started_at: String,
}

/// What one run needs.
pub(crate) struct Slot<'a> {
    pub(crate) experiment: &'a Experiment,
    pub(crate) options: &'a SessionOptions,
    pub(crate) listener: &'a Listener,
    /// The folder of the experiment's runs.
    pub(crate) folder: &'a Path,
    /// The number of the pair.
    pub(crate) pair: u32,
    /// 0 is A, 1 is B.
    pub(crate) arm: usize,
}

impl Slot<'_> {
    /// Make the run. What fails before the load is tried again: that excludes nothing that was measured.
    pub(crate) fn make(&self) -> Result<MadeRun, NotBegun> {
        let mut attempt = 1;
        loop {
            match self.attempt() {
                Err(NotBegun::NotReady(why)) if attempt < ATTEMPTS => {
                    crate::outputs::note(format_args!(
                        "pair {}, {}: {why}; tried again ({attempt} of {ATTEMPTS})",
                        self.pair,
                        self.letter()
                    ));
                    attempt += 1;
                }
                Err(NotBegun::NotReady(why)) => {
                    let (pair, letter) = (self.pair, self.letter());
                    return Err(NotBegun::NotReady(format!(
                        "arm {letter} could not be made ready in pair {pair}, {ATTEMPTS} times: {why}"
                    )));
                }
                result => return result,
            }
        }
    }

    fn letter(&self) -> char {
        if self.arm == 0 { 'a' } else { 'b' }
    }

    fn attempt(&self) -> Result<MadeRun, NotBegun> {
        let plan = self.plan()?;
        let arm = &self.experiment.arms[self.arm];
        let name = format!("pair-{:02}-{}", self.pair, self.letter());
        let place = ArmPlace {
            arm,
            letter: self.letter(),
            folder: &self.experiment.folder,
            log: self.folder.join(format!("{name}.log")),
            addresses: addresses(&plan.workload),
        };
        let group = place.begin(self.listener)?;
        let made = self.load(plan, self.folder.join(format!("{name}.plimsoll")));
        self.listener.between_slots();
        if let Some(group) = group {
            group.stop(arm.stop_within);
        }
        made
    }

    /// The plan with the seed of the pair and the addresses of the arm.
    fn plan(&self) -> CommandResult<LoadedPlan> {
        let experiment = self.experiment;
        let targets = &experiment.arms[self.arm].targets;
        let overrides = OverrideArguments {
            targets: targets.iter().map(|(name, address)| (name.clone(), address.clone())).collect(),
            time_scale: time_scale(experiment)?,
            seed: Some(load_seed(experiment.design.seed, self.pair)),
            ..OverrideArguments::default()
        };
        let mut plan = plan::resolve(&experiment.plan, &overrides)?;
        plan.workload.profiles.extend(sampled::mark(&experiment.design, &plan.workload, self.pair));
        Ok(plan)
    }

    fn load(&self, plan: LoadedPlan, file: PathBuf) -> Result<MadeRun, NotBegun> {
        let options = RunOptionArguments {
            once: false,
            no_precheck: false,
            force: true,
            loops: self.options.loops,
            outs: Vec::new(),
            outputs: OutputArguments::default(),
        };
        let request = RunRequest {
            keep: Keep::At(&file),
            progress: Progress::unless(self.options.is_quiet),
            options: &options,
            workers: 0,
            address_hint: |name| format!(", or name its address in the arm's `targets`: {name} = \"…\""),
            script_rules: None,
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

fn made(path: &Path) -> CommandResult<MadeRun> {
    let stored = Stored::open(path).map_err(Failure::own)?;
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let digest = stored.digest().unwrap_or_default().to_owned();
    Ok(MadeRun { file, digest, started_at: stored.manifest().started_at.clone() })
}

/// How many times as long each duration of the plan becomes, so that a run is as long as its slot.
pub(crate) fn time_scale(experiment: &Experiment) -> CommandResult<Option<f64>> {
    let Some(slot) = experiment.design.slot else { return Ok(None) };
    let length = planned_s(experiment)?;
    Ok((length > 0.0).then(|| slot.as_secs_f64() / length))
}

/// How long the plan is, in seconds.
pub(crate) fn planned_s(experiment: &Experiment) -> CommandResult<f64> {
    let plan = plan::resolve(&experiment.plan, &OverrideArguments::default())?;
    Ok(plan.workload.phases.last().map_or(0.0, |phase| phase.end.as_secs_f64()))
}
