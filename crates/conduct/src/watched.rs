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
use evidence::{Ending, NoticeKind, Observed, RunEnd, Sample, SeriesKey, Sink as _};
use observe::{ObserveError, Observer, Watch};
use plans::Overrides;
use workload::LoadedPlan;
use workload::model::ProcessRef;
use workload::redact::Redactor;
use workload::{Phase, Workload};

use crate::failure::{CommandResult, Failure};
use crate::manifest::{self, Identities, RunDescription};
use crate::run_file::{RunFile, RunFilePolicy};
use crate::signals::Listener;
use crate::{clock, observers, plan};
use shown::Shown;

/// The longest watch without `--for`: what a run file holds.
const LONGEST: Duration = Duration::from_secs(31 * 86_400 - 1);
/// How often the end of the time and signals are checked.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long a target that must answer may take.
const FIRST_ANSWER: Duration = Duration::from_secs(2);

/// What is watched, and the workload that describes it.
pub struct Watched {
    observers: Vec<Box<dyn Observer>>,
    workload: Workload,
    identities: Identities,
    must_answer: bool,
}

impl Watched {
    /// The same, which ends with an error if no target shows anything at first.
    #[must_use]
    pub fn that_must_answer(self) -> Watched {
        Watched { must_answer: true, ..self }
    }
}

/// The observers of `subjects`, or of a plan's targets.
pub fn watched(subjects: &[String], plan: Option<&Path>) -> CommandResult<Watched> {
    let (mut workload, env) = match plan {
        Some(path) => of_plan(path)?,
        None => of_subjects(subjects)?,
    };
    let observers = observers::create(&workload, &env).map_err(observers::unwatched)?;
    let identities = observers::identities(&workload, &env);
    workload = Redactor::new(&workload, &env).stored(&workload);
    Ok(Watched { observers, workload, identities, must_answer: false })
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
            found.map_err(|error| Failure::usage(anyhow!("{}", not_there(name, process, &error))))?;
        }
    }
    let env = subjects::env(&targets)?;
    let names: Vec<&str> = targets.keys().map(String::as_str).collect();
    Ok((
        Workload { targets: targets.clone(), ..Workload::named(format!("monitor {}", names.join(" "))) },
        env,
    ))
}

/// Why a process cannot be watched. A number that no process has may be meant as a port.
pub(crate) fn not_there(name: &str, process: &ProcessRef, error: &ObserveError) -> String {
    match (process, error) {
        (ProcessRef::Pid(pid), ObserveError::Gone { .. }) => {
            let port = u16::try_from(*pid).map(|port| format!("; a port is `:{port}`")).unwrap_or_default();
            format!("no process has the id {pid}{port}")
        }
        _ => format!("{name}: {error}"),
    }
}

/// Watch for `length`, or until a signal comes, and keep what was seen.
pub fn watch(watched: Watched, length: Option<Duration>, keep: RunFilePolicy<'_>) -> CommandResult<RunFile> {
    keep.refuse_existing()?;
    let Watched { observers, mut workload, identities, must_answer } = watched;
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
    let mut first = FirstAnswer { is_there: !must_answer, gone: None };
    let recorded = record(&observed, is_over, |seen| {
        keep_and_show(seen, &mut writer, &mut shown)?;
        first.take(seen, &workload, clock.now().offset())
    });
    let last_second = clock.now().second();
    watch.stop();
    if let Err(failure) = recorded {
        drop(writer);
        if let Some(path) = file.kept().filter(|_| !first.is_there) {
            // It has nothing; that it cannot be deleted changes nothing.
            let _ = std::fs::remove_file(path);
        }
        return Err(failure);
    }
    // What was sent in the meantime, and the closing samples.
    observed.try_iter().try_for_each(|seen| keep_and_show(&seen, &mut writer, &mut shown))?;
    shown.end();
    let was_interrupted = length.is_some() && listener.interrupted();
    let end = RunEnd::new(if was_interrupted { Ending::Interrupted } else { Ending::Completed }, last_second);
    writer.end(&end).map_err(Failure::own)?;
    Ok(file)
}

/// Takes what observers see until it is over.
fn record(
    observed: &Receiver<Observed>,
    is_over: impl Fn() -> bool,
    mut take: impl FnMut(&Observed) -> CommandResult<()>,
) -> CommandResult<()> {
    while !is_over() {
        match observed.recv_timeout(POLL_INTERVAL) {
            Ok(seen) => take(&seen)?,
            Err(RecvTimeoutError::Timeout) => take(&Observed::default())?,
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Ok(())
}

/// Whether any target has shown something, where one must.
struct FirstAnswer {
    /// It came, or need not come.
    is_there: bool,
    /// Why there is none so far.
    gone: Option<String>,
}

impl FirstAnswer {
    fn take(&mut self, seen: &Observed, workload: &Workload, elapsed: Duration) -> CommandResult<()> {
        let is_of_target = |(series, _): &(SeriesKey, Sample)| workload.targets.contains_key(&*series.target);
        self.is_there |= seen.samples.iter().any(is_of_target);
        let gone = (seen.notices.iter())
            .find(|notice| matches!(notice.kind, NoticeKind::Gone | NoticeKind::Unreadable));
        self.gone =
            self.gone.take().or_else(|| gone.map(|notice| format!("{}: {}", notice.observer, notice.text)));
        match &self.gone {
            Some(gone) if !self.is_there && elapsed >= FIRST_ANSWER => Err(Failure::usage(anyhow!(
                "{gone}. Name a process (`:PORT` for the one that listens there) or a page of Prometheus metrics \
                 (`http://HOST:PORT/metrics`)"
            ))),
            _ => Ok(()),
        }
    }
}

fn keep_and_show(seen: &Observed, writer: &mut Writer, shown: &mut Shown) -> CommandResult<()> {
    if seen.is_empty() {
        return Ok(());
    }
    writer.observed(seen).and_then(|()| writer.flush()).map_err(Failure::own)?;
    shown.show(seen)
}
