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
use super::cage::Cage;
use super::lab::{Lab, Load, Setup, Stand};
use super::seen::{Seen, Times};
use crate::bench::proc;
use crate::bench::table::{Table, count, figure};

/// Hundredths of a processor for the service.
const SHARE_PERCENT: u32 = 20;
/// The load of the plans at `--load 1`, a second.
const PLANNED_PER_S: f64 = 1_000.0;
/// The phase before the load.
const BEFORE: &str = "before";
/// The phase of the load.
const OVERLOAD: &str = "overload";
/// Phases of a second each after it.
const AFTER: u32 = 8;

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

const HEAD: &[&str] = &[
    "load",
    "offered a second",
    "good a second",
    "of its best",
    "less the cost of refusing",
    "refused a second",
    "refused in ms: p50",
    "p95",
    "p99",
    "unanswered",
    "MB before",
    "most",
    "after",
    "back after s",
    "service cores",
    "generator cores",
];

/// What is known of the service before it is overloaded.
struct Best {
    /// Answers within 100 ms a second, at the highest good load.
    good_per_s: f64,
    /// CPU-seconds that one refusal costs.
    refusal_cpu_s: Option<f64>,
}

/// Lists and events, each at three and ten times the best.
pub(super) fn overload(lab: &Lab<'_>) -> Result<Found> {
    let mut found = Found::default();
    for kind in &KINDS {
        found.tables.push(of_kind(lab, kind).with_context(|| format!("overload of {}", kind.name))?);
    }
    Ok(found)
}

fn of_kind(lab: &Lab<'_>, kind: &Kind) -> Result<Table> {
    let refusal_cpu_s = refusing::cpu_s(lab, kind)?;
    let stand = lab.stand_with_players(&Setup::default())?;
    let cage = Cage::hold((stand.service.pid(), SHARE_PERCENT));
    let caged = match &cage {
        Ok(_) => format!("the service was held to {SHARE_PERCENT} % of a processor by a control group"),
        Err(error) => format!(
            "the service was not held to a part of a processor ({error:#}): the generator may be the limit"
        ),
    };
    let climbed = staircase::climb(lab, (&stand, kind))?;
    let best = Best { good_per_s: climbed, refusal_cpu_s };
    let mut table = Table { title: format!("Overload: {}", kind.name), head: HEAD, ..Table::default() };
    for (times, plan) in kind.overloads {
        let line = offer(lab, (&stand, kind), (times, plan, &best));
        table.rows.push(line.with_context(|| format!("{times} times the best"))?);
    }
    drop(cage);
    stand.end()?;
    let refusal = refusal_cpu_s.map_or_else(
        || "what a refusal costs could not be told".to_owned(),
        |cpu_s| format!("one refusal costs {:.1} µs of CPU", cpu_s * 1e6),
    );
    table.notes = vec![
        format!("its best: {} a second, 99 % of them within 100 ms; {refusal}", count(climbed)),
        format!(
            "{caged}; good means right and within 100 ms; a dash under *less the cost of refusing*: refusing all the \
             rest would alone take more than the service was given"
        ),
    ];
    Ok(table)
}

