//! Claims with what is needed to format their figures: the quantity, and how it is compared with the bound.

use evidence::{Claim, ClaimShare, Effect, Histogram, Reason, RuleId, Verdict};
use figures::{Figures, Row, TimeGroup};
use workload::{Comparison, Flow, Measure, Objective, Statistic, Workload};

use super::ms;
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
    /// What its value counts that times and failures elsewhere do not: `344 dropped at the VU limit count as failed`.
    pub counted: Option<String>,
}

pub(super) fn of(claims: &[Claim], workload: &Workload, figures: &Figures) -> Vec<ClaimSummary> {
    let summary = |claim: &Claim| {
        let objective = workload.objectives.iter().find(|o| o.name == claim.name);
        let quantity = match objective.map(|o| &o.measure) {
            Some(measure) if measure.unit() == "1" => Quantity::Share,
            _ if claim.observed.unit == "ms" => Quantity::Time,
            _ => Quantity::Other(claim.observed.unit.clone()),
        };
        ClaimSummary {
            claim: claim.clone(),
            quantity,
            comparison: objective.map(|o| o.comparison),
            counted: objective
                .and_then(|objective| counted(claim, objective, &Counted { workload, figures })),
        }
    };
    claims.iter().map(summary).collect()
}

/// From this ratio on, a quantile differs from that of successes alone in a way that a reader asks about.
const DIFFERENT: f64 = 1.02;

/// A run whose claims are explained.
struct Counted<'a> {
    workload: &'a Workload,
    figures: &'a Figures,
}

/// What makes the value of a claim another than that of the same name in tables: failures and dropped arrivals.
fn counted(claim: &Claim, objective: &Objective, of: &Counted<'_>) -> Option<String> {
    match (&objective.measure, claim.observed.value) {
        (
            Measure::ResponseTime(Statistic::Quantile(q)) | Measure::ServiceTime(Statistic::Quantile(q)),
            value,
        ) => {
            let who = of.infinitely_slow(objective)?;
            let mut times = Histogram::new();
            of.time_groups(objective).iter().for_each(|group| times.merge(group.times));
            let Some(of_successes) = times.quantile(*q).finite_us().map(ms) else {
                return Some(format!("{who} as infinitely slow"));
            };
            value.is_none_or(|value| value > of_successes * DIFFERENT).then(|| {
                format!("of successes alone {}: {who} as infinitely slow", number::time_with(of_successes, 3))
            })
        }
        (Measure::ErrorRate, Some(_)) => {
            let dropped = of.dropped(objective);
            (dropped > 0).then(|| format!("{} as failed", counts(dropped, AT_THE_LIMIT)))
        }
        _ => None,
    }
}

const AT_THE_LIMIT: &str = "dropped at the VU limit";

/// `344 dropped at the VU limit count`
fn counts(number: u64, what: &str) -> String {
    let count = if number == 1 { "counts" } else { "count" };
    format!("{} {what} {count}", number::count(number))
}

