//! Stations 4 and 6: the observers and profiles that a workload asks for, and the generator's own observers.

mod addresses;
mod identities;
mod redacted;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use anyhow::anyhow;
use engine::Clock;
use evidence::{Observed, ProfileKind};
use observe::{
    Capture, Formats, Host, Observer, OwnProcess, ProcessObserver, ProfileSource, Profiler, ReferenceProbe,
    Watch, WrongPprofPath,
};
use workload::observation::{CgroupRef, Mark, Observation, Pool, ProfileMark, filled_address};
use workload::redact::shown_address;
use workload::{Redactor, Workload};

use crate::environment::Environment;
use crate::failure::{CommandResult, Failure};
use crate::manifest::watched;
use crate::run_request::ProbeUse;
pub(crate) use addresses::report_address_changes;
pub(crate) use identities::identities;
use redacted::Redacted;

/// Everything that watches during a run: observers once a second, profiles at their marks.
pub(crate) struct Watchers {
    observers: Vec<Box<dyn Observer>>,
    captures: Vec<Capture>,
}

/// Watchers that run.
pub(crate) struct RunningWatchers {
    profiler: Profiler,
    watch: Watch,
}

impl Watchers {
    /// What `workload` asks for; `env` has the values that URLs leave out.
    pub(crate) fn new(workload: &Workload, env: &Environment, probe: ProbeUse) -> CommandResult<Watchers> {
        let mut observers = create(workload, env).map_err(unwatched)?;
        if probe == ProbeUse::Runs {
            let processes = workload.targets.values().filter_map(|target| target.process.as_ref());
            observers.push(Box::new(ReferenceProbe::new(processes.map(watched).collect())));
        }
        let captures = captures(workload, env);
        captures.iter().try_for_each(|capture| capture.source.require_usable()).map_err(unwatched)?;
        Ok(Watchers { observers, captures })
    }

    /// Ask each target whose profiles are to be captured whether it serves them where the plan says.
    pub(crate) fn ask_for_profiles(&self, workload: &Workload) -> CommandResult<()> {
        let mut asked: Vec<(&str, &str, Vec<ProfileKind>)> = Vec::new();
        for Capture { target, kinds, source, .. } in &self.captures {
            let ProfileSource::Pprof(url) = source else { continue };
            match asked.iter_mut().find(|(of, ..)| of == target) {
                Some((_, _, known)) => known.extend(kinds),
                None => asked.push((target, url, kinds.clone())),
            }
        }
        for (target, url, mut kinds) in asked {
            kinds.sort();
            kinds.dedup();
            let planned = workload.targets.get(target).and_then(|target| target.observe.pprof.as_deref());
            observe::ask_pprof(url, &kinds).map_err(|wrong| {
                Failure::usage(anyhow!(wrong_pprof_path(target, planned.unwrap_or_default(), &wrong)))
            })?;
        }
        Ok(())
    }

    /// Start sampling; samples and profiles are sent to `observed`.
    pub(crate) fn start(self, clock: Clock, observed: &Sender<Observed>) -> CommandResult<RunningWatchers> {
        let clock: observe::Clock = Arc::new(move || clock.now());
        let profiler = Profiler::start(self.captures, &clock, FORMATS, observed).map_err(Failure::own)?;
        let watch = Watch::start(self.observers, clock, observed.clone()).map_err(Failure::own)?;
        Ok(RunningWatchers { profiler, watch })
    }
}

impl RunningWatchers {
    /// Ends the watch before it waits for profiles, so that the closing samples are of the end of the load. It takes at
    /// most the 2 s of [`Watch::stop`] and, where profiles are captured, their 10 s.
    pub(crate) fn stop(mut self) {
        self.profiler.end_windows();
        self.watch.stop();
        self.profiler.stop();
    }
}

/// What a target answered instead of profiles; `planned` is the URL as the plan has it.
fn wrong_pprof_path(target: &str, planned: &str, wrong: &WrongPprofPath) -> String {
    let answers = wrong.asked.iter().map(|(path, why)| format!("`{path}`: {why}"));
    let answers = answers.collect::<Vec<_>>().join(", ");
    let elsewhere = match wrong.elsewhere {
        Some(path) => format!("; at this address profiles are below `{path}`"),
        None => String::new(),
    };
    format!(
        "`{target}` serves no profiles below `observe.pprof`, which is {}; {answers}{elsewhere}. Fix the URL, or skip \
         this check with --no-precheck (in plans `precheck = false`)",
        shown_address(planned)
    )
}

/// Why nothing is watched: the program was built without what a plan asks for, or the system gives no thread.
pub(crate) fn unwatched(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::Unsupported => Failure::usage(error),
        _ => Failure::own(error),
    }
}

