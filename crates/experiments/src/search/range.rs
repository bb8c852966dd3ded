//! Between which levels is searched: from the plan, what was asked for, and what the generator can do.

use anyhow::anyhow;
use conduct::failure::{CommandResult, Failure};
use conduct::plan;
use evidence::capacity::Ceiling;
use plans::Overrides;
use serde::{Deserialize, Serialize};
use workload::Workload;
use workload::capacity::{CapacityExperiment, Searched};

use super::generator_limit::{LimitQuery, allowed_lag, generator_limit};

/// The lowest level that is tried without being asked for, as a share of the plan's.
const LOWEST: f64 = 0.05;
/// Of a plan with one phase this share of a probe is warm-up.
const WARM_UP: f64 = 1.0 / 6.0;
/// By so much a level is lowered until the plan can be run at it.
const LOWERED: f64 = 1.25;
/// Load is not raised to more than so many times the plan's without being asked for.
const MOST: f64 = 1_000.0;

/// The numbers of a search that come from its plan and from this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Resolved {
    /// The easiest level, the hardest, and where the search begins.
    pub(super) easiest: f64,
    pub(super) hardest: f64,
    pub(super) start: f64,
    /// Why there is nothing harder.
    pub(super) ceiling: Ceiling,
    /// The plan's own level, where levels scale its load.
    pub(super) plan_level: Option<f64>,
    /// Requests a second that the generator can sustain.
    pub(super) proven_per_s: f64,
    /// Requests a second that count for each objective at the plan's level.
    pub(super) per_s: Vec<f64>,
    /// How long each probe is.
    pub(super) step_s: f64,
    /// How much of its beginning is left out.
    pub(super) warm_up_s: u32,
}

/// How probes are made.
pub(super) struct ProbesOf {
    pub(super) step_s: f64,
    pub(super) loops: u16,
}

/// The levels between which is searched, as far as the generator is proven.
pub(super) fn resolved_levels(
    experiment: &CapacityExperiment,
    workload: &Workload,
    probes: ProbesOf,
) -> CommandResult<Resolved> {
    let search = &experiment.search;
    let Some(phase) = workload.measured_phase(&experiment.slos) else {
        return Err(Failure::usage(anyhow!("the plan has no phase that could be measured")));
    };
    let plan_level = workload.level(search.searched, phase);
    if plan_level <= 0.0 {
        let what = if search.searched == Searched::Rate { "arrivals" } else { "virtual users" };
        return Err(Failure::usage(anyhow!("the plan offers no {what} in its phase `{}`", phase.name)));
    }
    let requests_per_s = workload.requests_per_s(phase);
    let is_scaled = search.searched != Searched::Number;
    let factor = |level: f64| if is_scaled { level / plan_level } else { 1.0 };
    let needed = search.to.map(|to| requests_per_s * factor(to)).filter(|needed| *needed > 0.0);
    let lag = allowed_lag(&experiment.slos);
    let proven_per_s = generator_limit(&LimitQuery {
        needed_per_s: needed,
        begin_per_s: requests_per_s,
        loops: probes.loops,
        lag,
    })?;
    let proven_level = match search.searched {
        Searched::Rate => plan_level * proven_per_s / requests_per_s,
        // How fast virtual users and numbers are is seen probe by probe.
        Searched::Users | Searched::Number => f64::INFINITY,
    };
    let asked = search.to.unwrap_or(if is_scaled { proven_level } else { 1.0 });
    let highest =
        asked.min(proven_level).min(if search.to.is_none() { MOST * plan_level } else { f64::INFINITY });
    let lowest = search.from.unwrap_or(if is_scaled { plan_level * LOWEST } else { 1.0 });
    let lowest = if search.searched.is_whole() { lowest.round().max(1.0) } else { lowest };
    if lowest >= highest {
        return Err(Failure::usage(anyhow!(
            "the generator can sustain at most {proven_per_s:.0} requests/s on this machine, with 99 of 100 started within {lag:?}; \
             {lowest:.1} {} need more: stop other programs, or offer the load from another machine",
            search.searched.unit()
        )));
    }
    let highest = if is_scaled { runnable(experiment, highest, plan_level)? } else { highest };
    let ceiling = if highest < asked || search.to.is_none() { Ceiling::Generator } else { Ceiling::Asked };
    let start = if is_scaled { plan_level } else { (lowest * highest).sqrt().round() };
    let (easiest, hardest) = if search.is_more_better { (highest, lowest) } else { (lowest, highest) };
    let is_single = workload.phases.len() == 1;
    let warm_up = search
        .warm_up
        .map_or(if is_single { probes.step_s * WARM_UP } else { 0.0 }, |warm| warm.as_secs_f64());
    Ok(Resolved {
        easiest,
        hardest,
        start: start.clamp(lowest, highest),
        ceiling,
        plan_level: is_scaled.then_some(plan_level),
        proven_per_s,
        per_s: experiment.slos.iter().map(|slo| workload.selected_per_s(&slo.filter, phase)).collect(),
        step_s: probes.step_s,
        warm_up_s: warm_up.round() as u32,
    })
}

/// The highest level, not above `highest`, at which the plan can be run: it may need more data than it has.
fn runnable(experiment: &CapacityExperiment, highest: f64, plan_level: f64) -> CommandResult<f64> {
    let mut level = highest;
    loop {
        let overrides = Overrides { load: Some(level / plan_level), ..Overrides::default() };
        match plan::resolve(&experiment.plan, &overrides) {
            Ok(_) => return Ok(level),
            Err(failure) if level <= plan_level => return Err(failure),
            Err(_) => level = (level / LOWERED).max(plan_level),
        }
    }
}
