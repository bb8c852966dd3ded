//! Applies the overrides of the command line to a workload: other targets, other times, another load.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Overrides;
use super::targets::unknown_target;
use workload::address::{Origin, authority_of, scheme_of};
use workload::executor::{Executor, MAX_VUS};
use workload::model::{HttpOrigin, ProcessRef, ReadyProbe, Scenario, Target, Workload};
use workload::nearest::nearest;
use workload::objective::Objective;
use workload::observation::Mark;
use workload::schedule::{MAX_RATE, MAX_STAGE};

/// A scaled graceful stop is not shorter, so that services can still answer.
const MIN_GRACEFUL_STOP: Duration = Duration::from_secs(1);

/// A scaled profile is not shorter, so that it has enough samples.
const MIN_PROFILE: Duration = Duration::from_secs(1);

/// Apply `overrides`; returns errors in them.
pub(super) fn apply(workload: &mut Workload, overrides: &Overrides) -> Vec<String> {
    let mut wrong = Vec::new();
    workload.seed = overrides.seed.unwrap_or(workload.seed);
    for (name, url) in &overrides.targets {
        wrong.extend(retarget(workload, name, url).err());
    }
    if let Some(factor) = overrides.time_scale {
        match factor.is_finite()
            && factor > 0.0
            && run_end(workload).as_secs_f64() * factor <= MAX_STAGE.as_secs_f64()
        {
            true => scale_time(workload, factor),
            false => {
                wrong.push(format!("a time scale of {factor} is not above 0, or makes the run too long"))
            }
        }
    }
    if let Some(factor) = overrides.load {
        match factor.is_finite() && factor > 0.0 && peak_rate(workload) * factor <= MAX_RATE {
            true => workload.scenarios.iter_mut().for_each(|scenario| scale_load(scenario, factor)),
            false => wrong.push(format!("a load of {factor} is not above 0, or too high")),
        }
    }
    wrong
}

fn run_end(workload: &Workload) -> Duration {
    workload.phases.last().map_or(Duration::ZERO, |phase| phase.end)
}

fn peak_rate(workload: &Workload) -> f64 {
    workload.scenarios.iter().map(|scenario| scenario.executor.peak_rate()).fold(0.0, f64::max)
}

/// Move the plan's named targets before its steps are read, because paths of steps begin with their target's path.
/// Errors are left to [`apply`], which runs when all targets are known.
pub(super) fn move_targets(targets: &mut BTreeMap<String, Target>, overrides: &Overrides) {
    for (name, url) in &overrides.targets {
        if let Some(target) = targets.get_mut(name) {
            let _ = move_to(target, name, url);
        }
    }
}

fn retarget(workload: &mut Workload, name: &str, url: &str) -> Result<(), String> {
    let known: Vec<String> = workload.targets.keys().map(|known| format!("`{known}`")).collect();
    if let Some(target) = workload.targets.get_mut(name) {
        return move_to(target, name, url);
    }
    let names = workload.targets.keys().map(String::as_str);
    Err(match nearest(name, names.clone()) {
        Some(_) => unknown_target(name, names),
        None if known.is_empty() => format!("there is no target `{name}`; the plan has none"),
        None => format!("there is no target `{name}`; the plan has {}", known.join(", ")),
    })
}

fn move_to(target: &mut Target, name: &str, url: &str) -> Result<(), String> {
    match (&mut target.http, &mut target.grpc) {
        (Some(http), grpc) if grpc.is_none() || url.contains("://") => {
            let old = std::mem::replace(http, HttpOrigin::parse(url)?);
            // A process on the old port is now looked up by the new port.
            if target.process == Some(ProcessRef::Port(old.port)) {
                target.process = Some(ProcessRef::Port(http.port));
            }
            let [old, new] = [old.origin(), http.origin()];
            move_pages(target, &old, &new);
        }
        (_, Some(grpc)) => {
            let new = Origin::parse(url)?;
            let old = grpc.origin();
            (grpc.scheme, grpc.host, grpc.port) = (new.scheme, new.host, new.port);
            if target.process == Some(ProcessRef::Port(old.port)) {
                target.process = Some(ProcessRef::Port(grpc.port));
            }
            let probe = target.wait_ready.as_mut().map(|ready| &mut ready.probe);
            if let Some(ReadyProbe::GrpcHealth { scheme, authority, .. }) = probe
                && *authority == old.authority()
            {
                (*scheme, *authority) = (grpc.scheme, grpc.authority());
            }
        }
        _ => return Err(format!("target `{name}` has no url to replace")),
    }
    Ok(())
}