/// Every observer that `workload` asks for, and the generator's own.
///
/// # Errors
/// When the system gives no thread for one, or the program was built without it.
pub(crate) fn create(workload: &Workload, env: &Environment) -> io::Result<Vec<Box<dyn Observer>>> {
    let mut observers: Vec<Box<dyn Observer>> = vec![Box::new(OwnProcess::new()), Box::new(Host::new())];
    let redactor = Arc::new(Redactor::new(workload, env));
    for (name, target) in &workload.targets {
        if let Some(process) = &target.process {
            observers.push(Box::new(ProcessObserver::new(name, watched(process))));
        }
        let others = besides_process(name, &target.observe, env)?.into_iter();
        observers.extend(others.map(|observer| Redacted::boxed(observer, &redactor)));
    }
    Ok(observers)
}

/// The observers of `target` that do not look at its process.
fn besides_process(
    target: &str,
    observe: &Observation,
    env: &Environment,
) -> io::Result<Vec<Box<dyn Observer>>> {
    let mut observers = Vec::new();
    if let Some(group) = &observe.cgroup {
        let group = match group {
            CgroupRef::Path(path) => observe::CgroupRef::Path(path.clone()),
            CgroupRef::Container(name) => observe::CgroupRef::Container(name.clone()),
        };
        observers.push(observe::cgroup(target, group)?);
    }
    if let Some(page) = &observe.prometheus {
        let of_pools: Vec<String> = observe.pools.iter().flat_map(Pool::metrics).cloned().collect();
        let url = filled_address(&page.url, env);
        observers.push(observe::prometheus(target, &url, &page.keep, &of_pools, page.every)?);
    }
    if let Some(server) = &observe.postgres {
        observers.push(observe::postgres(
            target,
            &filled_address(&server.url, env),
            &server.tables,
            server.every,
        )?);
    }
    if let Some(redis) = &observe.redis {
        observers.push(observe::redis(target, &filled_address(&redis.url, env), redis.every)?);
    }
    Ok(observers)
}

/// Every profile that `workload` asks for, at its second of the run.
fn captures(workload: &Workload, env: &Environment) -> Vec<Capture> {
    workload.profiles.iter().flat_map(|asked| captures_of(asked, workload, env)).collect()
}

fn captures_of(asked: &ProfileMark, workload: &Workload, env: &Environment) -> Vec<Capture> {
    let run_s = workload.phases.last().map_or(0, |phase| phase.end.as_secs());
    let target = workload.targets.get(&asked.target);
    let source = target.and_then(|target| match (&target.observe.pprof, &target.process) {
        (Some(url), _) => Some(ProfileSource::Pprof(filled_address(url, env))),
        (None, Some(process)) => Some(ProfileSource::Perf(watched(process))),
        (None, None) => None,
    });
    let Some(source) = source else { return Vec::new() };
    let length_s = asked.length.as_secs_f64().round().max(1.0) as u64;
    let whole = |time: Duration| time.as_secs_f64().ceil() as u64;
    let begins: Vec<u64> = match &asked.at {
        Mark::At(time) => vec![whole(*time)],
        Mark::Every(every) => {
            (1..).map(|n| whole(*every * n)).take_while(|begin| begin + length_s <= run_s).collect()
        }
        Mark::InPhase(name) => {
            let phase = workload.phases.iter().find(|phase| phase.name == *name);
            let middle = |from: u64, to: u64| from + to.saturating_sub(from + length_s) / 2;
            phase.map(|phase| middle(whole(phase.start), phase.end.as_secs())).into_iter().collect()
        }
    };
    let capture = |begin_s: u64| Capture {
        target: asked.target.clone(),
        mark: mark_of(&asked.at),
        begin_s: u32::try_from(begin_s).unwrap_or(u32::MAX),
        // A window that would outlast the run is cut to it: a shorter one is better than none.
        length_s: u32::try_from(length_s.min(run_s.saturating_sub(begin_s)).max(1)).unwrap_or(u32::MAX),
        kinds: asked.kinds.clone(),
        source: source.clone(),
    };
    begins.into_iter().map(capture).collect()
}

/// A mark as the plan writes it.
fn mark_of(mark: &Mark) -> String {
    match mark {
        Mark::At(time) => as_in_plans(*time),
        Mark::InPhase(name) => format!("in phase {name}"),
        Mark::Every(every) => format!("every {}", as_in_plans(*every)),
    }
}

/// A time as plans write it: `15m`, `90s`.
fn as_in_plans(time: Duration) -> String {
    let seconds = time.as_secs();
    match time.subsec_nanos() {
        0 if seconds > 0 && seconds.is_multiple_of(3_600) => format!("{}h", seconds / 3_600),
        0 if seconds > 0 && seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        _ => format!("{time:?}"),
    }
}

/// The profile formats that the crate `profile` reads and writes.
const FORMATS: Formats = Formats { from_perf, check };

fn check(bytes: &[u8]) -> Result<(), String> {
    profile::read(bytes).map(drop).map_err(|error| error.to_string())
}

/// What `perf` sampled, in pprof's format.
fn from_perf(text: &str) -> Result<Vec<u8>, String> {
    let profile = profile::from_perf(text).map_err(|error| error.to_string())?;
    profile::write(&profile).map_err(|error| error.to_string())
}
