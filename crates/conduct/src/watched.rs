//! What observers see of a target without any load, on a terminal or a line a second, and in a run file.

mod shown;
mod subjects;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::anyhow;
use archive::{Overwrite, Writer};
use engine::Clock;
use evidence::{Ending, Observed, RunEnd, Sink as _};
use observe::{Observer, Watch};
use plans::Overrides;
use workload::LoadedPlan;
use workload::redact::Redactor;
use workload::{Phase, Workload};

use crate::failure::{CommandResult, Failure};
use crate::manifest::{self, Identities, RunDescription};
use crate::run_file::{Keep, RunFile};
use crate::signals::Listener;
use crate::{clock, plan, watching};
use shown::Shown;

/// The longest watch without `--for`: what a run file holds.
const LONGEST: Duration = Duration::from_secs(31 * 86_400 - 1);
/// How often the end of the time and signals are checked.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// What is watched, and the workload that describes it.
pub struct Watched {
    observers: Vec<Box<dyn Observer>>,
    workload: Workload,
    identities: Identities,
}

/// The observers of `subjects`, or of a plan's targets.
pub fn watched(subjects: &[String], plan: Option<&Path>) -> CommandResult<Watched> {
    let (mut workload, env) = match plan {
        Some(path) => of_plan(path)?,
        None => of_subjects(subjects)?,
    };
    let observers = watching::observers(&workload, &env).map_err(watching::unwatched)?;
    let identities = watching::identities(&workload, &env);
    workload = Redactor::new(&workload, &env).stored(&workload);
    Ok(Watched { observers, workload, identities })
}

fn of_plan(path: &Path) -> CommandResult<(Workload, BTreeMap<String, String>)> {
    let LoadedPlan { mut workload, env, .. } = plan::resolve(path, &Overrides::default())?;
    workload.scenarios.clear();
    workload.objectives.clear();
    workload.profiles.clear();
    Ok((workload, env))
}

fn of_subjects(subjects: &[String]) -> CommandResult<(Workload, BTreeMap<String, String>)> {
    if subjects.is_empty() {
        return Err(Failure::usage(anyhow!(
            "name what to watch: a process id, :PORT, a URL, or --plan PLAN"
        )));
    }
    let targets = subjects::targets(subjects)?;
    for (name, target) in &targets {
        if let Some(process) = &target.process {
            let found = manifest::watched(process).check();
            found.map_err(|error| Failure::usage(anyhow!("{name}: {error}")))?;
        }
    }
    let env = subjects::env(&targets)?;
    let names: Vec<&str> = targets.keys().map(String::as_str).collect();
    Ok((
        Workload { targets: targets.clone(), ..Workload::named(format!("monitor {}", names.join(" "))) },
        env,
    ))
}

/// Watch for `length`, or until a signal comes, and keep what was seen.
pub fn watch(watched: Watched, length: Option<Duration>, keep: Keep<'_>) -> CommandResult<RunFile> {
    keep.refuse_existing()?;
    let Watched { observers, mut workload, identities } = watched;
    let end = length.unwrap_or(LONGEST);
    workload.phases = vec![Phase { name: "watch".to_owned(), start: Duration::ZERO, end }];
    let listener = Listener::start()?;
    listener.control_watch();
    let run = RunDescription { workload: &workload, identities: &identities, loops: 0, workers: &[] };
    let manifest = manifest::manifest(&run)?.dated(clock::now());
    let file = keep.file(&manifest)?;
    let mut writer = Writer::create(file.path(), &manifest, Overwrite::Refuse).map_err(Failure::usage)?;
    let clock = Clock::starting_in(Duration::ZERO);
    let (seen, observed) = channel();
    let watch = Watch::start(observers, Arc::new(move || clock.now()), seen).map_err(Failure::own)?;
    let mut shown = Shown::new(length);
    let is_over = || listener.interrupted() || clock.now().offset() >= end;
    let recorded = record(&observed, &mut writer, &mut shown, is_over);
    let last_second = clock.now().second();
    watch.stop();
    recorded?;
    // What was sent in the meantime, and the closing samples.
    observed.try_iter().try_for_each(|seen| keep_and_show(&seen, &mut writer, &mut shown))?;
    shown.end();
    let was_interrupted = length.is_some() && listener.interrupted();
    let end = RunEnd {
        ending: if was_interrupted { Ending::Interrupted } else { Ending::Completed },
        last_second,
        requests_in_flight: 0,
        iterations_in_flight: 0,
        folded_endpoints: 0,
        folded_ticks: 0,
    };
    writer.end(&end).map_err(Failure::own)?;
    Ok(file)
}

fn record(
    observed: &Receiver<Observed>,
    writer: &mut Writer,
    shown: &mut Shown,
    is_over: impl Fn() -> bool,
) -> CommandResult<()> {
    while !is_over() {
        let seen = match observed.recv_timeout(POLL_INTERVAL) {
            Ok(seen) => seen,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        keep_and_show(&seen, writer, shown)?;
    }
    Ok(())
}

fn keep_and_show(seen: &Observed, writer: &mut Writer, shown: &mut Shown) -> CommandResult<()> {
    writer.observed(seen).and_then(|()| writer.flush()).map_err(Failure::own)?;
    shown.show(seen)
}
