//! Changes a resolved workload as the command line asks: other targets, other times, another load.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Overrides;
use super::request::unknown_target;
use super::scenarios::MAX_VUS;
use super::targets::{grpc_authority, http_origin};
use crate::model::{Executor, ProcessRef, ReadyProbe, Scenario, Target, Workload};
use crate::nearest::nearest;
use crate::observation::Mark;
use crate::schedule::{MAX_RATE, MAX_STAGE};

/// Below this a scaled graceful stop would cut off what any service needs to answer.
const MIN_GRACEFUL_STOP: Duration = Duration::from_secs(1);

/// A profile of less says nothing.
const MIN_PROFILE: Duration = Duration::from_secs(1);

/// Apply `overrides`; yields what is wrong with them.
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

/// Move the targets that the plan names, before its steps are read: their paths begin with their target's.
/// What is wrong is told by [`apply`], which knows all targets.
pub(super) fn move_targets(targets: &mut BTreeMap<String, Target>, overrides: &Overrides) {
    for (name, url) in &overrides.targets {
        if let Some(target) = targets.get_mut(name) {
            let _ = move_to(target, (name, url));
        }
    }
}

fn retarget(workload: &mut Workload, name: &str, url: &str) -> Result<(), String> {
    let known: Vec<String> = workload.targets.keys().map(|known| format!("`{known}`")).collect();
    if let Some(target) = workload.targets.get_mut(name) {
        return move_to(target, (name, url));
    }
    let names = workload.targets.keys().map(String::as_str);
    Err(match nearest(name, names.clone()) {
        Some(_) => unknown_target(name, names),
        None if known.is_empty() => format!("there is no target `{name}`; the plan has none"),
        None => format!("there is no target `{name}`; the plan has {}", known.join(", ")),
    })
}

fn move_to(target: &mut Target, (name, url): (&str, &str)) -> Result<(), String> {
    match (&mut target.http, &mut target.grpc) {
        (Some(http), grpc) if grpc.is_none() || url.contains("://") => {
            let old = std::mem::replace(http, http_origin(url)?);
            // Who listened there is now looked for where the target is now.
            if target.process == Some(ProcessRef::Port(old.port)) {
                target.process = Some(ProcessRef::Port(http.port));
            }
        }
        (_, Some(grpc)) => {
            let (scheme, host, port) = grpc_authority(url)?;
            let (was_at, old_port) = (grpc.authority(), grpc.port);
            (grpc.scheme, grpc.host, grpc.port) = (scheme, host, port);
            if target.process == Some(ProcessRef::Port(old_port)) {
                target.process = Some(ProcessRef::Port(port));
            }
            let probe = target.wait_ready.as_mut().map(|ready| &mut ready.probe);
            if let Some(ReadyProbe::GrpcHealth { scheme, authority: asked, .. }) = probe
                && *asked == was_at
            {
                (*scheme, *asked) = (grpc.scheme, grpc.authority());
            }
        }
        _ => return Err(format!("target `{name}` has no url to replace")),
    }
    Ok(())
}

/// `time`, an offset from the start of the run, `factor` times as far. Every instant is scaled by itself, so
/// that what ended together still does.
fn scaled(time: Duration, factor: f64) -> Duration {
    Duration::from_nanos((time.as_nanos() as f64 * factor).round() as u64)
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
        let shrunk = |from: Duration, to: Duration| scaled(to, factor) - scaled(from, factor);
        match &mut scenario.executor {
            Executor::ConstantArrivalRate { duration, .. }
            | Executor::ConstantVus { duration, .. }
            | Executor::PerVuIterations { max_duration: duration, .. }
            | Executor::SharedIterations { max_duration: duration, .. } => {
                *duration = shrunk(begin, begin + *duration);
            }
            Executor::RampingArrivalRate { stages, .. } => {
                scale_stages((begin, factor), stages.iter_mut().map(|stage| &mut stage.over));
            }
            Executor::RampingVus { stages, graceful_ramp_down, .. } => {
                scale_stages((begin, factor), stages.iter_mut().map(|stage| &mut stage.over));
                scale_grace(graceful_ramp_down, factor);
            }
        }
        scenario.start = scaled(begin, factor);
        scale_grace(&mut scenario.graceful_stop, factor);
    }
}

/// Scale the lengths of stages, the first of which begins at `begin`.
fn scale_stages<'a>((begin, factor): (Duration, f64), lengths: impl Iterator<Item = &'a mut Duration>) {
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

/// `vus`, `factor` times as many; at least one, unless there was none.
fn scaled_vus(vus: u32, factor: f64) -> u32 {
    let least = f64::from(vus.min(1));
    (f64::from(vus) * factor).round().clamp(least, MAX_VUS as f64) as u32
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
            // Each virtual user needs one, and as many as the plan says is what it asks for.
            *iterations = (*iterations).max(u64::from(*vus));
        }
        Executor::RampingVus { start_vus, stages, .. } => {
            *start_vus = scaled_vus(*start_vus, factor);
            stages.iter_mut().for_each(|stage| stage.to = scaled_vus(stage.to, factor));
        }
    }
    scenario.max_vus = scenario.executor.peak_vus().unwrap_or(scenario.max_vus);
}
