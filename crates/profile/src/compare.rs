//! The comparison of two profiles: which functions moved by more than sampling error.
//!
//! Values are divided by the basis first: the number of requests where both sides have one, else the total. A difference
//! is compared with the error that sampling leaves (pooled over both sides for the test, separate for the interval), a
//! function needs a least number of samples on both sides, and all functions of a comparison are tested together
//! (Benjamini and Hochberg 1995, 5 %). Even so, one pair of profiles shows no more than "moved by more than sampling
//! error": shares differ from run to run by more than that. Functions are ranked by their flat values; cumulative ones
//! overlap and are only used to distinguish new cost from moved cost ([`crate::CallerChange`]).

use std::collections::BTreeMap;

use crate::callers::find_callers;
use crate::comparison::{Basis, Caveat, ComparedSide, Comparison, Mover, Side, Significance};
use crate::error::CompareError;
use crate::gaussian::two_sided;
use crate::kind::{Counting, Kind, Sampling};
use crate::measure::{Measure, SampledValue};
use crate::model::ValueType;
use crate::tally::{Tallies, tally};
use crate::view::{Node, View};

/// The largest share of flagged functions that did not move.
const FALSE_DISCOVERIES: f64 = 0.05;
/// Callers are looked for of so many movers, the largest differences first.
const MOST_WITH_CALLERS: usize = 100;

/// Compares `new` with `base`.
///
/// # Errors
/// [`CompareError`] when they count different things, or requests are known of one side alone.
pub fn compare(base: Side<'_>, new: Side<'_>) -> Result<Comparison, CompareError> {
    let (counted, other) = (base.view.value_type(), new.view.value_type());
    if counted != other {
        let shown = |counted: &ValueType| format!("{} in {}", counted.name, counted.unit);
        return Err(CompareError::Types { base: shown(counted), new: shown(other) });
    }
    let kind = new.view.kind();
    let basis = basis(kind, [base.requests, new.requests])?;
    let tallies = [tally(base.view), tally(new.view)];
    let measure = Measure::new(basis, &tallies, kind, [base.view.counting(), new.view.counting()]);
    let total = measure.total(&tallies);
    let mut movers = movers(&measure, [base.view, new.view], &tallies);
    let tested = test_together(&mut movers);
    let order = |mover: &Mover| (!mover.change.significance.is_difference(), -mover.change.difference.abs());
    movers.sort_by(|left, right| {
        let ((left_noise, left_size), (right_noise, right_size)) = (order(left), order(right));
        left_noise.cmp(&right_noise).then(left_size.total_cmp(&right_size)).then(left.name.cmp(&right.name))
    });
    find_callers(&measure, [base.view, new.view], &tallies, movers.iter_mut().take(MOST_WITH_CALLERS));
    if total.significance.is_difference() && basis != Basis::Share {
        for mover in &mut movers {
            mover.of_total_change = Some(mover.change.difference / total.difference);
        }
    }
    let sample_type = counted.clone();
    let mut comparison = Comparison { sample_type, kind, basis, total, tested, caveats: Vec::new(), movers };
    comparison.caveats = caveats(&[base, new], &tallies, &comparison);
    Ok(comparison)
}

fn basis(kind: Kind, requests: [Option<u64>; 2]) -> Result<Basis, CompareError> {
    match requests {
        _ if kind.is_state() => Ok(Basis::Absolute),
        [None, None] => Ok(Basis::Share),
        [Some(0), _] | [_, Some(0)] => Err(CompareError::NoRequests),
        [Some(base), Some(new)] => Ok(Basis::Request { base, new }),
        _ => Err(CompareError::OneDenominator),
    }
}

/// The functions of both sides, each tested by itself.
fn movers(measure: &Measure, views: [&View<'_>; 2], tallies: &[Tallies; 2]) -> Vec<Mover> {
    let mut flats: BTreeMap<&str, [SampledValue; 2]> = BTreeMap::new();
    for side in [0, 1] {
        for (node, tally) in (0..).zip(&tallies[side].nodes) {
            if tally.flat != 0 {
                let sum = &mut flats.entry(views[side].name(Node(node))).or_default()[side];
                sum.value = sum.value.saturating_add(tally.flat);
                sum.error = sum.error.with(tally.flat_error);
            }
        }
    }
    let mover = |(name, values): (&str, [SampledValue; 2])| Mover {
        name: name.to_owned(),
        change: measure.change(&values),
        of_total_change: None,
        under: None,
    };
    flats.into_iter().map(mover).collect()
}

/// Tests all functions together: of those flagged, one in twenty may be so by chance. Returns how many were tested.
fn test_together(movers: &mut [Mover]) -> usize {
    let is_testable = |mover: &Mover| {
        matches!(
            mover.change.significance,
            Significance::Moved | Significance::OneSided | Significance::Noise
        )
    };
    let probability = |mover: &Mover| two_sided(mover.change.standard_errors.unwrap_or_default());
    let mut probabilities: Vec<f64> =
        movers.iter().filter(|mover| is_testable(mover)).map(probability).collect();
    probabilities.sort_by(f64::total_cmp);
    let count = probabilities.len();
    let is_within = |(rank, p): &(usize, &f64)| **p <= FALSE_DISCOVERIES * (*rank + 1) as f64 / count as f64;
    let cut = probabilities.iter().enumerate().filter(is_within).map(|(_, p)| *p).next_back();
    for mover in movers.iter_mut().filter(|mover| is_testable(mover)) {
        if cut.is_none_or(|cut| probability(mover) > cut) {
            mover.change.significance = Significance::Noise;
        }
    }
    count
}

fn caveats(sides: &[Side<'_>; 2], tallies: &[Tallies; 2], comparison: &Comparison) -> Vec<Caveat> {
    let mut caveats = vec![Caveat::OnePair];
    if sides[0].view.profile() == sides[1].view.profile() {
        caveats.push(Caveat::Same);
    }
    let is_of_shares = comparison.basis == Basis::Share;
    if is_of_shares {
        caveats.push(Caveat::NoRequests);
    }
    let views = sides.iter().map(|compared| compared.view);
    for ((side, view), tallies) in [ComparedSide::Base, ComparedSide::New].into_iter().zip(views).zip(tallies)
    {
        let kind = view.kind();
        if matches!(view.sampling(), Sampling::OffOrUnknown | Sampling::Off) {
            caveats.push(Caveat::NotMeasured { side });
        } else if kind.accumulates() && view.profile().duration_ns == 0 {
            caveats.push(Caveat::SinceStart { side });
        }
        if tallies.negative < 0 && !kind.is_state() {
            caveats.push(Caveat::Negative { side });
        }
    }
    let [base, new] = [sides[0].view, sides[1].view];
    if matches!(new.counting(), Counting::AtMost(_) | Counting::Unknown) {
        caveats.push(Caveat::RateUnknown);
    }
    if base.profile().period != new.profile().period {
        caveats.push(Caveat::DifferentRates);
    }
    let has_movers = comparison.movers.iter().any(|mover| mover.change.significance.is_difference());
    if !is_of_shares && has_movers && !comparison.total.significance.is_difference() {
        caveats.push(Caveat::TotalUnmoved);
    }
    caveats
}

#[cfg(test)]
mod tests;
