//! `plimsoll run`, and the spine that every run goes along. Resolve the workload, prepare the target, begin
//! the archive, start the observers, let the engine run, stop the observers, seal the archive, judge, report.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use anyhow::anyhow;
use archive::{Overwrite, Recorder, Sinks, Writer};
use engine::{Clock, Control, Program, Rehearsal, RehearsalError, Remains, Setting};
use evidence::exchange::exchange;
use evidence::{Ending, Manifest, RunEnd};
use observe::{Capture, Observer, Profiler, Watch};
use workload::Workload;
use workload::plan::LoadedPlan;

use crate::arguments::{CourseArguments, RunArguments};
use crate::failure::{Failure, Outcome};
use crate::live::Live;
use crate::manifest::manifest;
use crate::outputs::Opened;
use crate::run_file::{Keep, RunFile};
use crate::signals::Listener;
use crate::{clock, judged, once, outputs, plan, ready, reflection, watching};

/// Between the last preparation and the run's epoch: long enough for every loop to be at its start.
const LEAD: Duration = Duration::from_millis(100);
/// Descriptors that are not connections: the run file, timers, standard streams, observers.
const OTHER_DESCRIPTORS: u64 = 64;

/// What the command line says of a run besides what is offered.
pub(crate) struct Course<'a> {
    pub(crate) keep: Keep<'a>,
    pub(crate) is_quiet: bool,
    pub(crate) arguments: &'a CourseArguments,
    /// How the user says that a target is elsewhere, from its name.
    pub(crate) elsewhere: fn(&str) -> String,
}

pub(crate) fn run(arguments: &RunArguments) -> Outcome<u8> {
    let listener = Listener::start()?;
    let plan = plan::resolve(&arguments.plan, &arguments.overrides)?;
    let keep = arguments.output.as_deref().map_or(Keep::ByName, Keep::At);
    let elsewhere = |name: &str| format!(", or say --target {name}=ADDRESS");
    let course = Course { keep, is_quiet: arguments.quiet, arguments: &arguments.course, elsewhere };
    follow(&listener, plan, &course)
}

/// From a workload to its verdict's exit code.
pub(crate) fn follow(listener: &Listener, plan: LoadedPlan, course: &Course<'_>) -> Outcome<u8> {
    let arguments = course.arguments;
    if arguments.once {
        return once::once(&prepare(plan, course)?);
    }
    let Recorded { file, aborted } = record(listener, plan, course)?;
    let judged = judged::judge_file(file.path())?;
    archive::append_judgement(file.path(), &judged.judgement, &clock::rfc3339(clock::now()))
        .map_err(Failure::own)?;
    outputs::write(
        &judged.summary.with_files(&files(arguments, &file)),
        &arguments.outputs,
        &Opened::default(),
    )?;
    match aborted {
        Some(reason) => Err(Failure::own(anyhow!("the run was broken off: {reason}"))),
        None => Ok(judge::exit_code(judged.judgement.verdict)),
    }
}

/// A run that is over and in its file.
pub(crate) struct Recorded {
    pub(crate) file: RunFile,
    /// Why it was broken off, if it was.
    pub(crate) aborted: Option<String>,
}

/// From a workload to a sealed run file.
pub(crate) fn record(listener: &Listener, plan: LoadedPlan, course: &Course<'_>) -> Outcome<Recorded> {
    let Course { keep, arguments, .. } = course;
    if !arguments.force {
        keep.refuse_existing()?;
    }
    let workload = plan.workload.clone();
    let observers = watching::observers(&workload, &plan.env).map_err(Failure::own)?;
    let captures = watching::captures(&workload, &plan.env);
    let env = plan.env.clone();
    let program = check_first(&workload, prepare(plan, course)?)?;
    // Asking over the network may take seconds, which the run's beginning does not have.
    let servers = watching::identities(&workload, &env);
    // Until here a signal ends the process as it ends any other: nothing has been begun.
    let control = Control::new();
    listener.guard(control.clone());
    let epoch = clock::now() + LEAD;
    let manifest = manifest(&program.redactor().stored(&workload), servers, (epoch, arguments.loops))?;
    let file = keep.file(&manifest)?;
    let writer = begin_archive(file.path(), (&manifest, arguments.force))?;
    let measured = measure(course, (&workload, program), (observers, captures), (writer, control, listener));
    let aborted = conclude(&file, measured)?;
    Ok(Recorded { file, aborted })
}

/// Learn what the targets serve, see that the machine can carry the load, wait for the targets, make the run's
/// setup.
fn prepare(mut plan: LoadedPlan, course: &Course<'_>) -> Outcome<Rehearsal> {
    reflection::describe(&mut plan)?;
    let workload = plan.workload.clone();
    let mut program = Program::compile(plan, clock::now().as_nanosecond()).map_err(Failure::usage)?;
    require_descriptors(&program, course.arguments.loops)?;
    for (name, _) in workload.targets.iter().filter(|(_, target)| target.connecting.tls.insecure) {
        outputs::tell(format_args!("target `{name}`: any certificate is trusted (`insecure = true`)"));
    }
    ready::wait(&workload, &program, course.elsewhere)?;
    program.begin_at(clock::now().as_nanosecond());
    Rehearsal::new(program).set_up().map_err(refused)
}

