//! Three and ten times the highest good load: how much of it the gateway still serves, what a refusal costs, and how soon
//! it recovers. Once where the processor is the limit, once where the sink is.
//!
//! The generator shares the machine, so in the first case the gateway is limited to a part of a processor; ten times its
//! highest good load is then within the generator's reach. In the second it has a processor, and a sink that takes a
//! fixed number of samples a second.

use anyhow::{Context as _, Result};

use super::fixture::{BenchContext, Fixture, Load};
use super::sink::Sink;
use crate::bench::cgroup::CpuLimit;
use crate::bench::overload::{
    BestLoad, Bottleneck, HEAD, OverloadPlan, OverloadRun, PLANNED_PER_S, SHARE_PERCENT, cells, highest_good,
};
use crate::bench::proc;
use crate::bench::table::{Table, count};

const STAIRCASE: &str = "gateway/staircase";
const OVERLOADS: [OverloadPlan; 2] = [
    OverloadPlan { times: 3.0, plan: "gateway/overload-3" },
    OverloadPlan { times: 10.0, plan: "gateway/overload-10" },
];
/// The load at which the cost of a refusal is measured, in thousands a second.
const REFUSALS: f64 = 4.0;
/// As many as even a fifth of a processor answers within a quarter of a second: connections whose clients give up before
/// they are answered cost the gateway more than their requests.
const CONNECTIONS: u32 = 1_000;
/// Samples a second that the sink takes where it is the limit.
const SINK_PER_S: u32 = 1_000;

/// Three and ten times the highest good load, for both limits.
pub(super) fn overload(context: &BenchContext<'_>) -> Result<Table> {
    let refusal_cpu_s = refusal_cpu_s(context)?;
    let refusal = refusal_cpu_s.map_or_else(
        || "what a refusal costs could not be measured".to_owned(),
        |cpu_s| format!("one refusal costs {:.1} µs of CPU", cpu_s * 1e6),
    );
    let mut table = Table { head: HEAD, ..Table::default() };
    table.notes.push(format!("good means accepted and within 100 ms; {refusal}"));
    by_processor(context, refusal_cpu_s, &mut table).context("limited by the processor")?;
    by_sink(context, refusal_cpu_s, &mut table).context("limited by the sink")?;
    Ok(table)
}

fn by_processor(context: &BenchContext<'_>, refusal_cpu_s: Option<f64>, table: &mut Table) -> Result<()> {
    let fixture = context.fixture(&[("MAX_CONNECTIONS", CONNECTIONS.to_string())])?;
    let cpu_limit = CpuLimit::apply(fixture.gateway.pid(), SHARE_PERCENT);
    let limit_note = match &cpu_limit {
        Ok(_) => format!("limited to {SHARE_PERCENT} % of a processor by a control group"),
        Err(error) => {
            format!(
                "not limited to a part of a processor ({error:#}), so that the generator may be the limit"
            )
        }
    };
    let time_scale = fixture.context.options.time_scale().clamp(0.5, 2.0);
    let best = BestLoad {
        good_per_s: highest_good(&fixture.gateway, |load| {
            fixture.offer(&Load::of(STAIRCASE).for_time(time_scale).at(load))
        })?,
        refusal_cpu_s,
        bottleneck: Bottleneck::Processor(SHARE_PERCENT),
    };
    offer_all(&fixture, "processor", &best, table)?;
    drop(cpu_limit);
    fixture.end()?;
    let per_s = count(best.good_per_s);
    table.notes.push(format!(
        "processor: {limit_note}, with `MAX_CONNECTIONS={CONNECTIONS}`; its best: {per_s} a second, 99 % of them within 100 ms"
    ));
    Ok(())
}

/// The queue is full, and the gateway has enough processor time to refuse.
fn by_sink(context: &BenchContext<'_>, refusal_cpu_s: Option<f64>, table: &mut Table) -> Result<()> {
    let sink = Sink::start(SINK_PER_S)?;
    let slow = [
        ("SINK", "redis".to_owned()),
        ("REDIS_URL", sink.url()),
        ("WORKERS", "1".to_owned()),
        // Twice what a worker takes at once.
        ("QUEUE_SIZE", "512".to_owned()),
        ("MAX_BATCH", "1".to_owned()),
        ("MAX_CONNECTIONS", CONNECTIONS.to_string()),
        ("DRAIN_TIMEOUT_S", "2".to_owned()),
    ];
    let fixture = context.fixture(&slow)?;
    let best = BestLoad { good_per_s: f64::from(SINK_PER_S), refusal_cpu_s, bottleneck: Bottleneck::Sink };
    offer_all(&fixture, "sink", &best, table)?;
    fixture.end()?;
    let per_s = count(best.good_per_s);
    table.notes.push(format!(
        "sink: a whole processor, one worker and a Redis that takes {per_s} samples a second, which is its best; \
         refusing takes nothing of that"
    ));
    Ok(())
}

fn offer_all(fixture: &Fixture<'_>, limit: &str, best: &BestLoad, table: &mut Table) -> Result<()> {
    for overload in &OVERLOADS {
        let cells = offer(fixture, overload, best);
        let mut cells = cells.with_context(|| format!("{} times the highest good load", overload.times))?;
        cells[0] += &format!(", {limit}");
        table.rows.push(cells);
    }
    Ok(())
}

/// The cost of one refusal where every sample is refused: the queue has one slot, taken by a sample that cannot be handed
/// on.
fn refusal_cpu_s(context: &BenchContext<'_>) -> Result<Option<f64>> {
    let full = [
        ("QUEUE_SIZE", "1".to_owned()),
        ("MAX_BATCH", "1".to_owned()),
        ("SINK", "redis".to_owned()),
        // Nothing listens there.
        ("REDIS_URL", "redis://127.0.0.1:1".to_owned()),
        ("DRAIN_TIMEOUT_S", "1".to_owned()),
    ];
    let fixture = context.fixture(&full)?;
    let report = fixture.offer(&Load::of(STAIRCASE).at(REFUSALS))?;
    fixture.end()?;
    let refused: u64 = report.endpoints().map(|row| row.outcome("http_503")).sum();
    let cores = report.cores("gateway").filter(|_| refused > 0);
    Ok(cores.map(|cores| cores / report.throughput_per_s()))
}

fn offer(fixture: &Fixture<'_>, overload: &OverloadPlan, best: &BestLoad) -> Result<Vec<String>> {
    let pid = fixture.gateway.pid();
    let before_mb = proc::resident_mb(pid)?;
    let time_scale = fixture.context.options.time_scale().clamp(0.5, 2.0);
    let load = Load::of(overload.plan).for_time(time_scale).at(best.good_per_s / PLANNED_PER_S);
    let report = fixture.offer(&load)?;
    let after_mb = proc::resident_mb(pid)?;
    let (target, refused) = ("gateway", "http_503");
    cells(&OverloadRun { report, times: overload.times, target, refused, before_mb, after_mb }, best)
}
