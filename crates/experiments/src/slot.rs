//! One run of an experiment or a search: an arm is made ready, loaded by the stations of every run, and stopped.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use archive::{Overwrite, Stored};
use conduct::failure::{CommandResult, Failure};
use conduct::offer;
use conduct::plan;
use conduct::prepare::{Additions, prepare};
use conduct::run_file::RunFilePolicy;
use conduct::run_request::{Progress, RunRequest};
use conduct::screen::note;
use conduct::signals::Listener;
use evidence::Run as _;
use plans::Overrides;
use serde::{Deserialize, Serialize};
use workload::draw::mix;
use workload::experiment::Arm;
use workload::{LoadedPlan, Workload};

use crate::arm::{ArmPlace, NotBegun, addresses};

/// How often a run that could not be begun is tried.
const ATTEMPTS: u32 = 3;
/// How often a pause looks for a signal.
const POLL: Duration = Duration::from_millis(50);

/// One run, planned.
pub struct SlotPlan {
    pub arm: Arm,
    /// What is offered, as long as the slot.
    pub load: LoadedPlan,
    /// The name of its files.
    pub name: String,
    /// What it is called in messages.
    pub shown: String,
    /// What is said before it.
    pub title: String,
    /// The pause after it, of what runs already.
    pub rest: Duration,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MadeRun {
    /// Its file, in the folder of the runs.
    pub file: String,
    /// The digest of its evidence.
    pub digest: String,
    /// When it began.
    pub started_at: String,
}

/// What makes one run.
pub(crate) struct Slot<'a> {
    pub(crate) plan: &'a SlotPlan,
    /// The folder in which its commands run.
    pub(crate) commands_in: &'a Path,
    /// The folder of the runs.
    pub(crate) folder: &'a Path,
    pub(crate) loops: u16,
    pub(crate) progress: Progress,
    pub(crate) listener: &'a Listener,
}

impl Slot<'_> {
    /// Make the run. What fails before the load is tried again: that excludes nothing that was measured.
    pub(crate) fn make(&self) -> Result<MadeRun, NotBegun> {
        let shown = &self.plan.shown;
        let mut attempt = 1;
        loop {
            match self.attempt() {
                Err(NotBegun::NotReady(why)) if attempt < ATTEMPTS => {
                    note(format_args!("{shown}: {why}; tried again ({attempt} of {ATTEMPTS})"));
                    attempt += 1;
                }
                Err(NotBegun::NotReady(why)) => {
                    return Err(NotBegun::NotReady(format!(
                        "{shown} could not be made ready, {ATTEMPTS} times: {why}"
                    )));
                }
                result => return result,
            }
        }
    }

    fn attempt(&self) -> Result<MadeRun, NotBegun> {
        let SlotPlan { arm, load, name, .. } = self.plan;
        let place = ArmPlace {
            arm,
            folder: self.commands_in,
            log: self.folder.join(format!("{name}.log")),
            addresses: addresses(&load.workload),
        };
        let group = place.begin(self.listener)?;
        let made = self.load(self.folder.join(format!("{name}.plimsoll")));
        self.listener.between_slots();
        match group {
            Some(group) => group.stop(arm.stop_within),
            None => self.rest()?,
        }
        made
    }

    /// What runs already works off what it has.
    fn rest(&self) -> Result<(), NotBegun> {
        let began = Instant::now();
        while began.elapsed() < self.plan.rest {
            if self.listener.interrupted() {
                return Err(NotBegun::Interrupted);
            }
            thread::sleep(POLL);
        }
        Ok(())
    }

    fn load(&self, file: PathBuf) -> Result<MadeRun, NotBegun> {
        let request = RunRequest {
            overwrite: Overwrite::Replace,
            loops: self.loops,
            address_hint: |name| format!(", or name its address in the arm's `targets`: {name} = \"…\""),
            ..RunRequest::new(RunFilePolicy::At(&file), self.progress)
        };
        let not_ready = |failure: Failure| match failure {
            Failure::Usage(_) | Failure::Steps { .. } => {
                NotBegun::NotReady(failure.text().trim_end().to_owned())
            }
            other => NotBegun::Failed(other),
        };
        let prepared = prepare(self.plan.load.clone(), &request)
            .and_then(|reachable| reachable.precheck_and_identify(request.precheck, Additions::default()));
        let mut sealed = offer(self.listener, prepared.map_err(not_ready)?, &request)?.seal()?;
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
pub(crate) fn time_scale(plan: &Path, slot: Option<Duration>) -> CommandResult<Option<f64>> {
    let Some(slot) = slot else { return Ok(None) };
    let length = length(&plan::resolve(plan, &Overrides::default())?.workload).as_secs_f64();
    Ok((length > 0.0).then(|| slot.as_secs_f64() / length))
}

/// How long a load is.
pub(crate) fn length(workload: &Workload) -> Duration {
    workload.phases.last().map_or(Duration::ZERO, |phase| phase.end)
}

/// The seed of the load of step `number`: the same arrivals and data in all of its runs.
pub(crate) fn load_seed(seed: u64, number: u32) -> u64 {
    // Seeds of plans are kept as signed numbers by some readers of JSON.
    mix(seed.wrapping_add(u64::from(number))) >> 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_has_a_load_of_its_own() {
        let seeds: std::collections::BTreeSet<u64> = (1..=100).map(|number| load_seed(7, number)).collect();
        assert_eq!(seeds.len(), 100);
    }
}
