//! Two profiles side by side: what moved by more than sampling explains.
//!
//! Values are brought to one measure first: per request where both sides say how many requests were completed while
//! they were taken, else as shares of the whole. A difference is held against the error that sampling leaves (pooled
//! over both sides for the test, apart for the interval), a function needs a least number of samples on both sides, and
//! the many functions of one comparison are tested together (Benjamini and Hochberg 1995, 5 %). Even so, one pair of
//! profiles shows no more than "moved by more than sampling error": shares differ from run to run by more than that.
//! Functions are ranked by their flat values; cumulative ones overlap and are only used to tell new cost from cost that
//! moved ([`Net`]).

use std::collections::BTreeMap;

use crate::error::CompareError;
use crate::gaussian::{Z_95, two_sided};
use crate::kind::{Counting, Kind, Sampling};
use crate::model::ValueType;
use crate::nets::nets;
use crate::tally::{SamplingError, Tallies, tally};
use crate::view::{Node, View};

/// The share of functions that are flagged and did not move, at most.
const FALSE_DISCOVERIES: f64 = 0.05;
/// Callers are looked for of so many movers, the largest differences first.
const MOST_WITH_CALLERS: usize = 100;

/// A profile and the count of successful requests while it was taken.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// What is compared.
    pub view: &'a View<'a>,
    /// Requests completed in the very window of the profile.
    pub requests: Option<u64>,
}

/// What values are measured by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case", tag = "by")]
pub enum Basis {
    /// A request.
    Request {
        /// Requests of the baseline.
        base: u64,
        /// Requests of the other.
        new: u64,
    },
    /// The whole: a share grows when anything else shrinks.
    Share,
    /// Nothing: a state is what it is.
    Absolute,
}

/// What a function cost on one side.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Amount {
    /// As counted.
    pub value: i64,
    /// How many samples stand behind it, where this is known.
    pub samples: Option<f64>,
    /// By the basis: per request, as a share from 0 to 1, or as counted.
    pub measure: f64,
}

/// What may be said of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Significance {
    /// More than sampling error.
    Moved,
    /// More than sampling error, with enough samples on one side alone: new, gone, renamed, or inlined elsewhere.
    OneSided,
    /// Within sampling error.
    Noise,
    /// Too few samples to say.
    TooFew,
    /// Counted completely: the difference is what it is.
    Counted,
    /// The profile does not say how it was sampled.
    Unknown,
}

impl Significance {
    /// Whether there is a difference to speak of.
    pub fn is_difference(self) -> bool {
        matches!(self, Significance::Moved | Significance::OneSided | Significance::Counted)
    }
}

/// A cost on both sides.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Change {
    /// The baseline.
    pub base: Amount,
    /// The other.
    pub new: Amount,
    /// New less base, by the basis.
    pub difference: f64,
    /// Its 95 % interval by sampling error alone, where that is known.
    pub interval: Option<(f64, f64)>,
    /// How many standard errors it is, pooled over both sides.
    pub standard_errors: Option<f64>,
    /// What may be said of it.
    pub significance: Significance,
}

/// The net change of a caller in which a function's change happened.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Net {
    /// The caller; at least nine tenths of the function's cost are under it, on both sides.
    pub caller: String,
    /// What it cost with all it calls.
    pub change: Change,
    /// Whether the caller as a whole did not move, so that cost was only moved within it.
    pub is_shift: bool,
}

/// A function whose own cost differs.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Mover {
    /// Its name.
    pub name: String,
    /// Its own cost, without what it calls.
    pub change: Change,
    /// Its share of the change of the total; none where the total did not change.
    pub of_total_change: Option<f64>,
    /// The caller to read it under, for those that moved.
    pub under: Option<Net>,
}

/// One of the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// The baseline.
    Base,
    /// The other.
    New,
}

/// What the reader must know before believing a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case", tag = "caveat")]
pub enum Caveat {
    /// It rests on one profile a side.
    OnePair,
    /// Without requests, shares are compared, and nothing is said of the total.
    NoRequests,
    /// A side counts from the start of its process and not over a window.
    SinceStart {
        /// Which.
        side: Which,
    },
    /// A side has no samples, and its profiler may have been off.
    NotMeasured {
        /// Which.
        side: Which,
    },
    /// A side has stacks below 0.
    Negative {
        /// Which.
        side: Which,
    },
    /// The profiler's rate is not in the profile: errors are larger than shown.
    RateUnknown,
    /// The sides were sampled at different rates.
    DifferentRates,
    /// Both sides are the same profile.
    Same,
    /// The total did not move, yet functions did: cost was moved, not added.
    TotalUnmoved,
}

