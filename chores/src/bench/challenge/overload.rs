//! Overload of the service: how much of its highest good load it still serves, what a refusal costs, and how soon it
//! recovers.
//!
//! The generator shares the machine, so the service is limited to a part of a processor (`cgroup`); ten times its highest
//! good load is then within the generator's reach. The time of refusals comes from a share of the load that expects to
//! be refused, see `examples/challenge/list-overload-3.toml`.

mod refusing;

use anyhow::{Context as _, Result};

use super::MeasurementResult;
use super::fixture::{BenchContext, Fixture, Load, Setup};
use crate::bench::cgroup::CpuLimit;
use crate::bench::overload::{
    BestLoad, Bottleneck, HEAD, OverloadPlan, OverloadRun, PLANNED_PER_S, SHARE_PERCENT, cells, highest_good,
};
use crate::bench::proc;
use crate::bench::table::{Table, count};

/// An interface of the service to overload.
struct OverloadCase {
    name: &'static str,
    /// The plans' name for the service.
    target: &'static str,
    staircase: &'static str,
    overloads: [OverloadPlan; 2],
    /// The outcome of a refusal.
    refused: &'static str,
    /// The setting for how many requests are worked on at once.
    capacity_setting: &'static str,
}

const CASES: [OverloadCase; 2] = [
    OverloadCase {
        name: "list",
        target: "challenge",
        staircase: "list-staircase",
        overloads: [
            OverloadPlan { times: 3.0, plan: "list-overload-3" },
            OverloadPlan { times: 10.0, plan: "list-overload-10" },
        ],
        refused: "http_503",
        capacity_setting: "HTTP_MAX_IN_FLIGHT",
    },
    OverloadCase {
        name: "events",
        target: "events",
        staircase: "events-staircase",
        overloads: [
            OverloadPlan { times: 3.0, plan: "events-overload-3" },
            OverloadPlan { times: 10.0, plan: "events-overload-10" },
        ],
        refused: "grpc:RESOURCE_EXHAUSTED",
        capacity_setting: "EVENT_BUFFER",
    },
];

/// Lists and events, each at three and ten times the highest good load.
pub(super) fn overload(context: &BenchContext<'_>) -> Result<MeasurementResult> {
    let mut found = MeasurementResult::default();
    for case in &CASES {
        found.tables.push(of_case(context, case).with_context(|| format!("overload of {}", case.name))?);
    }
    Ok(found)
}

fn of_case(context: &BenchContext<'_>, case: &OverloadCase) -> Result<Table> {
    let refusal_cpu_s = refusing::cpu_s(context, case)?;
    let fixture = context.fixture_with_players(&Setup::default())?;
    let cpu_limit = CpuLimit::apply(fixture.service.pid(), SHARE_PERCENT);
    let limit_note = match &cpu_limit {
        Ok(_) => format!("the service was limited to {SHARE_PERCENT} % of a processor by a control group"),
        Err(error) => format!(
            "the service was not limited to a part of a processor ({error:#}): the generator may be the limit"
        ),
    };
    let time_scale = context.options.time_scale().clamp(0.5, 2.0);
    let good_per_s = highest_good(&fixture.service, |load| {
        fixture.offer(&Load::of(case.staircase).for_time(time_scale).at(load))
    })?;
    let best = BestLoad { good_per_s, refusal_cpu_s, bottleneck: Bottleneck::Processor(SHARE_PERCENT) };
    let mut table = Table { title: format!("Overload: {}", case.name), head: HEAD, ..Table::default() };
    for overload in &case.overloads {
        let row = offer(&fixture, case, overload, &best);
        table.rows.push(row.with_context(|| format!("{} times the highest good load", overload.times))?);
    }
    drop(cpu_limit);
    fixture.end()?;
    let refusal = refusal_cpu_s.map_or_else(
        || "what a refusal costs could not be measured".to_owned(),
        |cpu_s| format!("one refusal costs {:.1} µs of CPU", cpu_s * 1e6),
    );
    table.notes = vec![
        format!("its best: {} a second, 99 % of them within 100 ms; {refusal}", count(good_per_s)),
        format!(
            "{limit_note}; good means successful and within 100 ms; *less the cost of refusing*: as a share of what the \
             refusals left of the processor; a dash where they took all of it"
        ),
    ];
    Ok(table)
}

fn offer(
    fixture: &Fixture<'_>,
    case: &OverloadCase,
    overload: &OverloadPlan,
    best: &BestLoad,
) -> Result<Vec<String>> {
    let pid = fixture.service.pid();
    let before_mb = proc::resident_mb(pid)?;
    // The phases after the load stay about a second long, so that recovery is known to a second.
    let time_scale = fixture.context.options.time_scale().clamp(0.5, 2.0);
    let load = Load::of(overload.plan).for_time(time_scale).at(best.good_per_s / PLANNED_PER_S);
    let report = fixture.offer(&load)?;
    let after_mb = proc::resident_mb(pid)?;
    let OverloadCase { target, refused, .. } = *case;
    cells(&OverloadRun { report, times: overload.times, target, refused, before_mb, after_mb }, best)
}
