//! `plimsoll quick`: within a minute, is a target fit to be loaded? Two short runs along the spine, a slow one and a
//! burst, and a table of checks.

mod checks;
mod health;

use std::time::Duration;

use anyhow::anyhow;
use archive::Stored;
use workload::adhoc::{AdhocGrpc, AdhocHttp, AdhocStream, Pace, Sources, grpc, http};
use workload::model::{ProcessRef, Workload};
use workload::plan::LoadedPlan;
use workload::{Arrivals, Connecting, Executor, Phase};

use crate::arguments::{CourseArguments, OutputArguments, OverrideArguments, QuickArguments};
use crate::failure::{Failure, Outcome};
use crate::run::{self, Course, Recorded};
use crate::run_file::Keep;
use crate::signals::Listener;
use crate::{adhoc, outputs, plan};
use checks::{Check, State};

/// A check failed.
const FAILED: u8 = 3;
/// Requests a second, and for how long: slow enough to wait for nobody.
const SLOW: (f64, Duration) = (5.0, Duration::from_secs(10));
/// Short, and more than any limiter for people lets through.
const BURST: (f64, Duration) = (100.0, Duration::from_secs(3));
const TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) fn quick(arguments: &QuickArguments) -> Outcome<u8> {
    let listener = Listener::start()?;
    let slow = reached(measured(&listener, arguments, SLOW))?;
    let burst = reached(measured(&listener, arguments, BURST))?;
    let slow = Stored::open(slow.file.path()).map_err(Failure::own)?;
    let burst = Stored::open(burst.file.path()).map_err(Failure::own)?;
    let checks = checks::of(&slow, &burst).map_err(Failure::own)?;
    outputs::print(&checks::table(&checks))?;
    Ok(if checks.iter().any(|Check { state, .. }| *state == State::Fail) { FAILED } else { 0 })
}

/// That nobody is there is a finding too, told before the failure; what is wrong with the arguments is none.
fn reached(measured: Outcome<Recorded>) -> Outcome<Recorded> {
    if let Err(Failure::Usage(error)) = &measured
        && is_unreachable(error)
    {
        outputs::print(&checks::table(&checks::unreachable(&format!("{error:#}"))))?;
    }
    measured
}

/// Whether nobody was there to be looked at: the run's own words for it, or those of its questions before the run.
fn is_unreachable(error: &anyhow::Error) -> bool {
    let words = format!("{error:#}");
    words.contains("nothing answers") || words.contains("its reflection cannot be asked")
}

/// A short run of the target at this rate, in a file that is gone afterwards.
fn measured(
    listener: &Listener,
    arguments: &QuickArguments,
    (rate, length): (f64, Duration),
) -> Outcome<Recorded> {
    let mut plan = match &arguments.plan {
        Some(path) => of_plan(path, (&arguments.target, rate, length))?,
        None => of_address(&arguments.target, (rate, length))?,
    };
    for target in plan.workload.targets.values_mut() {
        watch_if_local(target);
    }
    let outputs = OutputArguments { html: None, md: None, json: None, junit: None };
    let arguments = CourseArguments { once: false, force: false, loops: 1, outputs };
    let elsewhere = |_: &str| String::new();
    let course = Course { keep: Keep::Nothing, is_quiet: true, arguments: &arguments, elsewhere };
    let recorded = run::record(listener, plan, &course)?;
    match &recorded.aborted {
        Some(reason) => Err(Failure::own(anyhow!("the run was broken off: {reason}"))),
        None if listener.has_heard() => Err(Failure::own(anyhow!("interrupted"))),
        None => Ok(recorded),
    }
}

fn of_address(target: &str, (rate, length): (f64, Duration)) -> Outcome<LoadedPlan> {
    let pace = Pace {
        rate: Some(rate),
        users: None,
        requests: None,
        duration: Some(length),
        ramp: None,
        arrivals: Arrivals::Even,
    };
    if !(target.starts_with("http://") || target.starts_with("https://")) {
        return of_grpc(target, pace);
    }
    let line = AdhocHttp {
        url: target.to_owned(),
        method: None,
        headers: Vec::new(),
        body: None,
        redirects: 0,
        connecting: Connecting::default(),
        timeout: TIMEOUT,
        seed: 1,
        pace,
    };
    http(&line, adhoc::SOURCES).map_err(Failure::usage)
}

