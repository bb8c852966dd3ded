//! `plimsoll check`: validate a plan and print what it would offer. Nothing is sent.

mod ports;

use conduct::failure::CommandResult;
use conduct::{plan, standard_output};
use evidence::{TerminalText, visible};
use judge::{ExpectedObservations, expected_observations};
use report::number;
use workload::offer::{few_vus, offer, think_paces};
use workload::{Flow, Schedule, Workload};

use crate::arguments::CheckArguments;
use crate::objective_warnings::{self, duration};
use crate::{literal_values, login_rows};

pub(crate) fn check(arguments: &CheckArguments) -> CommandResult<u8> {
    let plan = plan::resolve(&arguments.plan, &arguments.overrides.overrides())?;
    let mut text = offer(&plan.workload).render();
    for pace in think_paces(&plan.workload) {
        text.line("").line(format_args!(
            "`{}`: its virtual users think for {} an iteration on average, so at most {} iterations a second begin",
            visible(&pace.scenario),
            number::nanoseconds(pace.mean.as_nanos() as f64),
            number::rate_or_none(Some(pace.most_per_second))
        ));
    }
    add_sequences(&mut text, &plan.workload);
    add_headers(&mut text, &plan.workload);
    for target in plan.undescribed().keys() {
        text.line("").line(format_args!(
            "calls of `{target}` are not checked: it has no `proto`, and is described by server reflection when a run begins"
        ));
    }
    for warning in
        literal_values::warnings(&plan.workload).into_iter().chain(login_rows::warnings(&plan.workload))
    {
        text.line("").line(warning);
    }
    for scenario in &plan.workload.scenarios {
        let few = few_vus(&visible(&scenario.name), &scenario.executor, (scenario.max_vus, "max_vus"));
        if let Some(few) = few {
            text.line("").line(format_args!("warning: {few}"));
        }
    }
    ports::add_ports(&mut text, &plan.workload);
    add_objectives(&mut text, &plan.workload);
    standard_output::print(&text)?;
    Ok(0)
}

/// Of scenarios whose iterations send several requests, in which order, and how many in all where that is known.
fn add_sequences(text: &mut TerminalText, workload: &Workload) {
    for scenario in &workload.scenarios {
        let Flow::Sequence(steps) = &scenario.flow else { continue };
        if steps.len() < 2 {
            continue;
        }
        let names: Vec<String> = steps.iter().map(|step| format!("`{}`", visible(&step.name))).collect();
        let iterations = Schedule::new(&scenario.executor).map(|schedule| schedule.count());
        let iterations = iterations.or_else(|| scenario.executor.iterations());
        let all = iterations.map(|count| {
            let requests = number::counted(count * steps.len() as u64, "request");
            format!(": {requests} in {}", number::counted(count, "iteration"))
        });
        text.line("").line(format_args!(
            "`{}`: the table counts iterations; each sends {}{}",
            visible(&scenario.name),
            names.join(", "),
            all.unwrap_or_default()
        ));
    }
}

/// The headers that every request of a scenario has: its own, and those of scenario and target.
fn add_headers(text: &mut TerminalText, workload: &Workload) {
    for scenario in &workload.scenarios {
        let mut steps = scenario.flow.steps();
        let Some(first) = steps.next() else { continue };
        let mut common: Vec<&str> = first.request.headers().iter().map(|(name, _)| name.as_str()).collect();
        for step in steps {
            common.retain(|name| step.request.headers().iter().any(|(own, _)| own == name));
        }
        if !common.is_empty() {
            let names: Vec<String> = common.iter().map(|name| format!("`{}`", visible(name))).collect();
            text.line("").line(format_args!(
                "`{}`: every request has the {} {}",
                visible(&scenario.name),
                if names.len() == 1 { "header" } else { "headers" },
                names.join(", ")
            ));
        }
    }
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
    for warning in objective_warnings::warnings(workload) {
        text.line("").line(warning);
    }
    for objective in expected.iter().filter(|objective| objective.are_hardly_enough()) {
        text.line("").line(objective_warnings::hardly_enough(objective));
    }
}

/// `900, needs at least 590: 40 s at this rate`.
fn observations(objective: &ExpectedObservations) -> String {
    let expected = match objective.expected {
        _ if !objective.is_about_requests => return "not about requests".to_owned(),
        Some(expected) if objective.is_at_most => format!("at most {}", number::count(expected)),
        Some(expected) => number::count(expected),
        None => "as many as virtual users, the target's speed or a data file make".to_owned(),
    };
    match (objective.needed, objective.time_needed) {
        (Some(needed), Some(time)) => {
            let pace = if objective.is_at_most { "or longer" } else { "at this rate" };
            format!("{expected}, needs at least {}: {} {pace}", number::count(needed), duration(time))
        }
        (Some(needed), None) => format!("{expected}, needs at least {}", number::count(needed)),
        (None, _) if objective.allows_none => format!("{expected}, none of which may be beyond its bound"),
        (None, _) => expected,
    }
}
