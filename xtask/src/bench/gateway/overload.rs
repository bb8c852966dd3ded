//! Three and ten times the highest good load: how much of its best the gateway still does, what it costs to refuse,
//! and how soon it is itself again. Once where the processor is the limit, once where the sink is.
//!
//! The generator shares the machine, so in the first case the gateway is held to a part of a processor; its best is
//! then low enough for ten times of it to be within reach. In the second it has a processor, and a sink that takes a
//! stated number of samples a second.

use anyhow::{Context as _, Result, ensure};

use super::fixture::{BenchContext, Fixture, Load};
use super::sink::Sink;
use crate::bench::cgroup::Cage;
use crate::bench::climb::{GOOD, highest};
use crate::bench::overload::{Best, Bound, HEAD, Offered, PLANNED_PER_S, SHARE_PERCENT, cells};
use crate::bench::proc;
use crate::bench::table::{Table, count};

const STAIRCASE: &str = "gateway/staircase";
const OVERLOADS: [(f64, &str); 2] = [(3.0, "gateway/overload-3"), (10.0, "gateway/overload-10")];
/// The load at which a refusal's cost is taken, in thousands a second.
const REFUSALS: f64 = 4.0;
/// What even a fifth of a processor answers within a quarter of a second: connections that it cannot answer before their
/// clients give up cost it more than what they ask for.
const CONNECTIONS: u32 = 1_000;
/// Samples a second that the sink takes where it is the limit.
const SINK_PER_S: u32 = 1_000;

/// Both, in both situations.
pub(super) fn overload(context: &BenchContext<'_>) -> Result<Table> {
    let refusal_cpu_s = refusal_cpu_s(context)?;
    let refusal = refusal_cpu_s.map_or_else(
        || "what a refusal costs could not be told".to_owned(),
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
    let cage = Cage::hold((fixture.gateway.pid(), SHARE_PERCENT));
    let caged = match &cage {
        Ok(_) => format!("held to {SHARE_PERCENT} % of a processor by a control group"),
        Err(error) => {
            format!("not held to a part of a processor ({error:#}), so that the generator may be the limit")
        }
    };
    let best =
        Best { good_per_s: climb(context, &fixture)?, refusal_cpu_s, bound: Bound::Processor(SHARE_PERCENT) };
    offer_all(context, ("processor", &fixture, &best), table)?;
    drop(cage);
    fixture.end()?;
    let per_s = count(best.good_per_s);
    table.notes.push(format!(
        "processor: {caged}, with `MAX_CONNECTIONS={CONNECTIONS}`; its best: {per_s} a second, 99 % of them within 100 ms"
    ));
    Ok(())
}

/// The queue is full, and the gateway has all the time that it needs to say so.
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
    let best = Best { good_per_s: f64::from(SINK_PER_S), refusal_cpu_s, bound: Bound::Sink };
    offer_all(context, ("sink", &fixture, &best), table)?;
    fixture.end()?;
    let per_s = count(best.good_per_s);
    table.notes.push(format!(
        "sink: a whole processor, one worker and a Redis that takes {per_s} samples a second, which is its best; \
         refusing takes nothing of that"
    ));
    Ok(())
}

fn offer_all(
    context: &BenchContext<'_>,
    (limit, fixture, best): (&str, &Fixture<'_>, &Best),
    table: &mut Table,
) -> Result<()> {
    for (times, plan) in OVERLOADS {
        let cells = offer(context, (fixture, best), (times, plan));
        let mut cells = cells.with_context(|| format!("{times} times the best"))?;
        cells[0] += &format!(", {limit}");
        table.rows.push(cells);
    }
    Ok(())
}

/// What one refusal costs where everything is refused: one place, taken by a sample that nobody hands on.
fn refusal_cpu_s(context: &BenchContext<'_>) -> Result<Option<f64>> {
    let full = [
        ("QUEUE_SIZE", "1".to_owned()),
        ("MAX_BATCH", "1".to_owned()),
        ("SINK", "redis".to_owned()),
        // Nobody listens there.
        ("REDIS_URL", "redis://127.0.0.1:1".to_owned()),
        ("DRAIN_TIMEOUT_S", "1".to_owned()),
    ];
    let fixture = context.fixture(&full)?;
    let seen = fixture.offer(&Load::of(STAIRCASE).at(REFUSALS))?;
    fixture.end()?;
    let refused: u64 = seen.endpoints().map(|row| row.outcome("http_503")).sum();
    let cores = seen.cores("gateway").filter(|_| refused > 0);
    Ok(cores.map(|cores| cores / seen.completed_per_s()))
}

fn climb(context: &BenchContext<'_>, fixture: &Fixture<'_>) -> Result<f64> {
    let time_scale = context.options.time_scale().clamp(0.5, 2.0);
    let best = highest(|load| {
        let seen = fixture.offer(&Load::of(STAIRCASE).for_time(time_scale).at(load))?;
        let good_per_s = seen.observed("good")?;
        println!("  {:.0} offered a second, {good_per_s:.0} good", load * PLANNED_PER_S);
        Ok((good_per_s >= GOOD * load * PLANNED_PER_S).then_some(good_per_s))
    })?;
    ensure!(best > 0.0, "not even the first step was good");
    Ok(best)
}

fn offer(
    context: &BenchContext<'_>,
    (fixture, best): (&Fixture<'_>, &Best),
    (times, plan): (f64, &'static str),
) -> Result<Vec<String>> {
    let pid = fixture.gateway.pid();
    let before_mb = proc::resident_mb(pid)?;
    let time_scale = context.options.time_scale().clamp(0.5, 2.0);
    let seen = fixture.offer(&Load::of(plan).for_time(time_scale).at(best.good_per_s / PLANNED_PER_S))?;
    let of = Offered { times, target: "gateway", refused: "http_503" };
    cells((&seen, &of), best, [before_mb, proc::resident_mb(pid)?])
}
