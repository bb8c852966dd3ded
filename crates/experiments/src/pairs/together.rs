//! Whether two arms can run at the same moment, and whether they do unless it is asked for.

use std::collections::BTreeMap;

use anyhow::anyhow;
use conduct::failure::{CommandResult, Failure};
use conduct::plan;
use conduct::screen::note;
use evidence::PairOrder;
use plans::Overrides;
use workload::experiment::{Arm, Experiment, Probe, Side, Timing, Together};
use workload::observation::Observation;
use workload::{Target, Workload};

use super::shared_store;

/// Decide how the arms run, where the experiment leaves it open, and refuse what cannot be.
pub(super) fn decide(experiment: &mut Experiment, workload: &Workload) -> CommandResult<()> {
    match (&experiment.design.together, experiment.timing) {
        (Some(together), _) => possible(experiment, together, workload).map_err(Failure::usage)?,
        (None, Timing::Given) => return Ok(()),
        // Who asks for the probe asks for runs in turn: at the same moment both have the same machine.
        (None, Timing::Usual) if experiment.design.probe == Probe::On => return Ok(()),
        (None, Timing::Usual) => {
            let together = Together::default();
            let is_started = experiment.arms.iter().all(|arm| arm.start.is_some());
            if !is_started || possible(experiment, &together, workload).is_err() {
                return Ok(());
            }
            experiment.design.together = Some(together);
        }
    }
    note(
        "both versions run at the same moment, and each arrival goes to one of them (`together = \"requests\"`)",
    );
    Ok(())
}

/// The arms at their sides in a window: at the first is the one that is started first. Where there are no sides, as they are.
pub(super) fn at_sides(arms: &[Arm; 2], sides: Option<&[Side; 2]>, order: PairOrder) -> [Arm; 2] {
    let Some([first, second]) = sides else { return arms.clone() };
    let [a, b] = arms.clone();
    match order {
        PairOrder::Ab => [a.at(first), b.at(second)],
        PairOrder::Ba => [a.at(second), b.at(first)],
    }
}

/// # Errors
/// Why the arms cannot run at the same moment, in a sentence.
fn possible(experiment: &Experiment, together: &Together, workload: &Workload) -> anyhow::Result<()> {
    if !workload.can_be_interleaved() {
        return Err(anyhow!(
            "`together = \"requests\"` needs a plan whose scenarios all have a rate: virtual users that wait for responses \
             cannot be divided between two versions; use an open executor, or `together = \"never\"`"
        ));
    }
    let arms = at_sides(&experiment.arms, together.sides.as_ref(), PairOrder::Ab);
    if let Some((target, at)) = equal_address(experiment, &arms)? {
        return Err(anyhow!(
            "`together = \"requests\"`: both arms have target `{target}` at {at}, and two versions at the same moment need \
             addresses of their own; give each arm, or each of `[sides]`, `targets`"
        ));
    }
    if let Some((target, page)) = equal_page(experiment, &arms)? {
        return Err(anyhow!(
            "`together = \"requests\"`: target `{target}` is observed at {page} in both arms, which is one of two versions; put the \
             page at the address of the target, which it follows, or let them run in turn"
        ));
    }
    let shared = shared_store::shared_by([&arms[0], &arms[1]], workload, std::env::vars());
    if !shared.is_empty() && !together.shared_store {
        return Err(anyhow!(
            "`together = \"requests\"`: both arms use the same store ({}), through which they disturb each other; give each \
             its own, or say `shared_store = true`: then only REGRESSED can be shown",
            shared.join(", ")
        ));
    }
    Ok(())
}

/// The targets of the plan, at the addresses of an arm.
fn targets(experiment: &Experiment, arm: &Arm) -> anyhow::Result<BTreeMap<String, Target>> {
    let overrides = Overrides { targets: arm.targets.clone(), ..Overrides::default() };
    let plan = plan::resolve(&experiment.plan, &overrides);
    plan.map(|plan| plan.workload.targets).map_err(|failure| anyhow!("{}", failure.text()))
}

/// A page of metrics or profiles that both arms have.
fn equal_page(experiment: &Experiment, arms: &[Arm; 2]) -> anyhow::Result<Option<(String, String)>> {
    let (a, b) = (targets(experiment, &arms[0])?, targets(experiment, &arms[1])?);
    let pages = |target: &Target| {
        let Observation { prometheus, pprof, .. } = &target.observe;
        prometheus.iter().map(|page| page.url.clone()).chain(pprof.clone()).collect::<Vec<_>>()
    };
    Ok(a.iter().find_map(|(name, target)| {
        let of_b = pages(b.get(name)?);
        pages(target).into_iter().find(|page| of_b.contains(page)).map(|page| (name.clone(), page))
    }))
}

/// A target that is at the same address in both arms.
fn equal_address(experiment: &Experiment, arms: &[Arm; 2]) -> anyhow::Result<Option<(String, String)>> {
    let (a, b) = (targets(experiment, &arms[0])?, targets(experiment, &arms[1])?);
    Ok(a.iter().find_map(|(name, target)| {
        let other = b.get(name)?;
        let http = target.http.as_ref().zip(other.http.as_ref());
        let http = http.filter(|(a, b)| (&a.host, a.port) == (&b.host, b.port));
        let grpc = target.grpc.as_ref().zip(other.grpc.as_ref());
        let grpc = grpc.filter(|(a, b)| (&a.host, a.port) == (&b.host, b.port));
        let at = http.map(|(at, _)| (&at.host, at.port)).or(grpc.map(|(at, _)| (&at.host, at.port)));
        at.map(|(host, port)| (name.clone(), format!("{host}:{port}")))
    }))
}
