//! How long probes are, and what a search takes.

use std::time::Duration;

use anyhow::anyhow;
use conduct::failure::{CommandResult, Failure};
use conduct::screen::note;
use evidence::capacity::ProbeStage;
use judge::capacity::{NARROWED_LEVELS, NARROWED_REPEATS, SPREAD};
use workload::Workload;
use workload::capacity::{CapacityExperiment, OverloadShape, Search, Searched, failures_take, step_needed};

use crate::session::OVERHEAD;

/// Probes of the bracket and of the bisection that a search has at least, and the one at its end.
const SEARCHING: u32 = 6;
/// Steps of the bracket are not longer.
const LONGEST_BRACKET: Duration = Duration::from_secs(30);
/// Loads of the overload run, as multiples of the capacity, and the one before and after.
pub(super) const OVERLOADS: [f64; 3] = [1.2, 1.5, 2.0];
pub(super) const UNDERLOAD: f64 = 0.7;

/// How long each probe is, in seconds.
pub(super) fn step_s(experiment: &CapacityExperiment, workload: &workload::Workload) -> CommandResult<f64> {
    let phase = workload
        .measured_phase(&experiment.slos)
        .ok_or_else(|| Failure::usage(anyhow!("the plan has no phase that could be measured")))?;
    let per_s = experiment.slos.iter().map(|slo| (slo, workload.selected_per_s(&slo.filter, phase)));
    let needed = per_s.map(|(slo, per_s)| step_needed(slo, per_s, per_s)).max().unwrap_or_default();
    Ok(experiment.search.step.unwrap_or(needed).as_secs_f64())
}

/// How long a probe is under load.
pub(super) fn length(search: &Search, step_s: f64, stage: ProbeStage) -> Duration {
    let step = Duration::from_secs_f64(step_s);
    match stage {
        ProbeStage::Bracket => step.min(LONGEST_BRACKET),
        ProbeStage::Coarse | ProbeStage::Grid | ProbeStage::Spread | ProbeStage::Again => step,
        ProbeStage::Hold => search.hold,
        ProbeStage::Overload => overload_shape(search).parts.iter().map(|(_, _, length)| *length).sum(),
    }
}

/// The loads of the overload run.
pub(super) fn overload_shape(search: &Search) -> OverloadShape {
    OverloadShape::around(UNDERLOAD, &OVERLOADS, search.overload)
}

/// The pause after a probe.
pub(super) fn rest(experiment: &CapacityExperiment) -> Duration {
    if experiment.arm.start.is_none() { experiment.search.rest } else { Duration::ZERO }
}
/// Say what it will take; a budget that is too short is refused before anything is started.
pub(super) fn announce(experiment: &CapacityExperiment, workload: &Workload) -> CommandResult<()> {
    let step_s = step_s(experiment, workload)?;
    let search = &experiment.search;
    let narrowing = NARROWED_LEVELS * NARROWED_REPEATS;
    let probes = match search.levels_for_diagnosis {
        true => SEARCHING + SPREAD.len() as u32,
        false => SEARCHING + (search.levels + narrowing) * search.repeats,
    };
    let is_overloaded = !search.overload.is_zero() && search.searched != Searched::Number;
    let overload = if is_overloaded { length(search, step_s, ProbeStage::Overload) } else { Duration::ZERO };
    let all =
        probes * (Duration::from_secs_f64(step_s) + OVERHEAD + rest(experiment)) + search.hold + overload;
    let slos: Vec<&str> = experiment.slos.iter().map(|slo| slo.source.as_str()).collect();
    note(format_args!("what must hold: {}", slos.join("; ")));
    let then = |what: &str, option: &str, length: Duration| match length.is_zero() {
        true => format!(", no {what} ({option})"),
        false => format!(", {what} of {:.0} s", length.as_secs_f64()),
    };
    let after = match search.levels_for_diagnosis {
        true => String::new(),
        false => then("hold", "--hold 10m", search.hold) + &then("overload", "--overload 60s", overload),
    };
    note(format_args!(
        "about {probes} probes of {step_s:.0} s{after}: about {:.0} min{}",
        all.as_secs_f64() / 60.0,
        search.budget.map(|budget| format!(", at most {budget:?}")).unwrap_or_default()
    ));
    match search.budget {
        Some(budget) if budget < all => Err(Failure::usage(anyhow!(
            "a budget of {budget:?} is too short: {probes} probes of {step_s:.0} s{} take about {:.0} min; raise it, or shorten \
             `step`",
            if search.hold + overload == Duration::ZERO { "" } else { " and what follows them" },
            (all.as_secs_f64() / 60.0).ceil()
        ))),
        _ => {
            warn_of_short_probes(experiment, workload, step_s);
            Ok(())
        }
    }
}

/// Say which error rates no level will be shown to meet at the plan's load, before the time is spent.
fn warn_of_short_probes(experiment: &CapacityExperiment, workload: &Workload, step_s: f64) {
    let Some(phase) = workload.measured_phase(&experiment.slos) else { return };
    let whole_s: f64 = workload.phases.iter().map(|phase| (phase.end - phase.start).as_secs_f64()).sum();
    let share = (phase.end - phase.start).as_secs_f64() / whole_s;
    let measured_s = step_s * share - experiment.search.warm_up.unwrap_or_default().as_secs_f64();
    for slo in &experiment.slos {
        let per_s = workload.selected_per_s(&slo.filter, phase);
        if let Some(needed) = failures_take(slo, per_s).filter(|needed| needed.as_secs_f64() > measured_s) {
            note(format_args!(
                "warning: at {per_s:.0} requests/s probes must measure for {:.0} s to show that `{}` is met ({}), not {measured_s:.0} s: \
                 make `step` longer, or ask for less",
                needed.as_secs_f64().ceil(),
                slo.name,
                slo.source
            ));
        }
    }
}