/// `HOST:PORT` and `grpc://HOST:PORT` by its health service; `grpc://HOST:PORT/SERVICE/METHOD` by a call with an empty
/// message; `grpcs://` under TLS.
fn of_grpc(target: &str, pace: Pace) -> Outcome<LoadedPlan> {
    let (is_secure, rest) = match (target.strip_prefix("grpc://"), target.strip_prefix("grpcs://")) {
        (_, Some(rest)) => (true, rest),
        (rest, None) => (false, rest.unwrap_or(target)),
    };
    let (place, method) = rest.split_once('/').unwrap_or((rest, ""));
    let is_health = method.is_empty();
    let line = AdhocGrpc {
        address: if is_secure { format!("https://{place}") } else { place.to_owned() },
        method: if is_health { health::CHECK.to_owned() } else { method.to_owned() },
        messages: Vec::new(),
        stream: AdhocStream::default(),
        metadata: Vec::new(),
        // It is known without asking, and by servers that do not tell what they serve.
        proto: if is_health { vec![health::FILE.into()] } else { Vec::new() },
        connecting: Connecting::default(),
        timeout: TIMEOUT,
        seed: 1,
        pace,
    };
    let sources = Sources { files: &health::WithHealth, ..adhoc::SOURCES };
    let mut plan = grpc(&line, sources).map_err(Failure::usage)?;
    if is_health {
        let steps = plan.workload.scenarios.iter_mut().flat_map(|scenario| scenario.flow.steps_mut());
        steps.for_each(|step| step.expect.json.push(("$.status".to_owned(), health::SERVING.into())));
    }
    Ok(plan)
}

/// The scenarios of a plan that go to `target` and nowhere else, at this rate each.
fn of_plan(path: &std::path::Path, (target, rate, length): (&str, f64, Duration)) -> Outcome<LoadedPlan> {
    let none = OverrideArguments { targets: Vec::new(), time_scale: None, load: None, seed: None };
    let mut plan = plan::resolve(path, &none)?;
    let workload = &mut plan.workload;
    if !workload.targets.contains_key(target) {
        let known: Vec<&str> = workload.targets.keys().map(String::as_str).collect();
        return Err(Failure::usage(anyhow!(
            "the plan has no target `{target}`; it has {}",
            known.join(", ")
        )));
    }
    workload.scenarios.retain(|scenario| scenario.steps().all(|step| step.request.target() == target));
    if workload.scenarios.is_empty() {
        return Err(Failure::usage(anyhow!(
            "no scenario of the plan goes to `{target}` alone; give its address"
        )));
    }
    shorten(workload, (rate, length));
    Ok(plan)
}

fn shorten(workload: &mut Workload, (rate, length): (f64, Duration)) {
    let each = rate / workload.scenarios.len() as f64;
    for scenario in &mut workload.scenarios {
        scenario.executor = Executor::ConstantArrivalRate { rate: each, duration: length };
        scenario.start = Duration::ZERO;
        scenario.max_vus = scenario.max_vus.max(100);
    }
    workload.phases = vec![Phase { name: "quick".to_owned(), start: Duration::ZERO, end: length }];
    workload.objectives.clear();
    workload.profiles.clear();
}

/// The process behind a port of this machine is watched, as long as it can be found.
fn watch_if_local(target: &mut workload::model::Target) {
    let place = target.http.as_ref().map(|http| (http.host.as_str(), http.port));
    let place = place.or(target.grpc.as_ref().map(|grpc| (grpc.host.as_str(), grpc.port)));
    let Some((host, port)) = place else { return };
    let is_local = matches!(host, "localhost" | "127.0.0.1" | "::1");
    if is_local && target.process.is_none() && observe::identify(observe::ProcessRef::Port(port)).is_ok() {
        target.process = Some(ProcessRef::Port(port));
    }
}
