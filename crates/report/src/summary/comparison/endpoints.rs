//! One endpoint of one phase over all sides.

use std::collections::BTreeMap;

use evidence::{ComparisonJudgement, Outcome};
use serde::Serialize;

use super::super::sweep::{Place, Tally};
use super::super::{Times, ms};
use super::{Measure, Swept, Value, covered};

/// One endpoint of one phase over all sides.
#[derive(Debug, Clone, Serialize)]
pub struct EndpointTable {
    /// The scenario's name.
    pub scenario: String,
    /// The step's name; empty for whole iterations of a sequence.
    pub endpoint: String,
    /// The rules that refuse differences of times, for each side but the baseline.
    pub refused: Vec<Vec<String>>,
    /// The numbers.
    pub measures: Vec<Measure>,
    /// Failed requests by outcome, for each outcome one count a side.
    pub failures: BTreeMap<Outcome, Vec<u64>>,
}

impl EndpointTable {
    /// What a table calls it.
    pub fn label(&self) -> String {
        match self.endpoint.as_str() {
            "" => format!("{} (whole iteration)", self.scenario),
            endpoint => endpoint.to_owned(),
        }
    }
}

pub(super) fn of(sides: &[Swept<'_>], phase: &str, judgement: &ComparisonJudgement) -> Vec<EndpointTable> {
    let mut places: Vec<Place> = Vec::new();
    for side in sides {
        let mut own: Vec<&Place> = side.sweep.places.iter().filter(is_worth).map(|(p, _)| p).collect();
        own.sort_by_key(|place| super::super::rows::plan_order(side.side.workload, place));
        for place in own.into_iter().filter(|place| &*place.phase == phase) {
            if !places.contains(place) {
                places.push(place.clone());
            }
        }
    }
    places.iter().map(|place| table(sides, place, judgement)).collect()
}

fn is_worth((_, tally): &(&Place, &Tally)) -> bool {
    tally.arrivals.is_some() || !tally.outcomes.by_outcome.is_empty()
}

fn table(sides: &[Swept<'_>], place: &Place, judgement: &ComparisonJudgement) -> EndpointTable {
    let names = (&*place.phase, &*place.scenario, &*place.endpoint);
    let refused = |side: usize| -> Vec<String> {
        let touching = judgement.refusals.iter().filter(|refusal| refusal.applies_to(side, names));
        let mut rules: Vec<String> = touching.map(|refusal| refusal.rule.clone()).collect();
        rules.sort();
        rules.dedup();
        rules
    };
    let tallies: Vec<Option<&Tally>> = sides.iter().map(|side| side.sweep.places.get(place)).collect();
    let lengths: Vec<Option<f64>> = sides.iter().map(|side| covered(side, &place.phase)).collect();
    EndpointTable {
        scenario: place.scenario.to_string(),
        endpoint: place.endpoint.to_string(),
        refused: (1..sides.len()).map(refused).collect(),
        measures: measures((&tallies, &lengths), &refused),
        failures: failures(&tallies),
    }
}

fn measures(
    (tallies, lengths): (&[Option<&Tally>], &[Option<f64>]),
    refused: &dyn Fn(usize) -> Vec<String>,
) -> Vec<Measure> {
    let free = |_: usize| Vec::new();
    let each = |of: &dyn Fn(&Tally) -> Value| -> Vec<Value> {
        tallies.iter().map(|tally| tally.map_or(Value::Missing, of)).collect()
    };
    let rate = |count: &dyn Fn(&Tally) -> Option<u64>| -> Vec<Value> {
        let one = |(tally, length): (&Option<&Tally>, &Option<f64>)| {
            let length = length.filter(|length| *length > 0.0)?;
            Some(count((*tally)?)? as f64 / length)
        };
        tallies.iter().zip(lengths).map(one).map(Value::of).collect()
    };
    let has_requests = tallies.iter().flatten().any(|tally| !tally.outcomes.by_outcome.is_empty());
    let mut all = vec![Measure::of(("offered", "1/s"), rate(&|t| Some(t.arrivals?.scheduled)), &free)];
    if has_requests {
        let answered = |t: &Tally| (!t.outcomes.by_outcome.is_empty()).then(|| t.outcomes.answered());
        all.push(Measure::of(("achieved", "1/s"), rate(&answered), &free));
        all.push(Measure::of(("failed", "%"), each(&|t| failed_share(t)), &free));
        for (name, of) in TIMES {
            let values = each(&|t| Value::of(of(&Times::of(&t.response))));
            all.push(Measure::of((name, "ms"), values, refused));
        }
        for (name, q) in [("p95, failures as ∞", 0.95), ("p99, failures as ∞", 0.99)] {
            all.push(Measure::of((name, "ms"), each(&|t| gating(t, q)), refused));
        }
        let per_request = |bytes: Option<u64>, t: &Tally| {
            let answered = t.outcomes.answered();
            Value::of(bytes.filter(|_| answered > 0).map(|bytes| bytes as f64 / answered as f64))
        };
        all.push(Measure::of(("received/request", "bytes"), each(&|t| per_request(t.bytes_in, t)), &free));
        all.push(Measure::of(("sent/request", "bytes"), each(&|t| per_request(t.bytes_out, t)), &free));
    }
    all.retain(Measure::is_measured);
    all
}

/// A number of the response times of successes.
type OfTimes = fn(&Times) -> Option<f64>;

const TIMES: [(&str, OfTimes); 6] = [
    ("avg", |t| t.avg_ms),
    ("p50", |t| t.p50_ms),
    ("p90", |t| t.p90_ms),
    ("p95", |t| t.p95_ms),
    ("p99", |t| t.p99_ms),
    ("max", |t| t.max_ms),
];

fn failed_share(tally: &Tally) -> Value {
    let (failed, answered) = (tally.outcomes.failed(), tally.outcomes.answered());
    Value::of((answered > 0).then(|| 100.0 * failed as f64 / answered as f64))
}

/// The quantile over everything that was due: what failed or was dropped is infinitely slow.
fn gating(tally: &Tally, q: f64) -> Value {
    let missed = tally.outcomes.failed() + tally.arrivals.map_or(0, |arrivals| arrivals.dropped());
    if tally.response.count() + missed == 0 {
        return Value::Missing;
    }
    tally.response.quantile_with(q, missed).finite_us().map_or(Value::Infinite, |us| Value::Finite(ms(us)))
}

fn failures(tallies: &[Option<&Tally>]) -> BTreeMap<Outcome, Vec<u64>> {
    let mut failures: BTreeMap<Outcome, Vec<u64>> = BTreeMap::new();
    for (side, tally) in tallies.iter().enumerate() {
        for (outcome, n) in tally.iter().flat_map(|tally| tally.outcomes.failures()) {
            failures.entry(outcome).or_insert_with(|| vec![0; tallies.len()])[side] = n;
        }
    }
    failures
}
