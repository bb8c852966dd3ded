//! `plimsoll quick`: within a minute, is a target fit for a load test? Two short runs, a slow one and a burst, and a
//! few checks.

mod checks;

use std::path::Path;
use std::time::Duration;

use ::report::Detail;
use ::report::quick::{QuickCheck, QuickSummary};
use anyhow::anyhow;
use archive::Stored;
use conduct::failure::{CommandResult, Failure, Unreachable};
use conduct::judged::StoredRun;
use conduct::recording::SealedRun;
use conduct::run_file::RunFilePolicy;
use conduct::run_request::{Precheck, Progress, RunRequest};
use conduct::signals::Listener;
use conduct::{plan, record, writable};
use evidence::Verdict;
use plans::Overrides;
use plans::adhoc::{AdhocGrpc, AdhocHttp, AdhocRequests, AdhocStream, Pace, Sources, UrlRequest, grpc, http};
use workload::LoadedPlan;
use workload::model::{ProcessRef, Workload};
use workload::{Arrivals, Connecting, Executor, Phase};

use crate::arguments::QuickArguments;
use crate::outputs::{self, PreopenedReports};
use crate::{adhoc, health_service};

/// A check failed.
const FAILED: u8 = 3;
const TIMEOUT: Duration = Duration::from_secs(10);

/// One of the two short runs.
#[derive(Clone, Copy)]
struct Probe {
    /// Requests a second.
    rate: f64,
    length: Duration,
}

/// So slow that no request waits for another.
const SLOW: Probe = Probe { rate: 5.0, length: Duration::from_secs(10) };
/// Short, and more than a limiter for human users lets through.
const BURST: Probe = Probe { rate: 100.0, length: Duration::from_secs(3) };

pub(crate) fn quick(arguments: &QuickArguments) -> CommandResult<u8> {
    writable::require(arguments.reports.named().into_iter().flatten())?;
    let listener = Listener::start()?;
    let slow = report_unreachable(measure(&listener, arguments, SLOW), arguments)?;
    let burst = report_unreachable(measure(&listener, arguments, BURST), arguments)?;
    let slow = StoredRun::judge(Stored::open(slow.path()).map_err(Failure::own)?)?;
    let burst = StoredRun::judge(Stored::open(burst.path()).map_err(Failure::own)?)?;
    let summary = report(arguments, checks::of(&slow, &burst).map_err(Failure::own)?)?;
    Ok(if summary.verdict() == Verdict::Fail { FAILED } else { 0 })
}

/// Writes every report that was asked for.
fn report(arguments: &QuickArguments, checks: Vec<QuickCheck>) -> CommandResult<QuickSummary> {
    let summary = QuickSummary { target: arguments.target.clone(), checks };
    outputs::write(&summary, &arguments.reports, Detail::Full, &PreopenedReports::default())?;
    Ok(summary)
}

/// An unreachable target is a finding too: it is reported before the failure. Wrong arguments are not.
fn report_unreachable(
    measured: CommandResult<SealedRun>,
    arguments: &QuickArguments,
) -> CommandResult<SealedRun> {
    if let Err(Failure::Usage(error)) = &measured
        && error.is::<Unreachable>()
    {
        report(arguments, checks::unreachable(&format!("{error:#}")))?;
    }
    measured
}

/// A short run against the target, in a file that is deleted afterwards.
fn measure(listener: &Listener, arguments: &QuickArguments, probe: Probe) -> CommandResult<SealedRun> {
    let mut plan = match &arguments.plan {
        Some(path) => from_plan(path, &arguments.target, probe)?,
        None => from_address(arguments, probe)?,
    };
    for target in plan.workload.targets.values_mut() {
        watch_if_local(target);
    }
    let request = RunRequest {
        precheck: Precheck::Skipped,
        ..RunRequest::new(RunFilePolicy::Temporary, Progress::Quiet)
    };
    let mut sealed = record(listener, plan, &request)?;
    sealed.completed()?;
    if listener.interrupted() {
        return Err(Failure::own(anyhow!("interrupted")));
    }
    Ok(sealed)
}