/// Two profiles side by side.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Comparison {
    /// What was counted.
    pub sample_type: ValueType,
    /// What this measures.
    pub kind: Kind,
    /// What values are measured by.
    pub basis: Basis,
    /// The whole. Of shares it says nothing.
    pub total: Change,
    /// How many functions were tested.
    pub tested: usize,
    /// What to know before believing it.
    pub caveats: Vec<Caveat>,
    /// Functions: those that moved, then the others, each by the size of the difference.
    pub movers: Vec<Mover>,
}

/// Compares `new` with `base`.
///
/// # Errors
/// [`CompareError`] when they count different things, or requests are known of one side alone.
pub fn compare(base: Side<'_>, new: Side<'_>) -> Result<Comparison, CompareError> {
    let (counted, other) = (base.view.value_type(), new.view.value_type());
    if counted != other {
        let said = |counted: &ValueType| format!("{} in {}", counted.name, counted.unit);
        return Err(CompareError::Types { base: said(counted), new: said(other) });
    }
    let kind = new.view.kind();
    let basis = basis(kind, [base.requests, new.requests])?;
    let tallies = [tally(base.view), tally(new.view)];
    let measure = Measure::new(basis, &tallies, kind, [base.view.counting(), new.view.counting()]);
    let total = measure.total(&tallies);
    let mut movers = movers(&measure, [base.view, new.view], &tallies);
    let tested = settle(&mut movers);
    let order = |mover: &Mover| (!mover.change.significance.is_difference(), -mover.change.difference.abs());
    movers.sort_by(|left, right| {
        let ((left_noise, left_size), (right_noise, right_size)) = (order(left), order(right));
        left_noise.cmp(&right_noise).then(left_size.total_cmp(&right_size)).then(left.name.cmp(&right.name))
    });
    nets(&measure, [base.view, new.view], &tallies, movers.iter_mut().take(MOST_WITH_CALLERS));
    if total.significance.is_difference() && basis != Basis::Share {
        for mover in &mut movers {
            mover.of_total_change = Some(mover.change.difference / total.difference);
        }
    }
    let caveats = caveats(&[base, new], &tallies, basis, (&total, &movers));
    Ok(Comparison { sample_type: counted.clone(), kind, basis, total, tested, caveats, movers })
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
    let mut flats: BTreeMap<&str, [(i64, SamplingError); 2]> = BTreeMap::new();
    for side in [0, 1] {
        for (node, tally) in (0..).zip(&tallies[side].nodes) {
            if tally.flat != 0 {
                let sum = &mut flats.entry(views[side].name(Node(node))).or_default()[side];
                sum.0 = sum.0.saturating_add(tally.flat);
                sum.1 = sum.1.with(tally.flat_error);
            }
        }
    }
    let mover = |(name, values): (&str, &[(i64, SamplingError); 2])| Mover {
        name: name.to_owned(),
        change: measure.change(values),
        of_total_change: None,
        under: None,
    };
    flats.iter().map(|(name, values)| mover((name, values))).collect()
}

/// Tests all functions together: of those flagged, one in twenty may be so by chance. Returns how many were tested.
fn settle(movers: &mut [Mover]) -> usize {
    let testable = |mover: &Mover| {
        matches!(
            mover.change.significance,
            Significance::Moved | Significance::OneSided | Significance::Noise
        )
    };
    let chance = |mover: &Mover| two_sided(mover.change.standard_errors.unwrap_or_default());
    let mut chances: Vec<f64> = movers.iter().filter(|mover| testable(mover)).map(chance).collect();
    chances.sort_by(f64::total_cmp);
    let count = chances.len();
    let within =
        |(rank, chance): &(usize, &f64)| **chance <= FALSE_DISCOVERIES * (*rank + 1) as f64 / count as f64;
    let cut = chances.iter().enumerate().filter(within).map(|(_, chance)| *chance).next_back();
    for mover in movers.iter_mut().filter(|mover| testable(mover)) {
        if cut.is_none_or(|cut| chance(mover) > cut) {
            mover.change.significance = Significance::Noise;
        }
    }
    count
}

/// How two values become a [`Change`].
pub(crate) struct Measure {
    basis: Basis,
    kind: Kind,
    is_complete: bool,
    /// Of each side: the sum of all flat values, and the variance that sampling leaves it with.
    totals: [(f64, f64); 2],
}

impl Measure {
    fn new(basis: Basis, tallies: &[Tallies; 2], kind: Kind, counting: [Counting; 2]) -> Measure {
        let totals =
            [0, 1].map(|side: usize| (tallies[side].flat_total as f64, tallies[side].error.variance));
        Measure { basis, kind, is_complete: counting == [Counting::Complete; 2], totals }
    }

    fn total(&self, tallies: &[Tallies; 2]) -> Change {
        self.change(&[0, 1].map(|side: usize| (tallies[side].flat_total, tallies[side].error)))
    }