fn offer(
    lab: &Lab<'_>,
    (stand, kind): (&Stand<'_>, &Kind),
    (times, plan, best): (f64, &'static str, &Best),
) -> Result<Vec<String>> {
    let pid = stand.service.pid();
    let before_mb = proc::resident_mb(pid)?;
    // The phases after the load are seconds long so that a second can be told.
    let time_scale = lab.options.time_scale().clamp(0.5, 2.0);
    let seen = stand.offer(&Load::of(plan).for_time(time_scale).at(best.good_per_s / PLANNED_PER_S))?;
    let after_mb = proc::resident_mb(pid)?;
    let refusals = seen.endpoint((OVERLOAD, "refused"))?;
    let [steady, answered] = ["steady", "answered"].map(|name| seen.observed(name));
    // The share that wants refusals is as large as the one that wants answers, and gets as many of them.
    let good_per_s = steady? + 2.0 * answered?;
    let ended = seen.endpoints().filter(|row| row.phase() == OVERLOAD);
    let refused_per_s = refused_per_s(&seen, kind.refused);
    let unanswered: u64 = ended.map(|row| row.outcome("timeout")).sum::<u64>() + seen.dropped();
    let share = good_per_s / best.good_per_s;
    let refused_ms: Times = refusals.service_time();
    Ok(vec![
        format!("{times:.0} ×"),
        count(best.good_per_s * times),
        count(good_per_s),
        format!("{:.1} %", share * 100.0),
        best.left_for_work(best.good_per_s * times - good_per_s)
            .map_or_else(|| "–".to_owned(), |left| format!("{:.1} %", share / left * 100.0)),
        count(refused_per_s),
        figure(refused_ms.p50_ms, 2),
        figure(refused_ms.p95_ms, 2),
        figure(refused_ms.p99_ms, 2),
        count(unanswered as f64),
        figure(Some(before_mb), 0),
        figure(seen.most((kind.target, "rss")).map(|bytes| bytes / 1e6), 0),
        figure(Some(after_mb), 0),
        recovered_after_s(&seen).map_or_else(|| "not seen".to_owned(), |seconds| format!("{seconds:.1}")),
        figure(seen.cores(kind.target), 2),
        figure(seen.cores("generator"), 2),
    ])
}

impl Best {
    /// The share of the service's time that is left for work when all the rest is refused; `None` when refusing
    /// alone takes more than there is.
    fn left_for_work(&self, rest_per_s: f64) -> Option<f64> {
        let share = f64::from(SHARE_PERCENT) / 100.0;
        let left = 1.0 - rest_per_s * self.refusal_cpu_s? / share;
        (left > 0.0).then_some(left)
    }
}

/// Refusals a second over the phase of the load, of those that wanted them and of those that did not.
fn refused_per_s(seen: &Seen, outcome: &str) -> f64 {
    let rows = seen.endpoints().filter(|row| row.phase() == OVERLOAD && row.ended() > 0);
    rows.map(|row| {
        let refused = if row.name() == "refused" { row.outcome("ok") } else { row.outcome(outcome) };
        row.completed_per_s() * refused as f64 / row.ended() as f64
    })
    .sum()
}

/// Seconds from the end of the load to the end of the first phase from which on p95 stayed within twice its value
/// before, failures counting as slow.
fn recovered_after_s(seen: &Seen) -> Option<f64> {
    let healthy_ms = seen.endpoint((BEFORE, "steady")).ok()?.response_time().p95_ms? * 2.0;
    let is_back = |phase: &str| {
        seen.endpoint((phase, "steady")).is_ok_and(|row| {
            let is_right = row.ended() > 0 && row.outcome("ok") == row.ended();
            is_right && row.response_time().p95_ms.is_some_and(|p95_ms| p95_ms <= healthy_ms)
        })
    };
    let last_bad = (1..=AFTER).rev().find(|second| !is_back(&format!("after-{second}")));
    let back = last_bad.map_or(1, |second| second + 1);
    let end_s = seen.phase_end_s(&format!("after-{back}"))?;
    Some(end_s - seen.phase_end_s(OVERLOAD)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn row(phase: &str, endpoint: &str, p95_ms: f64, by_outcome: Value) -> Value {
        json!({ "phase": phase, "endpoint": endpoint, "completed_per_s": 100.0, "by_outcome": by_outcome,
            "response_time": { "p95_ms": p95_ms } })
    }

    /// A run whose seconds after the load had these p95s.
    fn seen(after_ms: [f64; AFTER as usize]) -> Seen {
        let mut report = super::super::seen::tests::report();
        let ok = || json!({ "ok": 100 });
        let mut rows = vec![
            row(BEFORE, "steady", 2.0, ok()),
            row(OVERLOAD, "steady", 90.0, json!({ "ok": 40, "http_503": 60 })),
            row(OVERLOAD, "answered", 90.0, json!({ "ok": 50, "http_503": 25, "timeout": 25 })),
            row(OVERLOAD, "refused", 1.0, json!({ "ok": 80, "check": 20 })),
        ];
        let mut phases = vec![json!({ "name": OVERLOAD, "end_s": 15.0 })];
        for (place, p95_ms) in after_ms.into_iter().enumerate() {
            let name = format!("after-{}", place + 1);
            rows.push(row(&name, "steady", p95_ms, ok()));
            phases.push(json!({ "name": name, "end_s": 16.0 + place as f64 }));
        }
        report["endpoints"] = rows.into();
        report["phases"] = phases.into();
        Seen::new(report, None).expect("a sound report")
    }

    #[test]
    fn recovery_counts_from_the_last_bad_second() {
        let expect = [
            ([3.0; 8], Some(1.0)),
            ([50.0, 5.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0], Some(3.0)),
            ([3.0, 3.0, 9.0, 3.0, 3.0, 3.0, 3.0, 3.0], Some(4.0)),
            ([9.0; 8], None),
        ];
        for (after_ms, seconds) in expect {
            assert_eq!(recovered_after_s(&seen(after_ms)), seconds, "{after_ms:?}");
        }
    }

    #[test]
    fn refusals_are_counted_whether_they_were_wanted_or_not() {
        let per_s = refused_per_s(&seen([3.0; 8]), "http_503");
        assert!((per_s - (60.0 + 25.0 + 80.0)).abs() < 1e-9, "{per_s}");
    }

    #[test]
    fn refusing_takes_its_part_of_the_time() {
        let best = Best { good_per_s: 1_000.0, refusal_cpu_s: Some(10e-6) };
        let left = best.left_for_work(2_000.0).expect("there is some");
        assert!((left - 0.9).abs() < 1e-9, "{left}");
        assert_eq!(best.left_for_work(1e6), None);
        assert_eq!(Best { refusal_cpu_s: None, ..best }.left_for_work(1.0), None);
    }
}
