//! `plimsoll monitor`: what observers see of a target without any load, a line a second, and in a run file if asked.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::anyhow;
use archive::{Overwrite, Writer};
use engine::{Clock, Control};
use evidence::{Ending, Notice, Observed, RunEnd, Sample, SeriesKey, Sink as _};
use observe::{Observer, ProcessObserver, ProcessRef, Watch};
use report::number;
use workload::{Phase, Workload};

use crate::arguments::{MonitorArguments, OverrideArguments};
use crate::failure::{Failure, Outcome};
use crate::run_file::{Keep, RunFile};
use crate::signals::Listener;
use crate::{clock, manifest, outputs, plan, watching};

/// How long a run that nobody bounds may last: what a run file holds.
const LONGEST: Duration = Duration::from_secs(31 * 86_400 - 1);
/// How often the end of the time and signals are looked at.
const GLANCE: Duration = Duration::from_millis(100);

/// What is watched, and the workload that says so.
pub(crate) struct Watched {
    observers: Vec<Box<dyn Observer>>,
    workload: Workload,
}

pub(crate) fn monitor(arguments: &MonitorArguments) -> Outcome<u8> {
    let watched = watched(&arguments.subjects, arguments.plan.as_deref())?;
    let keep = arguments.output.as_deref().map_or(Keep::Nothing, Keep::At);
    let file = watch(watched, arguments.length, keep)?;
    if let Some(path) = file.kept() {
        outputs::tell(format_args!("kept in {}", path.display()));
    }
    Ok(0)
}

/// The observers of `subjects`, or of a plan's targets.
pub(crate) fn watched(subjects: &[String], plan: Option<&Path>) -> Outcome<Watched> {
    if let Some(path) = plan {
        let none = OverrideArguments { targets: Vec::new(), time_scale: None, load: None, seed: None };
        let plan = plan::resolve(path, &none)?;
        let mut workload = plan.workload;
        let observers = watching::observers(&workload, &plan.env).map_err(Failure::own)?;
        workload.scenarios.clear();
        workload.objectives.clear();
        workload.profiles.clear();
        return Ok(Watched { observers, workload });
    }
    let mut observers: Vec<Box<dyn Observer>> = Vec::new();
    for subject in subjects {
        let process = process(subject)?;
        observe::identify(process).map_err(|error| Failure::usage(anyhow!("{subject}: {error}")))?;
        observers.push(Box::new(ProcessObserver::new(subject, process)));
    }
    if observers.is_empty() {
        return Err(Failure::usage(anyhow!("say what to watch: a process id, :PORT, or --plan PLAN")));
    }
    Ok(Watched { observers, workload: bare(&subjects.join(" ")) })
}

/// `1234` and `pid:1234` are process ids; `:8000` and `port:8000` are ports that a process listens on.
fn process(subject: &str) -> Outcome<ProcessRef> {
    let port = subject.strip_prefix("port:").or_else(|| subject.strip_prefix(':'));
    let parsed = match port {
        Some(port) => port.parse().ok().filter(|port| *port > 0).map(ProcessRef::Port),
        None => subject.strip_prefix("pid:").unwrap_or(subject).parse().ok().map(ProcessRef::Pid),
    };
    parsed.ok_or_else(|| {
        Failure::usage(anyhow!(
            "`{subject}` is neither a process id (`1234`) nor a port (`:8000`) of this machine"
        ))
    })
}

fn bare(name: &str) -> Workload {
    Workload {
        name: format!("monitor {name}"),
        seed: 0,
        targets: BTreeMap::new(),
        data: BTreeMap::new(),
        phases: Vec::new(),
        scenarios: Vec::new(),
        setup: Vec::new(),
        objectives: Vec::new(),
        profiles: Vec::new(),
        precheck: false,
        traceparent: false,
        secrets: Vec::new(),
    }
}

/// Watch for `length`, or until a signal comes, and keep what was seen.
pub(crate) fn watch(watched: Watched, length: Option<Duration>, keep: Keep<'_>) -> Outcome<RunFile> {
    keep.refuse_existing()?;
    let Watched { observers, mut workload } = watched;
    let end = length.unwrap_or(LONGEST);
    workload.phases = vec![Phase { name: "watch".to_owned(), start: Duration::ZERO, end }];
    let listener = Listener::start()?;
    listener.guard(Control::new());
    let manifest = manifest::manifest(&workload, BTreeMap::new(), (clock::now(), 0))?;
    let file = keep.file(&manifest)?;
    let mut writer = Writer::create(file.path(), &manifest, Overwrite::Refuse).map_err(Failure::usage)?;
    let clock = Clock::starting_in(Duration::ZERO);
    let (seen, observed) = channel();
    let watch = Watch::start(observers, Arc::new(move || clock.now()), seen).map_err(Failure::own)?;
    let followed = follow(&observed, &mut writer, || listener.has_heard() || clock.now().offset() >= end);
    watch.stop();
    followed?;
    let was_cut = length.is_some() && listener.has_heard();
    let end = RunEnd {
        ending: if was_cut { Ending::Interrupted } else { Ending::Completed },
        last_second: clock.now().second(),
        requests_in_flight: 0,
        iterations_in_flight: 0,
        folded_endpoints: 0,
        folded_ticks: 0,
    };
    writer.end(&end).map_err(Failure::own)?;
    Ok(file)
}

fn follow(observed: &Receiver<Observed>, writer: &mut Writer, is_over: impl Fn() -> bool) -> Outcome<()> {
    while !is_over() {
        let seen = match observed.recv_timeout(GLANCE) {
            Ok(seen) => seen,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        writer.observed(&seen).and_then(|()| writer.flush()).map_err(Failure::own)?;
        outputs::print(&lines(&seen))?;
    }
    Ok(())
}

/// A line for each target, and one for each notice.
fn lines(seen: &Observed) -> String {
    let mut by_target: BTreeMap<(u32, &str), Vec<String>> = BTreeMap::new();
    for (series, sample) in seen.samples.iter().filter(|(series, _)| &*series.target != SeriesKey::GENERATOR)
    {
        by_target.entry((sample.at.second(), &series.target)).or_default().push(value(series, sample));
    }
    let mut text = String::new();
    for ((second, target), values) in by_target {
        text.push_str(&format!("{second:>6} s  {target}  {}\n", values.join("  ")));
    }
    for Notice { at, observer, kind, text: what } in &seen.notices {
        text.push_str(&format!("{:>6} s  {observer}  {kind}: {what}\n", at.second()));
    }
    text
}

fn value(series: &SeriesKey, sample: &Sample) -> String {
    let part = if series.part.is_empty() { String::new() } else { format!("[{}]", series.part) };
    format!("{}{part} {}", series.name, number::with_unit(Some(sample.value), &series.unit))
}
