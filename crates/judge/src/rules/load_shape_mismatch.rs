//! C3: the shape of the load differs.

use std::time::Duration;

use evidence::{Finding, RuleId, Scope, Severity};
use workload::{Arrivals, Executor, Request, Scenario, Step, Think, ThinkDistribution, Workload};

use crate::pair::{JudgedRun, Pair, difference};
use crate::rule::{AffectedClaims, Check, DIFFERENCES, Rule};
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::C3,
    title: "load-shape-mismatch",
    severity: Severity::Invalid,
    tests: "Phases, executors, rates, starts, spacing of arrivals, VU limits, steps, time limits or think \
            times of two plans differ. Imported runs without a plan: one is more than 5 % longer than the other.",
    affects: DIFFERENCES,
    why: "Latency depends on load: effects of the target and of the load's shape cannot be separated.",
    next: "Run both with the same plan and the same `--load` and `--time-scale`; give another address by `--target NAME=URL`.",
    affected: AffectedClaims::Differences,
    check: Check::Pair(check),
};

/// The most differences that a sentence names.
const MOST_NAMED: usize = 4;
/// How much longer one of two imported runs may be, in per cent of the shorter: what was measured varies.
const LONGER_PERCENT: u128 = 5;

fn check(pair: &Pair<'_, '_>) -> Vec<Finding> {
    let [base, new] = pair.both().map(|run| run.workload);
    let is_planned =
        |run: &JudgedRun<'_>| run.imported_from().is_none() || !run.workload.scenarios.is_empty();
    let mut differences = match pair.both().into_iter().any(is_planned) {
        true => phases(base, new),
        false => lengths(base, new),
    };
    let [executors, others] = [base, new].map(planned_executors);
    for (scenario, executor) in base.scenarios.iter().zip(executors) {
        match new.scenarios.iter().zip(&others).find(|(other, _)| other.name == scenario.name) {
            Some((other, its)) => differences.extend(scenarios([scenario, other], [executor, *its])),
            None => differences.push(format!("scenario `{}` is only in the baseline", scenario.name)),
        }
    }
    let is_new = |other: &&Scenario| base.scenarios.iter().all(|s| s.name != other.name);
    differences.extend(
        new.scenarios.iter().filter(is_new).map(|s| format!("scenario `{}` is not in the baseline", s.name)),
    );
    if differences.is_empty() {
        return Vec::new();
    }
    let more = differences.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    differences.truncate(MOST_NAMED);
    let what = format!(
        "The shape of the load differs: {}{more}. Effects of the target and of the load cannot be separated.",
        differences.join("; ")
    );
    vec![RULE.finding(Severity::Invalid, Scope::default(), what)]
}

fn phases(base: &Workload, new: &Workload) -> Vec<String> {
    let describe = |workload: &Workload| -> Vec<String> {
        let one = |p: &workload::Phase| format!("{} {}", p.name, time(p.end.saturating_sub(p.start)));
        workload.phases.iter().map(one).collect()
    };
    let (base, new) = (describe(base).join(", "), describe(new).join(", "));
    difference("phases", [Some(&base), Some(&new)]).into_iter().collect()
}

/// How long two imported runs were, if one is too much longer.
fn lengths(base: &Workload, new: &Workload) -> Vec<String> {
    let [base, new] = [base, new].map(|run| run.phases.last().map(|phase| phase.end).unwrap_or_default());
    let is_longer = base.max(new).as_nanos() * 100 > base.min(new).as_nanos() * (100 + LONGER_PERCENT);
    let text = || {
        format!(
            "the imported runs are {} and {} long, and one may be at most {LONGER_PERCENT} % longer",
            time(base),
            time(new)
        )
    };
    is_longer.then(text).into_iter().collect()
}

/// What each scenario is planned to offer: of two arms at the same moment both together, whatever the share of each.
fn planned_executors(workload: &Workload) -> Vec<&Executor> {
    match &workload.interleaved {
        Some(interleaved) => interleaved.both.iter().collect(),
        None => workload.scenarios.iter().map(|scenario| &scenario.executor).collect(),
    }
}

fn scenarios([base, new]: [&Scenario; 2], executors: [&Executor; 2]) -> Vec<String> {
    let name = &base.name;
    let compared = [
        ("executor", executor(executors[0]), executor(executors[1])),
        ("start", time(base.start), time(new.start)),
        ("arrivals", spacing(base.arrivals), spacing(new.arrivals)),
        ("max_vus", base.max_vus.to_string(), new.max_vus.to_string()),
    ];
    let mut differences: Vec<String> = compared
        .iter()
        .filter_map(|(what, some, other)| {
            difference(&format!("{what} of `{name}`"), [Some(some), Some(other)])
        })
        .collect();
    for step in base.steps() {
        if let Some(other) = new.steps().find(|other| other.name == step.name) {
            differences.extend(steps(step, other));
        }
    }
    let names =
        |scenario: &Scenario| scenario.steps().map(|step| step.name.clone()).collect::<Vec<_>>().join(", ");
    differences.extend(difference(&format!("steps of `{name}`"), [Some(&names(base)), Some(&names(new))]));
    differences
}

