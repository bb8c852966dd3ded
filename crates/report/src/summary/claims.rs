//! Claims with what is needed to read their figures: what kind of quantity, held how against the bound.

use evidence::{Claim, Judgement};
use workload::{Comparison, Measure, Workload};

use crate::number;

/// The most digits spent on showing that two numbers differ.
const MAX_DIGITS: usize = 8;

/// What kind of quantity a claim is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Quantity {
    /// A duration in milliseconds; infinite when failures pushed it past every answer.
    Time,
    /// A share from 0 to 1, shown in per cent.
    Share,
    /// Something else, in this unit.
    Other(String),
}

/// A claim, ready to be shown.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The judge's claim.
    pub claim: Claim,
    /// How its figures are read.
    pub quantity: Quantity,
    /// How the observed value is held against the bound; none when the plan has no such objective.
    pub comparison: Option<Comparison>,
}

pub(super) fn of(judgement: &Judgement, workload: &Workload) -> Vec<Asked> {
    let asked = |claim: &Claim| {
        let objective = workload.objectives.iter().find(|o| o.name == claim.name);
        let quantity = match objective.map(|o| &o.measure) {
            Some(Measure::ErrorRate | Measure::CheckRate { .. }) => Quantity::Share,
            _ if claim.observed.unit == "ms" => Quantity::Time,
            _ => Quantity::Other(claim.observed.unit.clone()),
        };
        Asked { claim: claim.clone(), quantity, comparison: objective.map(|o| o.comparison) }
    };
    judgement.claims.iter().map(asked).collect()
}

impl Asked {
    /// The observed value, with as many digits as it takes to tell it from the bound.
    pub fn observed(&self) -> String {
        let Some(observed) = self.claim.observed.value else {
            // A quantile over observations that has no value was pushed past every answer by failures.
            let is_infinite = self.quantity == Quantity::Time && self.claim.samples > 0;
            return if is_infinite { number::INFINITE } else { number::NOT_MEASURED }.to_owned();
        };
        self.number(observed, self.digits())
    }

    /// The bound with its comparison: `< 50 ms`.
    pub fn bound(&self) -> String {
        let exact = |bound| number::without_zeros(&self.number(bound, MAX_DIGITS));
        let bound = self.claim.bound.value.map_or_else(|| number::NOT_MEASURED.to_owned(), exact);
        match self.comparison {
            Some(comparison) => format!("{} {bound}", symbol(comparison)),
            None => bound,
        }
    }

    /// The interval in words, where there is one: `12.1 ms to 12.9 ms`.
    pub fn interval(&self) -> Option<String> {
        let (low, high) = self.claim.interval?;
        Some(format!("{} to {}", self.number(low, self.digits()), self.number(high, self.digits())))
    }

    /// How many digits it takes until the observed value and its bound do not look the same.
    fn digits(&self) -> usize {
        let (Some(observed), Some(bound)) = (self.claim.observed.value, self.claim.bound.value) else {
            return 3;
        };
        let differs = |digits: &usize| self.number(observed, *digits) != self.number(bound, *digits);
        if observed == bound { 3 } else { (3..MAX_DIGITS).find(differs).unwrap_or(MAX_DIGITS) }
    }

    fn number(&self, value: f64, digits: usize) -> String {
        match &self.quantity {
            Quantity::Time => number::time_with(value, digits),
            Quantity::Share => number::percent_with(value, digits),
            Quantity::Other(unit) => match unit.as_str() {
                "1/s" => format!("{}/s", number::significant(value, digits.max(4))),
                "bytes" => number::bytes(value),
                "1" | "" => number::significant(value, digits),
                unit => format!("{} {unit}", number::significant(value, digits)),
            },
        }
    }
}

fn symbol(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Below => "<",
        Comparison::AtMost => "≤",
        Comparison::Above => ">",
        Comparison::AtLeast => "≥",
    }
}
