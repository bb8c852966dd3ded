//! How two values become a [`Change`]: both are divided by the basis, and the difference gets its sampling error.

use crate::comparison::{Amount, Basis, Change, Significance};
use crate::gaussian::Z_95;
use crate::kind::{Counting, Kind};
use crate::tally::{SamplingError, Tallies};

/// A value with the sampling error it has.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SampledValue {
    pub(crate) value: i64,
    pub(crate) error: SamplingError,
}

/// The sum of all flat values of a side.
#[derive(Debug, Clone, Copy)]
struct SideTotal {
    value: f64,
    /// The variance that sampling leaves it with.
    variance: f64,
}

/// The standard error of a difference.
struct DifferenceErrors {
    /// With each side's own variance.
    separate: f64,
    /// With both variances pooled, as if nothing had moved.
    pooled: f64,
}

/// Makes changes of values.
pub(crate) struct Measure {
    basis: Basis,
    kind: Kind,
    is_complete: bool,
    totals: [SideTotal; 2],
}

impl Measure {
    pub(crate) fn new(basis: Basis, tallies: &[Tallies; 2], kind: Kind, counting: [Counting; 2]) -> Measure {
        let totals = [0, 1].map(|side: usize| SideTotal {
            value: tallies[side].flat_total as f64,
            variance: tallies[side].error.variance,
        });
        Measure { basis, kind, is_complete: counting == [Counting::Complete; 2], totals }
    }

    pub(crate) fn total(&self, tallies: &[Tallies; 2]) -> Change {
        self.change(
            &[0, 1].map(|side: usize| SampledValue {
                value: tallies[side].flat_total,
                error: tallies[side].error,
            }),
        )
    }

    /// The change of a value, with its sampling errors.
    pub(crate) fn change(&self, values: &[SampledValue; 2]) -> Change {
        let [base, new] = [0, 1].map(|side: usize| Amount {
            value: values[side].value,
            samples: values[side].error.samples,
            measure: values[side].value as f64 / self.unit(side),
        });
        let difference = new.measure - base.measure;
        let errors = self.errors(values);
        let is_known = base.samples.is_some() && new.samples.is_some() && !self.is_complete;
        let error = is_known.then_some(errors.pooled).filter(|error| *error > 0.0);
        let standard_errors = error.map(|error| difference / error);
        let half_width = Z_95 * errors.separate;
        Change {
            base,
            new,
            difference,
            interval: error.map(|_| (difference - half_width, difference + half_width)),
            standard_errors,
            significance: self.significance([base.samples, new.samples], standard_errors),
        }
    }

    /// What values of a side are divided by.
    fn unit(&self, side: usize) -> f64 {
        match (self.basis, side) {
            (Basis::Request { base, .. }, 0) => base as f64,
            (Basis::Request { new, .. }, _) => new as f64,
            (Basis::Share, side) if self.totals[side].value == 0.0 => 1.0,
            (Basis::Share, side) => self.totals[side].value,
            (Basis::Absolute, _) => 1.0,
        }
    }

    fn errors(&self, values: &[SampledValue; 2]) -> DifferenceErrors {
        let units = [self.unit(0), self.unit(1)];
        let variances = [values[0].error.variance, values[1].error.variance];
        if self.basis != Basis::Share {
            let separate = variances[0] / units[0].powi(2) + variances[1] / units[1].powi(2);
            let rate = (variances[0] + variances[1]) / (units[0] + units[1]);
            let pooled = rate * (1.0 / units[0] + 1.0 / units[1]);
            return DifferenceErrors { separate: separate.sqrt(), pooled: pooled.sqrt() };
        }
        // A share is a ratio: the part and the rest of the total both have errors.
        let of_share = |side: usize, share: f64, part: f64| {
            let rest = (self.totals[side].variance - part).max(0.0);
            ((1.0 - share).powi(2) * part + share.powi(2) * rest) / units[side].powi(2)
        };
        let share = |side: usize| values[side].value as f64 / units[side];
        let separate = of_share(0, share(0), variances[0]) + of_share(1, share(1), variances[1]);
        let joint = (values[0].value as f64 + values[1].value as f64) / (units[0] + units[1]);
        let all = self.totals[0].variance + self.totals[1].variance;
        let part = if all > 0.0 { (variances[0] + variances[1]) / all } else { 0.0 };
        let pooled: f64 =
            [0, 1].map(|side: usize| of_share(side, joint, part * self.totals[side].variance)).iter().sum();
        DifferenceErrors { separate: separate.sqrt(), pooled: pooled.sqrt() }
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