fn time(time: Duration) -> String {
    brief::ms(time.as_secs_f64() * 1e3)
}

fn spacing(arrivals: Arrivals) -> String {
    match arrivals {
        Arrivals::Even => "even".to_owned(),
        Arrivals::Poisson => "poisson".to_owned(),
    }
}

fn executor(executor: &Executor) -> String {
    let rate = |rate: &f64| format!("{} arrivals/s", brief::significant(*rate));
    match executor {
        Executor::ConstantArrivalRate { rate: r, duration } => format!("{} for {}", rate(r), time(*duration)),
        Executor::RampingArrivalRate { start_rate, stages } => {
            let stages = stages.iter().map(|s| format!(", then to {} over {}", rate(&s.to), time(s.over)));
            format!("{}{}", rate(start_rate), stages.collect::<String>())
        }
        Executor::ConstantVus { vus, duration } => format!("{vus} virtual users for {}", time(*duration)),
        Executor::RampingVus { start_vus, stages, .. } => {
            let stages = stages.iter().map(|s| format!(", then to {} over {}", s.to, time(s.over)));
            format!("{start_vus} virtual users{}", stages.collect::<String>())
        }
        Executor::PerVuIterations { vus, iterations, max_duration } => {
            format!(
                "{vus} virtual users with {iterations} iterations each, for {} at most",
                time(*max_duration)
            )
        }
        Executor::SharedIterations { vus, iterations, max_duration } => {
            format!(
                "{vus} virtual users with {iterations} iterations in all, for {} at most",
                time(*max_duration)
            )
        }
    }
}

fn think(think: Think) -> String {
    match think {
        Think::Constant(pause) => time(pause),
        Think::Drawn(ThinkDistribution::Uniform { min, max }) => format!("{} to {}", time(min), time(max)),
        Think::Drawn(ThinkDistribution::Exponential { mean }) => format!("exponential, mean {}", time(mean)),
        Think::Drawn(ThinkDistribution::Normal { mean, sd }) => {
            format!("normal, mean {}, standard deviation {}", time(mean), time(sd))
        }
        Think::Drawn(ThinkDistribution::LogNormal { median, p95 }) => {
            format!("log-normal, median {}, p95 {}", time(median), time(p95))
        }
    }
}

fn steps(base: &Step, new: &Step) -> Vec<String> {
    let mut differences = Vec::new();
    if base.timeout != new.timeout {
        let (some, other) = (time(base.timeout), time(new.timeout));
        differences.push(format!("timeout of `{}` {some} against {other}", base.name));
    }
    if base.think != new.think {
        differences.push(format!(
            "think of `{}` {} against {}",
            base.name,
            think(base.think),
            think(new.think)
        ));
    }
    differences.extend(requests(&base.name, [&base.request, &new.request]));
    if base.expect != new.expect {
        differences.push(format!("the checks of `{}` differ", base.name));
    }
    differences
}

/// The parts in which two requests differ: short ones with both values, the others by name.
fn requests(step: &str, [base, new]: [&Request; 2]) -> Vec<String> {
    let shown = |part: &str, values: [&str; 2]| {
        difference(&format!("{part} of `{step}`"), values.map(Some)).into_iter().collect::<Vec<_>>()
    };
    let other = |part: &str, is_other: bool| is_other.then(|| format!("`{step}` has {part}"));
    match (base, new) {
        (
            Request::Http { target, method, path, headers, body, options },
            Request::Http {
                target: new_target,
                method: new_method,
                path: new_path,
                headers: new_headers,
                body: new_body,
                options: new_options,
            },
        ) => [
            shown("target", [target, new_target]),
            shown("method", [method, new_method]),
            shown("path", [path.source(), new_path.source()]),
        ]
        .into_iter()
        .flatten()
        .chain(other("other headers", headers != new_headers))
        .chain(other("another body", body != new_body))
        .chain(other("other options", options != new_options))
        .collect(),
        (
            Request::Grpc { target, method, metadata, message, call },
            Request::Grpc {
                target: new_target,
                method: new_method,
                metadata: new_metadata,
                message: new_message,
                call: new_call,
            },
        ) => [shown("target", [target, new_target]), shown("method", [method, new_method])]
            .into_iter()
            .flatten()
            .chain(other("other metadata", metadata != new_metadata))
            .chain(other("another message", message != new_message))
            .chain(other("other options", call != new_call))
            .collect(),
        _ => vec![format!("`{step}` is an HTTP request in one and a gRPC call in the other")],
    }
}