fn check_first(workload: &Workload, rehearsal: Rehearsal) -> Outcome<Program> {
    if workload.precheck {
        rehearsal.check().map_err(refused)?;
    }
    Ok(rehearsal.into_program())
}

fn refused(error: RehearsalError) -> Failure {
    match error {
        RehearsalError::Engine(error) => Failure::own(error),
        RehearsalError::Failed(exchange) => {
            let name = &exchange.endpoint;
            Failure::usage(anyhow!("step `{name}` failed before the load:\n{}", once::show(&exchange)))
        }
    }
}

fn require_descriptors(program: &Program, loops: u16) -> Outcome<()> {
    let connections = program.max_connections(loops);
    let needed = connections + OTHER_DESCRIPTORS;
    let limit = observe::raise_open_files().map_err(Failure::own)?;
    match limit.soft {
        Some(soft) if soft < needed => Err(Failure::usage(anyhow!(
            "the plan may open {connections} connections at once and so needs {needed} open files, but this \
             process may have {soft}; raise the limit (`ulimit -n {needed}`) or lower max_vus in the plan"
        ))),
        _ => Ok(()),
    }
}

fn begin_archive(path: &Path, (manifest, force): (&Manifest, bool)) -> Outcome<Writer> {
    let overwrite = if force { Overwrite::Replace } else { Overwrite::Refuse };
    Writer::create(path, manifest, overwrite).map_err(Failure::usage)
}

/// What a run left: how it ended, and why recording failed if it did.
struct Measured {
    end: RunEnd,
    recorded: Result<archive::Recorded, archive::RecordError>,
}

/// Offer the load and record what is seen.
fn measure(
    course: &Course<'_>,
    (workload, mut program): (&Workload, Program),
    (observers, captures): (Vec<Box<dyn Observer>>, Vec<Capture>),
    (writer, control, listener): (Writer, Control, &Listener),
) -> Outcome<Measured> {
    let mut sinks = Sinks { recording: vec![Box::new(writer)], drawing: Vec::new() };
    if !course.is_quiet {
        sinks.drawing.push(Box::new(Live::new(workload)));
    }
    let (outlets, inlets) = (0..course.arguments.loops).map(|_| exchange()).unzip();
    let (seen, observed) = channel();
    let recorder = Recorder::start(sinks, inlets, observed).map_err(Failure::own)?;
    let clock = Clock::starting_in(LEAD);
    program.begin_at((clock::now() + LEAD).as_nanosecond());
    let watched: observe::Clock = Arc::new(move || clock.now());
    let profiler = Profiler::start(captures, (&watched, watching::FORMATS), &seen).map_err(Failure::own)?;
    let watch = Watch::start(observers, watched, seen).map_err(Failure::own)?;
    let setting = Setting { program: Arc::new(program), clock, control, behaviour: None };
    let remains = engine::run(&setting, outlets);
    profiler.stop();
    watch.stop();
    let end = ending(remains, (listener, clock.now().second()));
    let end = RunEnd { folded_endpoints: workload.folded_endpoints(), ..end };
    Ok(Measured { recorded: recorder.finish(&end), end })
}

fn ending(remains: Result<Remains, engine::EngineError>, (listener, second): (&Listener, u32)) -> RunEnd {
    let (ending, remains) = match remains {
        Ok(remains) if listener.has_heard() => (Ending::Interrupted, remains),
        Ok(remains) => (Ending::Completed, remains),
        Err(error) => {
            (Ending::Aborted(error.to_string()), Remains { last_second: second, ..Remains::default() })
        }
    };
    RunEnd {
        ending,
        last_second: remains.last_second,
        requests_in_flight: remains.requests_in_flight,
        iterations_in_flight: remains.iterations_in_flight,
        folded_endpoints: 0,
        folded_ticks: remains.folded_ticks,
    }
}

/// A failure to record always fails the run; a broken-off one is still judged and reported.
fn conclude(file: &RunFile, measured: Outcome<Measured>) -> Outcome<Option<String>> {
    let Measured { end, recorded } = measured?;
    let see = file.kept().map(|path| format!("; see `plimsoll report {}`", path.display()));
    let see = see.unwrap_or_default();
    let lost = |error| anyhow!("the run was not recorded to its end: {error}{see}");
    let recorded = recorded.map_err(|error| Failure::own(lost(error)))?;
    for failure in recorded.drawing_failures {
        outputs::tell(failure);
    }
    Ok(match end.ending {
        Ending::Aborted(reason) => Some(reason),
        Ending::Completed | Ending::Interrupted => None,
    })
}

fn files<'a>(arguments: &'a CourseArguments, file: &'a RunFile) -> Vec<(&'a str, &'a str)> {
    let outputs = &arguments.outputs;
    let asked =
        [("evidence", file.kept()), ("HTML", outputs.html.as_deref()), ("Markdown", outputs.md.as_deref())];
    asked.into_iter().filter_map(|(what, path)| Some((what, path?.to_str()?))).collect()
}
