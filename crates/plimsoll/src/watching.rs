//! Who watches: the observers that a workload asks for, and the generator's own.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use observe::{Capture, Formats, Host, Observer, OwnProcess, ProcessObserver, ProfileSource};
use workload::Workload;
use workload::observation::{CgroupRef, Mark, Observation, ProfileMark, filled};

use crate::manifest::{Identities, watched};

/// Every observer that `workload` asks for; `env` has the values that URLs leave out.
///
/// # Errors
/// When the system gives no thread for one.
pub(crate) fn observers(
    workload: &Workload,
    env: &BTreeMap<String, String>,
) -> io::Result<Vec<Box<dyn Observer>>> {
    let mut observers: Vec<Box<dyn Observer>> = vec![Box::new(OwnProcess::new()), Box::new(Host::new())];
    for (name, target) in &workload.targets {
        if let Some(process) = &target.process {
            observers.push(Box::new(ProcessObserver::new(name, watched(process))));
        }
        watch_besides(&mut observers, (name, &target.observe), env)?;
    }
    Ok(observers)
}

fn watch_besides(
    observers: &mut Vec<Box<dyn Observer>>,
    (target, observe): (&str, &Observation),
    env: &BTreeMap<String, String>,
) -> io::Result<()> {
    if let Some(group) = &observe.cgroup {
        let group = match group {
            CgroupRef::Path(path) => observe::CgroupRef::Path(path.clone()),
            CgroupRef::Container(name) => observe::CgroupRef::Container(name.clone()),
        };
        observers.push(observe::cgroup(target, group)?);
    }
    if let Some(page) = &observe.prometheus {
        observers.push(observe::prometheus(target, (&filled(&page.url, env), &page.keep), page.every)?);
    }
    if let Some(server) = &observe.postgres {
        observers.push(observe::postgres(target, (&filled(&server.url, env), &server.tables), server.every)?);
    }
    if let Some(redis) = &observe.redis {
        observers.push(observe::redis(target, &filled(&redis.url, env), redis.every)?);
    }
    Ok(())
}

/// What servers say of themselves that targets are, or use.
pub(crate) fn identities(workload: &Workload, env: &BTreeMap<String, String>) -> Identities {
    let servers = workload.targets.iter().filter_map(|(name, target)| {
        let url = filled(&target.observe.postgres.as_ref()?.url, env);
        let about = observe::identify_postgres(&url).unwrap_or_else(|why| {
            BTreeMap::from([("postgres".to_owned(), format!("not identified: {why}"))])
        });
        Some((name.clone(), about))
    });
    servers.collect()
}

/// Every profile that `workload` asks for, at its second of the run.
pub(crate) fn captures(workload: &Workload, env: &BTreeMap<String, String>) -> Vec<Capture> {
    let run_s = workload.phases.last().map_or(0, |phase| phase.end.as_secs());
    workload.profiles.iter().flat_map(|mark| captures_of(mark, (workload, run_s), env)).collect()
}

fn captures_of(
    asked: &ProfileMark,
    (workload, run_s): (&Workload, u64),
    env: &BTreeMap<String, String>,
) -> Vec<Capture> {
    let target = workload.targets.get(&asked.target);
    let source = target.and_then(|target| match (&target.observe.pprof, &target.process) {
        (Some(url), _) => Some(ProfileSource::Pprof(filled(url, env))),
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
        // What would outlast the run is cut to it: a window of less is better than none.
        length_s: u32::try_from(length_s.min(run_s.saturating_sub(begin_s)).max(1)).unwrap_or(u32::MAX),
        kinds: asked.kinds.clone(),
        source: source.clone(),
    };
    begins.into_iter().map(capture).collect()
}

/// A mark as the plan has it.
fn mark_of(mark: &Mark) -> String {
    match mark {
        Mark::At(time) => spelled(*time),
        Mark::InPhase(name) => format!("in phase {name}"),
        Mark::Every(every) => format!("every {}", spelled(*every)),
    }
}

/// A time as plans spell it: `15m`, `90s`.
fn spelled(time: Duration) -> String {
    let seconds = time.as_secs();
    match time.subsec_nanos() {
        0 if seconds > 0 && seconds.is_multiple_of(3_600) => format!("{}h", seconds / 3_600),
        0 if seconds > 0 && seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        _ => format!("{time:?}"),
    }
}

/// What the room `profile` knows of formats.
pub(crate) const FORMATS: Formats = Formats { from_perf, check };

fn check(bytes: &[u8]) -> Result<(), String> {
    profile::read(bytes).map(drop).map_err(|error| error.to_string())
}

/// What `perf` sampled, in pprof's format.
fn from_perf(text: &str) -> Result<Vec<u8>, String> {
    let profile = profile::from_perf(text).map_err(|error| error.to_string())?;
    profile::write(&profile).map_err(|error| error.to_string())
}
