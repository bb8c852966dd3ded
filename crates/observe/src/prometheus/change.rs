//! What happened between two pages of metrics: rates of counters, quantiles of histograms.

use std::collections::BTreeMap;

use super::page::{Id, Page};

/// Quantiles that are drawn up of a histogram, with the suffix of their series.
const QUANTILES: [(f64, &str); 3] = [(0.5, "_p50"), (0.95, "_p95"), (0.99, "_p99")];

/// What happened between two pages.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Change {
    /// A second, of counters.
    pub(super) rates: Vec<(Id, f64)>,
    /// Of what was observed in between.
    pub(super) quantiles: Vec<(Id, f64)>,
    /// A counter that began anew, and how many did.
    pub(super) fallen: Option<(String, usize)>,
    /// A quantile that is beyond the largest bound, and this bound.
    pub(super) beyond: Option<(String, f64)>,
}

/// What happened from `base` to `page`, which are `seconds` apart. When a counter fell, the process began anew and no
/// counter can be compared with what it was; unless the process says that it is the same one.
pub(super) fn change(base: &Page, page: &Page, seconds: f64) -> Change {
    let is_same = base.started.is_some() && base.started == page.started;
    let is_other = base.started.is_some() && page.started.is_some() && !is_same;
    let mut change = Change { fallen: fallen(base, page), ..Change::default() };
    if is_other {
        change.fallen.get_or_insert_with(|| ("process_start_time_seconds".to_owned(), 1));
    }
    if seconds <= 0.0 || (change.fallen.is_some() && !is_same) {
        return change;
    }
    change.rates.extend(rates(&base.counters, &page.counters, seconds));
    // A sum says nothing without its count: it may have grown beyond what it was since both were reset.
    let mut sums = rates(&base.sums, &page.sums, seconds);
    sums.retain(|(id, _)| !has_fallen_count(base, page, id));
    change.rates.extend(sums);
    for (id, buckets) in &page.histograms {
        let grown = base.histograms.get(id).and_then(|before| grown(before, buckets));
        for (quantile, suffix) in QUANTILES {
            let name = format!("{}{suffix}", id.name);
            match grown.as_ref().and_then(|grown| value_at(grown, quantile)) {
                Some(Ok(value)) => change.quantiles.push((Id { name, part: id.part.clone() }, value)),
                Some(Err(bound)) => {
                    change.beyond.get_or_insert((name, bound));
                }
                None => {}
            }
        }
    }
    change
}

fn rates(before: &BTreeMap<Id, f64>, after: &BTreeMap<Id, f64>, seconds: f64) -> Vec<(Id, f64)> {
    let rate = |(id, now): (&Id, &f64)| {
        let grown = now - before.get(id)?;
        (grown >= 0.0 && grown.is_finite()).then(|| (id.clone(), grown / seconds))
    };
    after.iter().filter_map(rate).collect()
}

/// Whether the count of the observations that `sum` is of has fallen.
fn has_fallen_count(base: &Page, page: &Page, sum: &Id) -> bool {
    let Some(family) = sum.name.strip_suffix("_sum") else { return false };
    let count = Id { name: format!("{family}_count"), part: sum.part.clone() };
    page.counters.get(&count) < base.counters.get(&count)
}

/// A counter or a histogram's count that is less than it was, and how many are.
fn fallen(base: &Page, page: &Page) -> Option<(String, usize)> {
    let counters =
        page.counters.iter().filter(|(id, now)| base.counters.get(id).is_some_and(|then| *now < then));
    let total = |buckets: &[(f64, f64)]| buckets.last().map_or(0.0, |(_, count)| *count);
    let histograms = page
        .histograms
        .iter()
        .filter(|(id, now)| base.histograms.get(id).is_some_and(|then| total(now) < total(then)));
    let mut names = counters.map(|(id, _)| &id.name).chain(histograms.map(|(id, _)| &id.name));
    let first = names.next()?.clone();
    Some((first, 1 + names.count()))
}

/// What each bucket, with those below it, has more than before; none when they do not fit.
fn grown(before: &[(f64, f64)], after: &[(f64, f64)]) -> Option<Vec<(f64, f64)>> {
    if before.len() != after.len() {
        return None;
    }
    let grown = before.iter().zip(after).map(|(then, now)| (now.0, now.1 - then.1));
    let grown: Vec<(f64, f64)> = grown.collect();
    let fits = before.iter().zip(after).all(|(then, now)| then.0 == now.0);
    let is_sound = grown.windows(2).all(|pair| pair[0].1 <= pair[1].1);
    (fits && is_sound && grown.first().is_some_and(|(_, count)| *count >= 0.0)).then_some(grown)
}

/// The value below which the share `quantile` lies, as if values lay evenly within their bucket, which begins at 0 if
/// it is the lowest one. None of nothing; the largest bound when it is beyond that, where nothing is known of it.
fn value_at(buckets: &[(f64, f64)], quantile: f64) -> Option<Result<f64, f64>> {
    let count = buckets.last().map(|(_, count)| *count).filter(|count| *count > 0.0)?;
    let rank = quantile * count;
    let at = buckets.iter().position(|(_, below)| *below >= rank && *below > 0.0)?;
    let (upper, below) = buckets[at];
    let (lower, less) = match at.checked_sub(1) {
        Some(before) => buckets[before],
        // Where a lowest bucket that goes below 0 begins is not known.
        None if upper <= 0.0 => return Some(Ok(upper)),
        None => (0.0, 0.0),
    };
    if upper == f64::INFINITY {
        return Some(Err(lower));
    }
    let inside = if below > less { (rank - less) / (below - less) } else { 1.0 };
    Some(Ok(lower + (upper - lower) * inside.clamp(0.0, 1.0)))
}

#[cfg(test)]
mod tests;