    /// The change of a value, with its sampling errors.
    pub(crate) fn change(&self, values: &[(i64, SamplingError); 2]) -> Change {
        let [base, new] = [0, 1].map(|side: usize| Amount {
            value: values[side].0,
            samples: values[side].1.samples,
            measure: values[side].0 as f64 / self.unit(side),
        });
        let difference = new.measure - base.measure;
        let [apart, pooled] = self.errors(values);
        let is_known = base.samples.is_some() && new.samples.is_some() && !self.is_complete;
        let error = is_known.then_some(pooled).filter(|error| *error > 0.0);
        let standard_errors = error.map(|error| difference / error);
        Change {
            base,
            new,
            difference,
            interval: error.map(|_| (difference - Z_95 * apart, difference + Z_95 * apart)),
            standard_errors,
            significance: self.significance([base.samples, new.samples], standard_errors),
        }
    }

    /// What one unit of the measure is worth.
    fn unit(&self, side: usize) -> f64 {
        match (self.basis, side) {
            (Basis::Request { base, .. }, 0) => base as f64,
            (Basis::Request { new, .. }, _) => new as f64,
            (Basis::Share, side) => {
                if self.totals[side].0 == 0.0 {
                    1.0
                } else {
                    self.totals[side].0
                }
            }
            (Basis::Absolute, _) => 1.0,
        }
    }

    /// The standard error of the difference: with each side's own, and with both pooled as if nothing had moved.
    fn errors(&self, values: &[(i64, SamplingError); 2]) -> [f64; 2] {
        let units = [self.unit(0), self.unit(1)];
        let variances = [values[0].1.variance, values[1].1.variance];
        if self.basis != Basis::Share {
            let apart = variances[0] / units[0].powi(2) + variances[1] / units[1].powi(2);
            let rate = (variances[0] + variances[1]) / (units[0] + units[1]);
            return [apart.sqrt(), (rate * (1.0 / units[0] + 1.0 / units[1])).sqrt()];
        }
        // A share is a ratio: what is in it and what is beside it both err.
        let of_share = |side: usize, share: f64, inside: f64| {
            let beside = (self.totals[side].1 - inside).max(0.0);
            ((1.0 - share).powi(2) * inside + share.powi(2) * beside) / units[side].powi(2)
        };
        let share = |side: usize| values[side].0 as f64 / units[side];
        let apart = of_share(0, share(0), variances[0]) + of_share(1, share(1), variances[1]);
        let joint = (values[0].0 as f64 + values[1].0 as f64) / (units[0] + units[1]);
        let all = self.totals[0].1 + self.totals[1].1;
        let part = if all > 0.0 { (variances[0] + variances[1]) / all } else { 0.0 };
        let pooled: f64 =
            [0, 1].map(|side: usize| of_share(side, joint, part * self.totals[side].1)).iter().sum();
        [apart.sqrt(), pooled.sqrt()]
    }

    fn significance(&self, samples: [Option<f64>; 2], standard_errors: Option<f64>) -> Significance {
        if self.is_complete {
            return Significance::Counted;
        }
        let [Some(base), Some(new)] = samples else { return Significance::Unknown };
        let least = self.kind.least_samples();
        let is_far = standard_errors.is_some_and(|errors| errors.abs() > Z_95);
        match (base >= least, new >= least) {
            (false, false) => Significance::TooFew,
            _ if !is_far => Significance::Noise,
            (true, true) => Significance::Moved,
            _ => Significance::OneSided,
        }
    }
}

fn caveats(
    sides: &[Side<'_>; 2],
    tallies: &[Tallies; 2],
    basis: Basis,
    (total, movers): (&Change, &[Mover]),
) -> Vec<Caveat> {
    let mut caveats = vec![Caveat::OnePair];
    if sides[0].view.profile() == sides[1].view.profile() {
        caveats.push(Caveat::Same);
    }
    if basis == Basis::Share {
        caveats.push(Caveat::NoRequests);
    }
    for (which, (side, tallies)) in [Which::Base, Which::New].into_iter().zip(sides.iter().zip(tallies)) {
        let view = side.view;
        let kind = view.kind();
        if matches!(view.sampling(), Sampling::OffOrUnknown | Sampling::Off) {
            caveats.push(Caveat::NotMeasured { side: which });
        } else if kind.accumulates() && view.profile().duration_ns == 0 {
            caveats.push(Caveat::SinceStart { side: which });
        }
        if tallies.negative < 0 && !kind.is_state() {
            caveats.push(Caveat::Negative { side: which });
        }
    }
    let [base, new] = [sides[0].view, sides[1].view];
    if matches!(new.counting(), Counting::AtMost(_) | Counting::Unknown) {
        caveats.push(Caveat::RateUnknown);
    }
    if base.profile().period != new.profile().period {
        caveats.push(Caveat::DifferentRates);
    }
    let has_movers = movers.iter().any(|mover| mover.change.significance.is_difference());
    if basis != Basis::Share && has_movers && !total.significance.is_difference() {
        caveats.push(Caveat::TotalUnmoved);
    }
    caveats
}

#[cfg(test)]
mod tests;
