//! Claims with what is needed to format their figures: the quantity, and how it is compared with the bound.

use evidence::{Claim, ClaimShare, Effect, Reason, RuleId, Verdict};
use workload::{Comparison, Workload};

use crate::number;

/// The most digits used to show that two numbers differ.
const MAX_DIGITS: usize = 8;

/// The quantity that a claim is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Quantity {
    /// A duration in milliseconds. Failures count as infinitely slow, so it may be infinite.
    Time,
    /// A share from 0 to 1, shown in percent.
    Share,
    /// Another quantity, in this unit.
    Other(String),
}

/// A claim with what is needed to format it.
#[derive(Debug, Clone)]
pub struct ClaimSummary {
    /// The claim of the judge.
    pub claim: Claim,
    /// How its figures are formatted.
    pub quantity: Quantity,
    /// How the observed value is compared with the bound; none when the plan has no such objective.
    pub comparison: Option<Comparison>,
}

pub(super) fn of(claims: &[Claim], workload: &Workload) -> Vec<ClaimSummary> {
    let summary = |claim: &Claim| {
        let objective = workload.objectives.iter().find(|o| o.name == claim.name);
        let quantity = match objective.map(|o| &o.measure) {
            Some(measure) if measure.unit() == "1" => Quantity::Share,
            _ if claim.observed.unit == "ms" => Quantity::Time,
            _ => Quantity::Other(claim.observed.unit.clone()),
        };
        ClaimSummary { claim: claim.clone(), quantity, comparison: objective.map(|o| o.comparison) }
    };
    claims.iter().map(summary).collect()
}

impl ClaimSummary {
    /// The observed value, with enough digits to differ visibly from the bound.
    pub fn observed(&self) -> String {
        let Some(observed) = self.claim.observed.value else {
            return if self.is_infinite() { number::INFINITE } else { number::NOT_MEASURED }.to_owned();
        };
        self.number(observed, self.digits())
    }

    /// Whether it is a quantile that so many failures reach: it has observations, and no value.
    fn is_infinite(&self) -> bool {
        self.claim.observed.value.is_none() && self.quantity == Quantity::Time && self.claim.samples > 0
    }

    /// The bound with the sign of its comparison: `< 50 ms`.
    pub fn bound(&self) -> String {
        let exact = |bound| number::without_zeros(&self.number(bound, MAX_DIGITS));
        let bound = self.claim.bound.value.map_or_else(|| number::NOT_MEASURED.to_owned(), exact);
        match self.comparison {
            Some(comparison) => format!("{} {bound}", symbol(comparison)),
            None => bound,
        }
    }

    /// Its figures: the observed value and `n`, and where no share decides it the limit and the interval. Of a threshold of
    /// a script also what k6 says of it.
    pub fn figures(&self) -> Vec<String> {
        let mut figures = self.numbers();
        figures.extend(self.in_k6());
        figures
    }

    /// Of a threshold of a script: what k6 says of it.
    fn in_k6(&self) -> Option<String> {
        self.claim.holds_in_k6.map(|holds| format!("k6 {}", if holds { "✓" } else { "✗" }))
    }

