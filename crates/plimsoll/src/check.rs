//! `plimsoll check`: validate a plan and print what it would offer. Nothing is sent.

mod ports;

use std::time::Duration;

use evidence::{TerminalText, visible};
use judge::{ExpectedObservations, expected_observations};
use report::number;
use workload::Workload;
use workload::offer::{offer, think_paces};

use crate::arguments::CheckArguments;
use crate::failure::CommandResult;
use crate::{outputs, plan};

pub(crate) fn check(arguments: &CheckArguments) -> CommandResult<u8> {
    let plan = plan::resolve(&arguments.plan, &arguments.overrides)?;
    let mut text = offer(&plan.workload).render();
    for pace in think_paces(&plan.workload) {
        text.line("").line(format_args!(
            "`{}`: its virtual users think for {} an iteration on average, so at most {} iterations a second begin",
            visible(&pace.scenario),
            number::nanoseconds(pace.mean.as_nanos() as f64),
            number::rate_or_none(Some(pace.most_per_second))
        ));
    }
    for target in plan.undescribed().keys() {
        text.line("").line(format_args!(
            "calls of `{target}` are not checked: it has no `proto`, and is described by server reflection when a run begins"
        ));
    }
    ports::add_ports(&mut text, &plan.workload);
    add_objectives(&mut text, &plan.workload);
    outputs::print(&text)?;
    Ok(0)
}

/// How many observations each objective will have and needs, and how long the run takes.
fn add_objectives(text: &mut TerminalText, workload: &Workload) {
    let ends = workload.scenarios.iter().map(|scenario| scenario.start + scenario.executor.duration());
    let end = ends.chain(workload.phases.iter().map(|phase| phase.end)).max().unwrap_or_default();
    text.line("").line(format_args!("The load takes {}.", duration(end)));
    let expected = expected_observations(workload);
    if expected.is_empty() {
        return;
    }
    text.line("").line("objectives, with the requests that they will have by the schedule:");
    let width = expected.iter().map(|objective| visible(&objective.name).chars().count()).max().unwrap_or(0);
    for objective in &expected {
        let name = visible(&objective.name);
        text.line(format_args!("  {name:<width$}  {}", observations(objective)));
    }
    for warning in warnings(&expected) {
        text.line("").line(warning);
    }
    for (objective, offered) in expected.iter().filter_map(|o| Some((o, o.offered_below?))) {
        text.line("").line(format_args!(
            "warning: `{}` cannot be met: it asks for more completions a second than the {} that the plan offers",
            visible(&objective.name),
            number::rate(offered)
        ));
    }
}

/// Which objectives get too few requests to be decided, and why.
pub(crate) fn warnings(expected: &[ExpectedObservations]) -> impl Iterator<Item = String> {
    let too_few = expected.iter().filter(|objective| objective.are_too_few());
    too_few.map(|objective| format!("warning: `{}` {}", visible(&objective.name), warning(objective)))
}

/// `900, needs 590: 40 s at this rate`.
fn observations(objective: &ExpectedObservations) -> String {
    let expected = match objective.expected {
        _ if !objective.is_about_requests => return "not about requests".to_owned(),
        Some(expected) => number::count(expected),
        None => "as many as virtual users, the target's speed or a data file make".to_owned(),
    };
    match (objective.needed, objective.time_needed) {
        (Some(needed), Some(time)) => {
            format!("{expected}, needs {}: {} at this rate", number::count(needed), duration(time))
        }
        (Some(needed), None) => format!("{expected}, needs {}", number::count(needed)),
        (None, _) if objective.allows_none => format!("{expected}, none of which may be beyond its bound"),
        (None, _) => expected,
    }
}

/// Why an objective is not decided, or may not be.
fn warning(objective: &ExpectedObservations) -> String {
    let (expected, least) = (objective.expected.unwrap_or(0), objective.least.unwrap_or(0));
    let needed = number::count(objective.needed.unwrap_or(0));
    let count = number::count(expected);
    let together = format!("{} requests", number::count(objective.assumed_effect.round() as u64));
    let longer = match (objective.time_needed, expected) {
        (Some(time), _) => format!("plan {} at this rate, or a higher rate", duration(time)),
        (None, 0) => "none of the plan's steps makes any: check its endpoint, scenario and phase".to_owned(),
        (None, _) => "plan more iterations".to_owned(),
    };
    if expected < least {
        format!(
            "cannot be shown by {count} requests: even if none is beyond its bound it needs {}, or {needed} where {together} \
             count as one, as they do until a run shows how they vary; {longer}",
            number::count(least)
        )
    } else {
        format!(
            "may stay undecided: it gets {count} requests and needs {needed}, even if none is beyond its bound: {together} count \
             as one until a run shows how they vary; {longer}"
        )
    }
}

/// In whole seconds, rounded up.
fn duration(time: Duration) -> String {
    number::duration(time.as_secs() + u64::from(time.subsec_nanos() > 0))
}