fn from_address(arguments: &QuickArguments, probe: Probe) -> CommandResult<LoadedPlan> {
    let QuickArguments { target, headers, .. } = arguments;
    if Path::new(target).is_file() {
        return Err(Failure::usage(anyhow!(
            "{target} is a file: name a target of it, `plimsoll quick NAME --plan {target}`"
        )));
    }
    let pace = Pace {
        rate: Some(probe.rate),
        users: None,
        requests: None,
        duration: Some(probe.length),
        ramp: None,
        arrivals: Arrivals::Even,
    };
    if target.starts_with("grpc://") || target.starts_with("grpcs://") {
        return from_grpc_address(target, headers, pace);
    }
    let request = AdhocHttp {
        requests: AdhocRequests::One(UrlRequest { url: target.to_owned(), method: None }),
        headers: headers.clone(),
        basic_auth: None,
        body: None,
        redirects: 0,
        connecting: Connecting::default(),
        timeout: TIMEOUT,
        seed: 1,
        pace,
    };
    http(&request, adhoc::SOURCES).map_err(Failure::usage)
}

/// `grpc://HOST:PORT` by its health service; `grpc://HOST:PORT/SERVICE/METHOD` by a call with an empty
/// message; `grpcs://` under TLS.
fn from_grpc_address(target: &str, metadata: &[(String, String)], pace: Pace) -> CommandResult<LoadedPlan> {
    let (is_secure, rest) = match (target.strip_prefix("grpc://"), target.strip_prefix("grpcs://")) {
        (_, Some(rest)) => (true, rest),
        (rest, None) => (false, rest.unwrap_or(target)),
    };
    let (authority, method) = rest.split_once('/').unwrap_or((rest, ""));
    let is_health = method.is_empty();
    let call = AdhocGrpc {
        address: if is_secure { format!("https://{authority}") } else { authority.to_owned() },
        method: if is_health { health_service::CHECK.to_owned() } else { method.to_owned() },
        messages: Vec::new(),
        stream: AdhocStream::default(),
        metadata: metadata.to_vec(),
        // The health service is described here, for servers without reflection.
        proto: if is_health { vec![health_service::FILE.into()] } else { Vec::new() },
        connecting: Connecting::default(),
        timeout: TIMEOUT,
        seed: 1,
        pace,
    };
    let sources = Sources { files: &health_service::WithHealth, ..adhoc::SOURCES };
    let mut plan = grpc(&call, sources).map_err(Failure::usage)?;
    if is_health {
        let steps = plan.workload.scenarios.iter_mut().flat_map(|scenario| scenario.flow.steps_mut());
        steps.for_each(|step| step.expect.json.push(("$.status".to_owned(), health_service::SERVING.into())));
    }
    Ok(plan)
}

/// The scenarios of a plan that send to `target` alone, which share the rate.
fn from_plan(path: &Path, target: &str, probe: Probe) -> CommandResult<LoadedPlan> {
    let mut plan = plan::resolve(path, &Overrides::default())?;
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
    shorten(workload, probe);
    Ok(plan)
}

fn shorten(workload: &mut Workload, Probe { rate, length }: Probe) {
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

/// Watch the process that listens on a port of this machine, where it can be found.
fn watch_if_local(target: &mut workload::model::Target) {
    let http = target.http.as_ref().map(|http| (http.host.as_str(), http.port));
    let address = http.or(target.grpc.as_ref().map(|grpc| (grpc.host.as_str(), grpc.port)));
    let Some((host, port)) = address else { return };
    let is_local = matches!(host, "localhost" | "127.0.0.1" | "::1");
    if is_local && target.process.is_none() && observe::ProcessRef::Port(port).check().is_ok() {
        target.process = Some(ProcessRef::Port(port));
    }
}