/// The pages of a target that are at its old address are at its new one.
fn move_pages(target: &mut Target, old: &Origin, new: &Origin) {
    let pages = target.observe.prometheus.iter_mut().map(|page| &mut page.url);
    for url in pages.chain(&mut target.observe.pprof) {
        let Some((scheme, rest)) = scheme_of(url) else { continue };
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let is_its =
            |(host, port): (String, u16)| (scheme, host, port) == (old.scheme, old.host.clone(), old.port);
        if authority_of(authority, Some(scheme.default_port())).is_ok_and(is_its) {
            *url = format!("{}://{}{path}", new.scheme.name(), new.authority());
        }
    }
}

/// `time`, an offset from the start of the run, times `factor`. Every instant is scaled by itself, so that equal
/// instants remain equal.
fn scaled(time: Duration, factor: f64) -> Duration {
    Duration::from_nanos((time.as_nanos() as f64 * factor).round() as u64)
}

/// The delays of stop rules, which are read after the rest of the plan was scaled.
pub(super) fn scale_delays(objectives: &mut [Objective], overrides: &Overrides) {
    let Some(factor) = overrides.time_scale else { return };
    for delay in objectives.iter_mut().filter_map(|objective| objective.abort_after.as_mut()) {
        *delay = scaled(*delay, factor);
    }
}

/// Makes every objective that can be watched end the run when it fails; false where none can.
pub(super) fn abort_on_fail(objectives: &mut [Objective]) -> bool {
    let mut watched =
        objectives.iter_mut().filter(|objective| objective.measure.watched().is_some()).peekable();
    let has_any = watched.peek().is_some();
    watched.for_each(|objective| _ = objective.abort_after.get_or_insert_default());
    has_any
}

fn scale_time(workload: &mut Workload, factor: f64) {
    for phase in &mut workload.phases {
        (phase.start, phase.end) = (scaled(phase.start, factor), scaled(phase.end, factor));
    }
    for mark in &mut workload.profiles {
        if let Mark::At(time) | Mark::Every(time) = &mut mark.at {
            *time = scaled(*time, factor);
        }
        mark.length = scaled(mark.length, factor).max(MIN_PROFILE.min(mark.length));
    }
    for scenario in &mut workload.scenarios {
        let begin = scenario.start;
        match &mut scenario.executor {
            Executor::ConstantArrivalRate { duration, .. }
            | Executor::ConstantVus { duration, .. }
            | Executor::PerVuIterations { max_duration: duration, .. }
            | Executor::SharedIterations { max_duration: duration, .. } => {
                scale_lengths(begin, factor, std::iter::once(duration));
            }
            Executor::RampingArrivalRate { stages, .. } => {
                scale_lengths(begin, factor, stages.iter_mut().map(|stage| &mut stage.over));
            }
            Executor::RampingVus { stages, graceful_ramp_down, .. } => {
                scale_lengths(begin, factor, stages.iter_mut().map(|stage| &mut stage.over));
                scale_grace(graceful_ramp_down, factor);
            }
        }
        scenario.start = scaled(begin, factor);
        scale_grace(&mut scenario.graceful_stop, factor);
    }
}

/// Scale the lengths of consecutive windows, the first of which begins at `begin`.
fn scale_lengths<'a>(begin: Duration, factor: f64, lengths: impl Iterator<Item = &'a mut Duration>) {
    let mut from = begin;
    for length in lengths {
        let to = from + *length;
        *length = scaled(to, factor) - scaled(from, factor);
        from = to;
    }
}

fn scale_grace(grace: &mut Duration, factor: f64) {
    let least = MIN_GRACEFUL_STOP.min(*grace);
    *grace = scaled(*grace, factor).max(least);
}

/// `vus` times `factor`; at least 1, unless `vus` is 0.
fn scaled_vus(vus: u32, factor: f64) -> u32 {
    let least = f64::from(vus.min(1));
    (f64::from(vus) * factor).round().clamp(least, f64::from(MAX_VUS)) as u32
}

fn scale_load(scenario: &mut Scenario, factor: f64) {
    match &mut scenario.executor {
        Executor::ConstantArrivalRate { rate, .. } => *rate *= factor,
        Executor::RampingArrivalRate { start_rate, stages } => {
            *start_rate *= factor;
            stages.iter_mut().for_each(|stage| stage.to *= factor);
        }
        Executor::ConstantVus { vus, .. } | Executor::PerVuIterations { vus, .. } => {
            *vus = scaled_vus(*vus, factor);
        }
        Executor::SharedIterations { vus, iterations, .. } => {
            *vus = scaled_vus(*vus, factor);
            // The number of iterations is not scaled, but each virtual user needs one.
            *iterations = (*iterations).max(u64::from(*vus));
        }
        Executor::RampingVus { start_vus, stages, .. } => {
            *start_vus = scaled_vus(*start_vus, factor);
            stages.iter_mut().for_each(|stage| stage.to = scaled_vus(stage.to, factor));
        }
    }
    scenario.max_vus = scenario.executor.peak_vus().unwrap_or(scenario.max_vus);
}
