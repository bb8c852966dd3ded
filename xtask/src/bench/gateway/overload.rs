//! Three and ten times the highest good load: how much of its best the gateway still does, what it costs to refuse,
//! and how soon it is itself again.
//!
//! The generator shares the machine, so the gateway is held to a part of a processor; its best is then low enough for
//! ten times of it to be within reach.

use anyhow::{Context as _, Result, ensure};

use super::lab::{Lab, Load, Stand};
use crate::bench::cage::Cage;
use crate::bench::climb::{GOOD, highest};
use crate::bench::overload::{Best, HEAD, Offered, PLANNED_PER_S, SHARE_PERCENT, cells};
use crate::bench::proc;
use crate::bench::table::{Table, count};

const STAIRCASE: &str = "gateway/staircase";
const OVERLOADS: [(f64, &str); 2] = [(3.0, "gateway/overload-3"), (10.0, "gateway/overload-10")];
/// The load at which a refusal's cost is taken, in thousands a second.
const REFUSALS: f64 = 4.0;

/// Both, in one gateway.
pub(super) fn overload(lab: &Lab<'_>) -> Result<Table> {
    let refusal_cpu_s = refusal_cpu_s(lab)?;
    let stand = lab.stand(&[])?;
    let cage = Cage::hold((stand.gateway.pid(), SHARE_PERCENT));
    let caged = match &cage {
        Ok(_) => format!("the gateway was held to {SHARE_PERCENT} % of a processor by a control group"),
        Err(error) => format!(
            "the gateway was not held to a part of a processor ({error:#}): the generator may be the limit"
        ),
    };
    let best = Best { good_per_s: climb(lab, &stand)?, refusal_cpu_s };
    let mut table = Table { head: HEAD, ..Table::default() };
    for (times, plan) in OVERLOADS {
        let row = offer(lab, (&stand, &best), (times, plan));
        table.rows.push(row.with_context(|| format!("{times} times the best"))?);
    }
    drop(cage);
    stand.end()?;
    let refusal = refusal_cpu_s.map_or_else(
        || "what a refusal costs could not be told".to_owned(),
        |cpu_s| format!("one refusal costs {:.1} µs of CPU", cpu_s * 1e6),
    );
    table.notes = vec![
        format!("its best: {} a second, 99 % of them within 100 ms; {refusal}", count(best.good_per_s)),
        format!("{caged}; good means accepted and within 100 ms"),
    ];
    Ok(table)
}

/// What one refusal costs where everything is refused: one place, taken by a sample that nobody hands on.
fn refusal_cpu_s(lab: &Lab<'_>) -> Result<Option<f64>> {
    let full = [
        ("QUEUE_SIZE", "1".to_owned()),
        ("MAX_BATCH", "1".to_owned()),
        ("SINK", "redis".to_owned()),
        // Nobody listens there.
        ("REDIS_URL", "redis://127.0.0.1:1".to_owned()),
        ("DRAIN_TIMEOUT_S", "1".to_owned()),
    ];
    let stand = lab.stand(&full)?;
    let seen = stand.offer(&Load::of(STAIRCASE).at(REFUSALS))?;
    stand.end()?;
    let refused: u64 = seen.endpoints().map(|row| row.outcome("http_503")).sum();
    let cores = seen.cores("gateway").filter(|_| refused > 0);
    Ok(cores.map(|cores| cores / seen.completed_per_s()))
}

fn climb(lab: &Lab<'_>, stand: &Stand<'_>) -> Result<f64> {
    let time_scale = lab.options.time_scale().clamp(0.5, 2.0);
    let best = highest(|load| {
        let seen = stand.offer(&Load::of(STAIRCASE).for_time(time_scale).at(load))?;
        let good_per_s = seen.observed("good")?;
        println!("  {:.0} offered a second, {good_per_s:.0} good", load * PLANNED_PER_S);
        Ok((good_per_s >= GOOD * load * PLANNED_PER_S).then_some(good_per_s))
    })?;
    ensure!(best > 0.0, "not even the first step was good");
    Ok(best)
}

fn offer(
    lab: &Lab<'_>,
    (stand, best): (&Stand<'_>, &Best),
    (times, plan): (f64, &'static str),
) -> Result<Vec<String>> {
    let pid = stand.gateway.pid();
    let before_mb = proc::resident_mb(pid)?;
    let time_scale = lab.options.time_scale().clamp(0.5, 2.0);
    let seen = stand.offer(&Load::of(plan).for_time(time_scale).at(best.good_per_s / PLANNED_PER_S))?;
    let of = Offered { times, target: "gateway", refused: "http_503" };
    cells((&seen, &of), best, [before_mb, proc::resident_mb(pid)?])
}
