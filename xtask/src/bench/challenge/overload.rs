//! More than the service can do: how much of its best it still does, what it costs to refuse, and how soon it is
//! itself again.
//!
//! The generator shares the machine, so the service is held to a part of a processor (`cage`); its best is then low
//! enough for ten times of it to be within reach. Time to refuse comes from a share of the load that wants to be
//! refused, see `examples/challenge/list-overload-3.toml`.

mod refusing;
mod staircase;

use anyhow::{Context as _, Result};

use super::Found;
use super::fixture::{BenchContext, Fixture, Load, Setup};
use crate::bench::cgroup::Cage;
use crate::bench::overload::{Best, Bound, HEAD, Offered, PLANNED_PER_S, SHARE_PERCENT, cells};
use crate::bench::proc;
use crate::bench::table::{Table, count};

/// What is asked too much of.
struct Kind {
    name: &'static str,
    /// The plans' name for the service.
    target: &'static str,
    staircase: &'static str,
    /// How many times the best is offered, with the plan that does.
    overloads: [(f64, &'static str); 2],
    /// The outcome of a refusal.
    refused: &'static str,
    /// The setting that says how many are worked on at once.
    places: &'static str,
}

const KINDS: [Kind; 2] = [
    Kind {
        name: "list",
        target: "challenge",
        staircase: "list-staircase",
        overloads: [(3.0, "list-overload-3"), (10.0, "list-overload-10")],
        refused: "http_503",
        places: "HTTP_MAX_IN_FLIGHT",
    },
    Kind {
        name: "events",
        target: "events",
        staircase: "events-staircase",
        overloads: [(3.0, "events-overload-3"), (10.0, "events-overload-10")],
        refused: "grpc:RESOURCE_EXHAUSTED",
        places: "EVENT_BUFFER",
    },
];

/// Lists and events, each at three and ten times the best.
pub(super) fn overload(context: &BenchContext<'_>) -> Result<Found> {
    let mut found = Found::default();
    for kind in &KINDS {
        found.tables.push(of_kind(context, kind).with_context(|| format!("overload of {}", kind.name))?);
    }
    Ok(found)
}

fn of_kind(context: &BenchContext<'_>, kind: &Kind) -> Result<Table> {
    let refusal_cpu_s = refusing::cpu_s(context, kind)?;
    let fixture = context.fixture_with_players(&Setup::default())?;
    let cage = Cage::hold((fixture.service.pid(), SHARE_PERCENT));
    let caged = match &cage {
        Ok(_) => format!("the service was held to {SHARE_PERCENT} % of a processor by a control group"),
        Err(error) => format!(
            "the service was not held to a part of a processor ({error:#}): the generator may be the limit"
        ),
    };
    let climbed = staircase::climb(context, (&fixture, kind))?;
    let best = Best { good_per_s: climbed, refusal_cpu_s, bound: Bound::Processor(SHARE_PERCENT) };
    let mut table = Table { title: format!("Overload: {}", kind.name), head: HEAD, ..Table::default() };
    for (times, plan) in kind.overloads {
        let line = offer(context, (&fixture, kind), (times, plan, &best));
        table.rows.push(line.with_context(|| format!("{times} times the best"))?);
    }
    drop(cage);
    fixture.end()?;
    let refusal = refusal_cpu_s.map_or_else(
        || "what a refusal costs could not be told".to_owned(),
        |cpu_s| format!("one refusal costs {:.1} µs of CPU", cpu_s * 1e6),
    );
    table.notes = vec![
        format!("its best: {} a second, 99 % of them within 100 ms; {refusal}", count(climbed)),
        format!(
            "{caged}; good means right and within 100 ms; *less the cost of refusing*: as a share of what the \
             refusals that were given left of the processor; a dash where they took all of it"
        ),
    ];
    Ok(table)
}

fn offer(
    context: &BenchContext<'_>,
    (fixture, kind): (&Fixture<'_>, &Kind),
    (times, plan, best): (f64, &'static str, &Best),
) -> Result<Vec<String>> {
    let pid = fixture.service.pid();
    let before_mb = proc::resident_mb(pid)?;
    // The phases after the load are seconds long so that a second can be told.
    let time_scale = context.options.time_scale().clamp(0.5, 2.0);
    let seen = fixture.offer(&Load::of(plan).for_time(time_scale).at(best.good_per_s / PLANNED_PER_S))?;
    let after_mb = proc::resident_mb(pid)?;
    let of = Offered { times, target: kind.target, refused: kind.refused };
    cells((&seen, &of), best, [before_mb, after_mb])
}
