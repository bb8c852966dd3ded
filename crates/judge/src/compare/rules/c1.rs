//! C1: more fails on one side than on the other.

use evidence::{Finding, Severity};
use stats::two_shares;

use crate::compare::known::Pair;
use crate::facts::Cell;
use crate::rule::{named, with_figures};
use crate::thresholds::{ERRORS_APART, ERRORS_CHANCE};
use crate::words;

pub(crate) fn rule(pair: &Pair<'_, '_>) -> Vec<Finding> {
    pair.cells().filter_map(|(base, new)| apart(base, new)).collect()
}

fn apart(base: &Cell, new: &Cell) -> Option<Finding> {
    let [some, other] = [base, new].map(|cell| (cell.missed(), cell.asked()));
    let [share, other_share] = [some, other].map(|(missed, asked)| missed as f64 / asked.max(1) as f64);
    let chance = two_shares(some, other);
    if chance >= ERRORS_CHANCE || (share - other_share).abs() <= ERRORS_APART {
        return None;
    }
    let what = format!(
        "{}: {} of {} failed against {} of {}. Latency of survivors is not comparable.",
        base.place.words(),
        words::percent(share),
        words::whole(some.1),
        words::percent(other_share),
        words::whole(other.1),
    );
    let figures = [
        ("failed, baseline", share * 100.0, "%"),
        ("failed", other_share * 100.0, "%"),
        ("chance", chance, "1"),
        ("threshold", ERRORS_APART * 100.0, "%"),
    ];
    Some(with_figures(named("C1").finding(Severity::Invalid, base.place.scope(), what), &figures))
}
