//! Requests that stalls disturbed, and that are beyond a bound all the same.

use evidence::run::{ReadError, select};
use evidence::{Key, KeyId, Metric, Outcome};
use figures::RowKey;

use super::bound::{Bound, TimeBound};
use super::source::MeasureSource;

/// A timeout may be one without stalls too if they cannot have delayed it by more than this part of its time.
const SHORT: u64 = 4;
/// What was answered at most so many delays before the time limit shows how many times are near it.
const NEAR: u64 = 2;

/// How many of the disturbed requests of `key`, whose id is `id`, would have been beyond `bound` without stalls.
///
/// A stall cannot have delayed a request by more than it and its effect took ([`DisturbedTime::effect`]), and by moving a
/// request it makes one at most fail, or wait until a packet is sent again. So beyond it are those whose time is longer by
/// more than all stalls around them together can have added, less as many as these moved. A timeout's own time is not
/// known: it was one without stalls, unless it would have been answered within that delay before its limit. No more are
/// taken to be such than have been answered within two of the longest delays before it, since the longer times are, the
/// fewer there are of them.
///
/// # Errors
/// [`ReadError`] when the evidence cannot be read.
///
/// [`DisturbedTime::effect`]: super::stalls::DisturbedTime::effect
pub(super) fn beyond(
    source: &MeasureSource<'_>,
    bound: Bound,
    id: KeyId,
    key: &Key,
) -> Result<u64, ReadError> {
    let outcome = key.outcome.unwrap_or(Outcome::Ok);
    if !matches!((outcome, bound), (Outcome::Timeout, _) | (Outcome::Ok, Bound::Time(_))) {
        return Ok(0);
    }
    let run = source.run;
    let (mut beyond, mut moved, mut moved_until) = (0, 0, 0);
    let (mut limit_us, mut longest_delay_us) = (u64::MAX, 0);
    for (second, times) in run.histograms(id, run.whole())? {
        let (shortest_us, longest_us) = (times.min_us().unwrap_or(0), times.max_us().unwrap_or(0));
        let effect = source.disturbed.effect(second..second + 1, longest_us);
        let longer = match bound {
            // What disturbed them was not recorded.
            _ if effect.delay_us == 0 => 0,
            Bound::Time(TimeBound { us, is_strict }) => {
                let us = us + effect.delay_us as f64;
                Bound::Time(TimeBound { us, is_strict }).sides(&times).beyond
            }
            Bound::Failure if effect.delay_us.saturating_mul(SHORT) <= shortest_us => times.count(),
            Bound::Failure => 0,
        };
        if longer > 0 {
            beyond += longer;
            moved += source.disturbed.moved(effect.since.max(moved_until)..second + 1);
            moved_until = second + 1;
            limit_us = limit_us.min(shortest_us);
            longest_delay_us = longest_delay_us.max(effect.delay_us);
        }
    }
    let near = match bound {
        Bound::Failure if beyond > moved => {
            answered_from(source, key, limit_us.saturating_sub(longest_delay_us * NEAR))?
        }
        _ => 0,
    };
    Ok(beyond.saturating_sub(moved + near))
}

/// How many requests of the same phase, scenario and endpoint were answered after this time or later.
fn answered_from(source: &MeasureSource<'_>, key: &Key, from_us: u64) -> Result<u64, ReadError> {
    let row = RowKey::from(key);
    let is_of_row = |key: &Key| key.outcome == Some(Outcome::Ok) && RowKey::from(key) == row;
    let mut answered = 0;
    for (id, _) in select(source.run.keys(), Metric::ResponseTime, is_of_row) {
        let times = source.run.histogram(id, source.run.whole())?;
        let late = times.buckets().filter(|(_, high, _)| *high >= from_us);
        answered += late.map(|(.., count)| count).sum::<u64>();
    }
    Ok(answered)
}
