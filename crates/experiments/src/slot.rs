//! One run of an experiment or a search: an arm is made ready, loaded by the stations of every run, and stopped.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use archive::{Overwrite, Stored};
use conduct::failure::{CommandResult, Failure};
use conduct::plan;
use conduct::prepare::{Additions, PreparedRun, prepare};
use conduct::recording::UnsealedRun;
use conduct::run_file::RunFilePolicy;
use conduct::run_request::{ProbeUse, Progress, RunRequest};
use conduct::screen::note;
use conduct::signals::Listener;
use conduct::{offer, offer_together};
use evidence::Run as _;
use plans::Overrides;
use serde::{Deserialize, Serialize};
use workload::draw::mix;
use workload::experiment::Arm;
use workload::{LoadedPlan, Workload};

use crate::arm::{ArmPlace, NotBegun, addresses};
use crate::group::ProcessGroup;

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
    /// The letter of its arm; a search has one.
    pub letter: char,
    /// What is said before it.
    pub title: String,
    /// Whether the reference probe runs beside its load.
    pub probe: ProbeUse,
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

/// Two runs that were made at the same moment.
pub(crate) struct TogetherMade {
    pub(crate) runs: [MadeRun; 2],
    /// Why they were made again, once for each time.
    pub(crate) repeated: Vec<String>,
}

/// What makes runs.
pub(crate) struct RunMaker<'a> {
    /// The folder in which commands run.
    pub(crate) commands_in: &'a Path,
    /// The folder of the runs.
    pub(crate) folder: &'a Path,
    pub(crate) loops: u16,
    pub(crate) progress: Progress,
    pub(crate) listener: &'a Listener,
}

impl RunMaker<'_> {
    /// Make a run.
    pub(crate) fn make(&self, plan: &SlotPlan) -> Result<MadeRun, NotBegun> {
        self.retried(&plan.shown, || self.attempt(plan))
    }

    /// Make two runs at the same moment, the first of which is started first. If the command of one ends meanwhile, both are made
    /// again: the other had the machine for itself.
    pub(crate) fn make_together(&self, plans: [&SlotPlan; 2]) -> Result<TogetherMade, NotBegun> {
        let shown = format!("{} and {}", plans[0].shown, plans[1].shown);
        let mut repeated = Vec::new();
        let runs = self.retried(&shown, || {
            let made = self.attempt_together(plans);
            if let Err(NotBegun::NotReady(why)) = &made {
                repeated.push(why.clone());
            }
            made
        })?;
        Ok(TogetherMade { runs, repeated })
    }

    /// What fails before the load is tried again: that excludes nothing that was measured.
    fn retried<M>(
        &self,
        shown: &str,
        mut attempt: impl FnMut() -> Result<M, NotBegun>,
    ) -> Result<M, NotBegun> {
        let mut number = 1;
        loop {
            match attempt() {
                Err(NotBegun::NotReady(why)) if number < ATTEMPTS => {
                    note(format_args!("{shown}: {why}; tried again ({number} of {ATTEMPTS})"));
                    number += 1;
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

    fn attempt(&self, plan: &SlotPlan) -> Result<MadeRun, NotBegun> {
        let place = self.place(plan);
        place.reset(self.listener)?;
        let group = place.begin(self.listener)?;
        let made = self.load(plan);
        self.listener.between_slots();
        match group {
            Some(group) => group.stop(plan.arm.stop_within),
            None => self.rest(plan.rest)?,
        }
        made
    }

    fn attempt_together(&self, plans: [&SlotPlan; 2]) -> Result<[MadeRun; 2], NotBegun> {
        let places = plans.map(|plan| self.place(plan));
        places.iter().try_for_each(|place| place.reset(self.listener))?;
        let first = places[0].begin(self.listener)?;
        let mut groups = [first, places[1].begin(self.listener)?];
        let mut made = self.load_together(plans);
        self.listener.between_slots();
        for (group, plan) in groups.iter_mut().zip(plans) {
            if let Some(status) = group.as_mut().and_then(ProcessGroup::ended)
                && made.is_ok()
            {
                made = Err(NotBegun::NotReady(format!(
                    "the command of {} ended under load ({status})",
                    plan.shown
                )));
            }
        }
        for (group, plan) in groups.into_iter().zip(plans) {
            group.into_iter().for_each(|group| group.stop(plan.arm.stop_within));
        }
        made
    }

    fn place<'p>(&'p self, plan: &'p SlotPlan) -> ArmPlace<'p> {
        ArmPlace {
            arm: &plan.arm,
            folder: self.commands_in,
            log: self.folder.join(format!("{}.log", plan.name)),
            addresses: addresses(&plan.load.workload),
        }
    }

    /// What runs already works off what it has.
    fn rest(&self, rest: Duration) -> Result<(), NotBegun> {
        let began = Instant::now();
        while began.elapsed() < rest {
            if self.listener.interrupted() {
                return Err(NotBegun::Interrupted);
            }
            thread::sleep(POLL);
        }
        Ok(())
    }

    fn load(&self, plan: &SlotPlan) -> Result<MadeRun, NotBegun> {
        let file = self.file(plan);
        let request = RunRequest { probe: plan.probe, ..self.request(&file, self.progress) };
        let prepared = prepared(plan, &request)?;
        self.sealed(offer(self.listener, prepared, &request)?)
    }

    fn load_together(&self, plans: [&SlotPlan; 2]) -> Result<[MadeRun; 2], NotBegun> {
        let files = plans.map(|plan| self.file(plan));
        let [of_first, of_second] = self.progress.of_two(plans.map(|plan| plan.letter));
        let first = self.request(&files[0], of_first);
        let second = self.request(&files[1], of_second);
        let both = [prepared(plans[0], &first)?, prepared(plans[1], &second)?];
        let [first, second] = offer_together(self.listener, both, [&first, &second])?;
        Ok([self.sealed(first)?, self.sealed(second)?])
    }

    fn file(&self, plan: &SlotPlan) -> PathBuf {
        self.folder.join(format!("{}.plimsoll", plan.name))
    }

    fn request<'r>(&self, file: &'r Path, progress: Progress) -> RunRequest<'r> {
        RunRequest {
            overwrite: Overwrite::Replace,
            loops: self.loops,
            address_hint: |name| format!(", or name its address in the arm's `targets`: {name} = \"…\""),
            ..RunRequest::new(RunFilePolicy::At(file), progress)
        }
    }

    fn sealed(&self, run: UnsealedRun) -> Result<MadeRun, NotBegun> {
        let mut sealed = run.seal()?;
        if self.listener.interrupted() {
            return Err(NotBegun::Interrupted);
        }
        sealed.completed()?;
        Ok(made(sealed.path())?)
    }
}

fn prepared(plan: &SlotPlan, request: &RunRequest<'_>) -> Result<PreparedRun, NotBegun> {
    let prepared = prepare(plan.load.clone(), request)
        .and_then(|reachable| reachable.precheck_and_identify(request.precheck, Additions::default()));
    prepared.map_err(|failure| match failure {
        Failure::Usage(_) | Failure::Steps { .. } => NotBegun::NotReady(failure.text().trim_end().to_owned()),
        other => NotBegun::Failed(other),
    })
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