    /// Its text, if it is not the name, and of a threshold what k6 says of it.
    pub fn described(&self) -> String {
        let parts = [Some(self.text().to_owned()).filter(|text| !text.is_empty()), self.in_k6()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }

    /// The text of the claim; none where its name is the same.
    pub fn text(&self) -> &str {
        if self.claim.text == self.claim.name { "" } else { &self.claim.text }
    }

    fn numbers(&self) -> Vec<String> {
        let samples = format!("n = {}", number::count(self.claim.samples));
        match &self.claim.share {
            Some(_) => vec![self.beside_bound(), samples],
            None => {
                let interval = self.interval().map(|interval| format!("interval {interval}"));
                let limit = format!("limit {}", self.bound());
                [Some(self.observed()), Some(limit), interval, Some(samples)].into_iter().flatten().collect()
            }
        }
    }

    /// The observed value beside its bound, and the answer in a word: `156 µs, limit < 50 ms: OK`.
    pub(crate) fn beside_bound(&self) -> String {
        let answer = match self.claim.verdict {
            Verdict::Pass => "OK",
            Verdict::Fail => "violated",
            Verdict::Inconclusive => "not decided",
            Verdict::Invalid => "no valid result",
            Verdict::Measured => "no verdict",
        };
        format!("{}{}, limit {}: {answer}", self.observed(), self.infinitely_slow(), self.bound())
    }

    /// What makes its value infinite; empty where it is not.
    fn infinitely_slow(&self) -> &'static str {
        let is_observed = |share: &ClaimShare| share.observed > share.allowed;
        match &self.claim.share {
            _ if !self.is_infinite() => "",
            Some(share) if !is_observed(share) => " (requests that were never sent count as infinitely slow)",
            _ => " (failures count as infinitely slow)",
        }
    }

    /// Why its verdict is what it is, as far as its figures do not say it: the share that decides it, and the rules whose
    /// findings do. The findings themselves have cards of their own.
    pub fn reasons(&self) -> Vec<String> {
        let mut reasons: Vec<String> = self.claim.share.iter().map(|share| share.sentence.clone()).collect();
        let mut rules: Vec<String> = Vec::new();
        for reason in &self.claim.reasons {
            match reason {
                Reason::Statement(text) => reasons.push(text.clone()),
                // What follows from a lost worker is no more the reason than the loss itself.
                Reason::Finding { rule, effect, .. }
                    if self.is_decided_by(*effect) || (*rule == RuleId::W1 && self.is_open()) =>
                {
                    rules.push(rule.to_string());
                }
                // No share says why a rate is not shown to meet its bound.
                Reason::Observation(text)
                    if self.claim.rate.is_some() && self.claim.verdict != Verdict::Pass =>
                {
                    reasons.push(text.clone());
                }
                Reason::Observation(_) | Reason::Finding { .. } => {}
            }
        }
        rules.dedup();
        if !rules.is_empty() {
            reasons.push(format!("because of {}, below", rules.join(", ")));
        }
        reasons
    }

    fn is_open(&self) -> bool {
        matches!(self.claim.verdict, Verdict::Invalid | Verdict::Inconclusive)
    }

    /// Whether a claim that was met without it would have this verdict by it.
    fn is_decided_by(&self, effect: Effect) -> bool {
        self.claim.verdict != Verdict::Pass && self.claim.verdict == effect.on(Verdict::Pass)
    }

    /// The interval, where there is one: `12.1 ms to 12.9 ms`; `≥ 12.1 ms` where its upper end stays open.
    pub fn interval(&self) -> Option<String> {
        let (low, high) = self.claim.interval.or_else(|| self.interval_of_share())?;
        let low = self.number(low, self.digits());
        Some(match high {
            Some(high) => format!("{low} to {}", self.number(high, self.digits())),
            None => format!("≥ {low}"),
        })
    }

    /// Of an objective on a share, the limits of that share: those of what is on the wrong side of its bound decide it.
    fn interval_of_share(&self) -> Option<(f64, Option<f64>)> {
        let share = self.claim.share.as_ref().filter(|_| self.quantity == Quantity::Share)?;
        match self.comparison? {
            Comparison::Below | Comparison::AtMost => Some((share.lower, Some(share.upper))),
            Comparison::Above | Comparison::AtLeast => Some((1.0 - share.upper, Some(1.0 - share.lower))),
            Comparison::Equal | Comparison::NotEqual => None,
        }
    }

    /// The fewest digits with which the observed value and its bound differ.
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
                "bytes/s" => format!("{}/s", number::bytes(value)),
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
        Comparison::Equal => "=",
        Comparison::NotEqual => "≠",
    }
}
