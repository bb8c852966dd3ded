//! Shares and rates: errors, goodput, throughput, checks.

use std::time::Duration;

use evidence::Missing;
use workload::Filter;

use super::{Observed, Value};
use crate::facts::{Cell, Tables, matches};

fn cells<'t>(tables: &'t Tables, filter: &'t Filter) -> impl Iterator<Item = &'t Cell> {
    let is_planned = |cell: &Cell| tables.spans.iter().any(|span| *span.name == *cell.place.phase);
    tables.cells.iter().filter(move |cell| matches(filter, &cell.place) && is_planned(cell))
}

/// Why nothing about failures can be said of an imported run whose source does not tell them from successes.
fn without_outcomes(tables: &Tables) -> Option<Value> {
    let lacks = tables.missing.contains(&Missing::Outcomes);
    lacks.then(|| Value::Missing("The source does not say how requests ended.".to_owned()))
}

fn share(part: u64, all: u64, missing: &str) -> Observed {
    let value = match all {
        0 => Value::Missing(missing.to_owned()),
        all => Value::Finite(part as f64 / all as f64),
    };
    Observed::new(value, "1", all)
}

/// Failed requests and arrivals dropped at the cap, as a share of these and the successes. What the
/// generator gave up or dropped through its own fault says nothing of the target and stays out of both.
pub(super) fn error_rate(tables: &Tables, filter: &Filter) -> Observed {
    let (missed, asked) = cells(tables, filter).fold((0, 0), |(m, a), c| (m + c.missed(), a + c.asked()));
    if let Some(missing) = without_outcomes(tables) {
        return Observed::new(missing, "1", asked);
    }
    share(missed, asked, "No request it counts was due: not measured is not zero.")
}

/// Successes a second, within a time limit if there is one. A success counts when its whole bucket lies
/// within the limit, so that rounding never flatters.
pub(super) fn goodput(tables: &Tables, filter: &Filter, within: Option<Duration>) -> Observed {
    let limit_us = within.map_or(u128::MAX, |limit| limit.as_micros());
    let good = |cell: &Cell| -> u64 {
        let buckets = cell.ok.buckets().filter(|(_, high, _)| u128::from(*high) <= limit_us);
        buckets.map(|(_, _, count)| count).sum()
    };
    let seen = a_second(tables, filter, good);
    match without_outcomes(tables) {
        Some(value) => Observed { value, ..seen },
        None => seen,
    }
}

/// Completions a second, right or wrong.
pub(super) fn throughput(tables: &Tables, filter: &Filter) -> Observed {
    a_second(tables, filter, |cell| cell.ok.count() + cell.failed.count())
}

/// Counted a second, over the phases in which anything was due.
fn a_second(tables: &Tables, filter: &Filter, count: impl Fn(&Cell) -> u64) -> Observed {
    let active: Vec<&Cell> = cells(tables, filter).filter(|c| c.asked() + c.dropped() > 0).collect();
    let counted: u64 = active.iter().map(|cell| count(cell)).sum();
    let is_active = |name: &str| active.iter().any(|cell| *cell.place.phase == *name);
    let length_s: f64 = tables.spans.iter().filter(|s| is_active(&s.name)).map(|s| s.length_s()).sum();
    let value = if length_s > 0.0 {
        Value::Finite(counted as f64 / length_s)
    } else {
        Value::Missing("No request it counts was due: not measured is not zero.".to_owned())
    };
    Observed::new(value, "1/s", active.iter().map(|cell| cell.asked()).sum())
}

/// Passed share of one check, or of all.
pub(super) fn check_rate(tables: &Tables, filter: &Filter, check: Option<&str>) -> Observed {
    let (mut passed, mut failed) = (0, 0);
    for cell in cells(tables, filter) {
        for (_, (p, f)) in cell.checks.iter().filter(|(name, _)| check.is_none_or(|c| c == &***name)) {
            passed += p;
            failed += f;
        }
    }
    share(passed, passed + failed, "The check was never made: not measured is not zero.")
}
