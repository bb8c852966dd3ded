//! What is said before a run of objectives that cannot pass, or ask for something else than was probably meant.

use std::time::Duration;

use evidence::visible;
use judge::{ExpectedObservations, expected_observations};
use report::number;
use workload::{Measure, Objective, Scenario, Workload};

/// The warnings about the objectives of a workload, in the order of their gravity.
pub(crate) fn warnings(workload: &Workload) -> Vec<String> {
    let expected = expected_observations(workload);
    too_few(&expected)
        .chain(reversed(workload))
        .chain(rates_of_closed(workload))
        .chain(more_than_offered(&expected))
        .collect()
}

/// That a gate without objectives lets everything pass.
pub(crate) const NO_OBJECTIVES: &str = "warning: --junit will report no failure, because there are no objectives: a gate needs at \
                                        least one, such as --objective 'p95 < 200ms' or one under [objectives] in the plan";

/// Which objectives get too few requests to be decided, and why.
fn too_few(expected: &[ExpectedObservations]) -> impl Iterator<Item = String> {
    let too_few = expected.iter().filter(|objective| objective.are_too_few());
    too_few.map(|objective| format!("warning: `{}` {}", visible(&objective.name), warning(objective)))
}

/// Which objectives ask for more completions a second than are offered.
fn more_than_offered(expected: &[ExpectedObservations]) -> impl Iterator<Item = String> {
    expected.iter().filter_map(|objective| {
        let offered = objective.offered_below?;
        Some(format!(
            "warning: `{}` cannot be met: it asks for more completions a second than the {} that the plan offers",
            visible(&objective.name),
            number::rate(offered)
        ))
    })
}

/// That an objective is decided only if hardly any request misses its bound.
pub(crate) fn hardly_enough(objective: &ExpectedObservations) -> String {
    format!(
        "note: `{}` gets {} requests and needs {} if none misses its bound; a few that do, or a pause of the machine, leave it \
         undecided: plan twice as many",
        visible(&objective.name),
        number::count(objective.expected.unwrap_or(0)),
        number::count(objective.needed.unwrap_or(0))
    )
}

/// Which objectives ask for times or failures above a bound, which are usually meant the other way round.
fn reversed(workload: &Workload) -> impl Iterator<Item = String> {
    let is_of_times = |measure: &Measure| {
        matches!(measure, Measure::ResponseTime(_) | Measure::ServiceTime(_) | Measure::IterationTime(_))
    };
    let reversed = workload.objectives.iter().filter(move |objective| {
        let is_reversible = is_of_times(&objective.measure) || objective.measure == Measure::ErrorRate;
        is_reversible && !objective.comparison.is_upper()
    });
    reversed.map(|objective| {
        let meant = objective.source.replace('>', "<");
        format!(
            "warning: `{}` requires more than its bound; did you mean `{}`?",
            visible(&objective.name),
            visible(&meant)
        )
    })
}

/// Which objectives ask closed models for a rate, which these do not offer: they have no valid result.
fn rates_of_closed(workload: &Workload) -> impl Iterator<Item = String> {
    let is_of_rate =
        |objective: &&Objective| matches!(objective.measure, Measure::Goodput { .. } | Measure::Throughput);
    workload.objectives.iter().filter(is_of_rate).filter_map(|objective| {
        let wanted = &objective.filter;
        let is_closed = |scenario: &&Scenario| {
            let has = |name: &String| scenario.steps().any(|step| step.name == *name);
            scenario.executor.peak_vus().is_some()
                && wanted.scenario.as_ref().is_none_or(|name| *name == scenario.name)
                && wanted.endpoint.as_ref().is_none_or(has)
        };
        let scenario = workload.scenarios.iter().find(is_closed)?;
        Some(format!(
            "warning: `{}` will have no valid result: `{}` is a closed model, in which virtual users and the target's own speed \
             set the rate; use an arrival-rate executor (`-r` of a command), or state the objective on times or failures",
            visible(&objective.name),
            visible(&scenario.name)
        ))
    })
}

/// Why an objective is not decided, or cannot pass; a violation shows with fewer.
fn warning(objective: &ExpectedObservations) -> String {
    let expected = objective.expected.unwrap_or(0);
    let needed = number::count(objective.needed.unwrap_or(0));
    let most = if objective.is_at_most { "at most " } else { "" };
    let count = format!("{most}{}", number::count(expected));
    let longer = match (objective.time_needed, expected) {
        (Some(_), _) if objective.is_at_most => "plan more virtual users, or a longer run".to_owned(),
        (Some(time), _) => {
            // What is hardly enough is left undecided by a few that miss the bound.
            let times = 2.0 * expected as f64 / objective.needed.unwrap_or(1) as f64;
            format!("plan {} at this rate, or a higher rate", duration(time.mul_f64(times.max(1.0))))
        }
        (None, 0) => "none of the plan's steps makes any: check its endpoint, scenario and phase".to_owned(),
        (None, _) => "plan more iterations (`-n` of a command)".to_owned(),
    };
    format!(
        "cannot pass: it gets {count} requests, and a pass needs at least {needed}, even if none misses its bound; {longer}"
    )
}

/// A time in whole seconds, rounded up.
pub(crate) fn duration(time: Duration) -> String {
    number::duration(time.as_secs() + u64::from(time.subsec_nanos() > 0))
}
