//! In what the time of a request moved, in words.

use evidence::MovedCost;

use super::format;
use crate::number;

/// What is said of the list.
pub(super) const HEAD: &str = "What moved most";
pub(super) const NOTE: &str = "where to look for the cause; decides nothing";

/// `+0.035 ms`, with its sign.
pub(super) fn difference(moved: &MovedCost) -> String {
    let difference = moved.ms[1] - moved.ms[0];
    let sign = if difference < 0.0 { "−" } else { "+" };
    format!("{sign}{}", number::time(difference.abs()))
}

/// A time of a request; nothing where it is none.
pub(super) fn time(ms: f64) -> String {
    if ms == 0.0 { "none".to_owned() } else { number::time(ms) }
}

/// One place on one line.
pub(super) fn line(moved: &MovedCost) -> String {
    let [a, b] = moved.ms.map(time);
    format!(
        "{} {}: {} a request, from {a} to {b} (p {}, {} pairs)",
        moved.place,
        moved.name,
        difference(moved),
        format::probability(Some(moved.p)),
        moved.pairs
    )
}