impl Counted<'_> {
    fn time_groups(&self, objective: &Objective) -> Vec<TimeGroup<'_>> {
        self.figures.time_groups(&objective.measure, &objective.filter)
    }

    /// Which requests have no time, and that they count; none where all have one.
    fn infinitely_slow(&self, objective: &Objective) -> Option<String> {
        let all: u64 = self.time_groups(objective).iter().map(|group| group.infinitely_slow).sum();
        let of_generator: u64 = self.rows(objective).map(|row| row.dropped_generator_late).sum();
        let at_the_limit: u64 = self.rows(objective).map(|row| row.dropped_vu_limit).sum();
        let what = match all {
            0 => return None,
            all if all == at_the_limit => AT_THE_LIMIT,
            all if all == of_generator => "that the generator dropped",
            _ if of_generator + at_the_limit == 0 => "that failed",
            1 => "that failed or was dropped",
            _ => "that failed or were dropped",
        };
        Some(counts(all, what))
    }

    fn rows(&self, objective: &Objective) -> impl Iterator<Item = &Row> {
        self.figures.endpoints().filter(|row| row.key.matches(&objective.filter))
    }

    /// Requests of a plan that were not sent because the VU limit was reached. How many a script would have sent is not known.
    fn dropped(&self, objective: &Objective) -> u64 {
        let is_script = |name: &str| {
            let scenario = self.workload.scenarios.iter().find(|scenario| scenario.name == name);
            scenario.is_some_and(|scenario| matches!(scenario.flow, Flow::Script { .. }))
        };
        self.rows(objective).filter(|row| !is_script(&row.key.scenario)).map(|row| row.dropped_vu_limit).sum()
    }
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

    /// Its text, if it is not the name, what its value counts beside successes, and of a threshold what k6 says of it.
    pub fn described(&self) -> String {
        let parts = [Some(self.explained()).filter(|text| !text.is_empty()), self.in_k6()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }

    /// Its text, if it is not the name, and what its value counts beside successes.
    pub(crate) fn explained(&self) -> String {
        let text = Some(self.text().to_owned()).filter(|text| !text.is_empty());
        [text, self.counted.clone()].into_iter().flatten().collect::<Vec<_>>().join(" · ")
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
        format!("{}{}, limit {}: {answer}", self.observed(), self.remark(), self.bound())
    }

    /// What its value counts beside successes, in parentheses; empty where it is theirs.
    fn remark(&self) -> String {
        let is_observed = |share: &ClaimShare| share.observed > share.allowed;
        match &self.claim.share {
            _ if self.counted.is_some() || !self.is_infinite() => {
                self.counted.as_ref().map(|counted| format!(" ({counted})")).unwrap_or_default()
            }
            Some(share) if !is_observed(share) => {
                " (requests without a result count as infinitely slow)".to_owned()
            }
            _ => " (failures count as infinitely slow)".to_owned(),
        }
    }

    /// What a reader must act on comes first: within a verdict what k6 says is not met.
    pub(crate) fn urgency(&self) -> (u8, bool) {
        let of_verdict = match self.claim.verdict {
            Verdict::Fail => 0,
            Verdict::Invalid => 1,
            Verdict::Inconclusive => 2,
            Verdict::Pass | Verdict::Measured => 3,
        };
        (of_verdict, self.claim.holds_in_k6 != Some(false))
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

    /// The interval, where there is one: `12.1 ms to 12.9 ms`; `≥ 12.1 ms` where its upper end stays open, `≤ 12.9 ms` where its
    /// lower end does.
    pub fn interval(&self) -> Option<String> {
        let (low, high) = self.claim.interval.or_else(|| self.interval_of_share())?;
        let is_open_below = self.quantity == Quantity::Time && low <= 0.0;
        let low = self.number(low, self.digits());
        Some(match high {
            // A time of zero is not a limit.
            Some(high) if is_open_below => format!("≤ {}", self.number(high, self.digits())),
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

#[cfg(test)]
mod tests {
    use evidence::Figure;

    use super::*;

    fn shown(interval: (f64, Option<f64>)) -> ClaimSummary {
        let claim = Claim {
            name: "fast".to_owned(),
            text: "p95(all) < 100ms".to_owned(),
            verdict: Verdict::Pass,
            observed: Figure::new("observed", 7.33, "ms"),
            bound: Figure::new("bound", 100.0, "ms"),
            interval: Some(interval),
            samples: 700,
            share: None,
            rate: None,
            holds_in_k6: None,
            reasons: Vec::new(),
        };
        ClaimSummary { claim, quantity: Quantity::Time, comparison: Some(Comparison::Below), counted: None }
    }

    #[test]
    fn an_interval_of_times_does_not_begin_with_nothing() {
        let interval = |low, high| shown((low, high)).interval().unwrap();
        assert_eq!(interval(0.0, Some(100.0)), "≤ 100 ms");
        assert_eq!(interval(7.1, Some(7.6)), "7.10 ms to 7.60 ms");
        assert_eq!(interval(7.1, None), "≥ 7.10 ms");
    }
}
