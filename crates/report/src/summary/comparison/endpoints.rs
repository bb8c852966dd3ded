//! One endpoint of one phase over all sides.

use std::collections::BTreeMap;

use evidence::{ComparisonJudgement, Outcome, RuleId};
use figures::{EndedCounts, RowKey};
use serde::Serialize;
use workload::{Step, Workload};

use super::super::endpoint_tally::EndpointTally;
use super::super::labels::Labels;
use super::super::{Times, ms};
use super::{Measure, SideValue, TalliedSide, covered};

/// One endpoint of one phase over all sides.
#[derive(Debug, Clone, Serialize)]
pub struct EndpointTable {
    pub scenario: String,
    /// The step's name; empty for whole iterations of a sequence.
    pub endpoint: String,
    /// What it is called in a table of all endpoints of its phase.
    #[serde(skip)]
    pub label: String,
    /// Whether virtual users send it in their setup alone, as a login.
    pub is_setup: bool,
    /// The rules that refuse differences of times, for each side but the baseline.
    pub refused: Vec<Vec<String>>,
    /// The numbers.
    pub measures: Vec<Measure>,
    /// Failed requests by outcome, for each outcome one count per side; none where a side counted no request of the
    /// endpoint or does not know how they ended.
    pub failures: BTreeMap<Outcome, Vec<Option<u64>>>,
}

impl EndpointTable {
    /// Its title, which names its scenario.
    pub fn title(&self) -> String {
        match self.endpoint.as_str() {
            "" => format!("(whole iteration) of {}", self.scenario),
            endpoint => format!("{endpoint} of {}", self.scenario),
        }
    }
}

pub(super) fn of(
    sides: &[TalliedSide<'_>],
    phase: &str,
    judgement: &ComparisonJudgement,
) -> Vec<EndpointTable> {
    let mut keys: Vec<RowKey> = Vec::new();
    for side in sides {
        let with_content = side.tally.endpoints.iter().filter(|(_, counts)| has_content(counts));
        let mut own: Vec<&RowKey> = with_content.map(|(key, _)| key).collect();
        own.sort_by_key(|key| key.position(side.side.workload));
        for key in own.into_iter().filter(|key| &*key.phase == phase) {
            if !keys.contains(key) {
                keys.push(key.clone());
            }
        }
    }
    let mut labels = Labels::default();
    keys.iter().for_each(|key| labels.add(&key.scenario, &key.endpoint));
    let table = |key: &RowKey| EndpointTable {
        label: labels.of(&key.scenario, &key.endpoint),
        ..table(sides, key, judgement)
    };
    keys.iter().map(table).collect()
}

fn is_setup(workload: &Workload, key: &RowKey) -> bool {
    let of_key = |step: &Step| *step.name == *key.endpoint;
    let scenario = workload.scenarios.iter().find(|scenario| *scenario.name == *key.scenario);
    scenario.is_some_and(|scenario| scenario.setup.iter().any(of_key) && !scenario.flow.steps().any(of_key))
}

fn has_content(counts: &EndpointTally) -> bool {
    counts.arrivals.is_some() || counts.has_responses()
}

fn table(sides: &[TalliedSide<'_>], key: &RowKey, judgement: &ComparisonJudgement) -> EndpointTable {
    let names = (&*key.phase, &*key.scenario, &*key.endpoint);
    let refusing = |side: usize, is_asked: &dyn Fn(RuleId) -> bool| -> Vec<String> {
        let refusals = judgement.refusals.iter().filter(|refusal| refusal.applies_to(side, names));
        let rules = refusals.map(|refusal| refusal.rule).filter(|rule| is_asked(*rule));
        let mut rules: Vec<String> = rules.map(|rule| rule.to_string()).collect();
        rules.sort();
        rules.dedup();
        rules
    };
    let refused = |side: usize| refusing(side, &|_| true);
    let endpoint = EndpointSides {
        counts: sides.iter().map(|side| side.tally.endpoints.get(key)).collect(),
        covered_s: sides.iter().map(|side| covered(side, &key.phase)).collect(),
        ended: sides.iter().map(|side| side.tally.in_window.ended(key)).collect(),
    };
    EndpointTable {
        label: String::new(),
        scenario: key.scenario.to_string(),
        endpoint: key.endpoint.to_string(),
        is_setup: sides.iter().all(|side| is_setup(side.side.workload, key)),
        refused: (1..sides.len()).map(refused).collect(),
        measures: endpoint.measures(&refused, &|side| refusing(side, &|rule| rule == RuleId::C3)),
        failures: endpoint.failures(),
    }
}

/// The counts of an endpoint and the covered seconds of its phase on each side; none where a side has neither.
struct EndpointSides<'a> {
    counts: Vec<Option<&'a EndpointTally>>,
    covered_s: Vec<Option<f64>>,
    /// What ended in the window of its phase.
    ended: Vec<EndedCounts>,
}

impl EndpointSides<'_> {
    /// All measures: those of times without differences where rules have `refused` them, rates and shares of failures only where
    /// it is the load that differs.
    fn measures(
        &self,
        refused: &dyn Fn(usize) -> Vec<String>,
        load_differs: &dyn Fn(usize) -> Vec<String>,
    ) -> Vec<Measure> {
        let offered = |c: &EndpointTally, _: &EndedCounts| Some(c.arrivals?.scheduled as f64);
        let mut all = vec![Measure::of("offered", "1/s", self.rates(&offered))];
        let has_responses = self.counts.iter().flatten().any(|counts| counts.has_responses());
        let completed = |c: &EndpointTally, ended: &EndedCounts| match has_responses {
            true => c.has_responses().then(|| ended.completed()),
            false => ended.iterations().or(c.iterations_done.map(|_| 0.0)),
        };
        all.push(Measure::refusable("throughput", "1/s", self.rates(&completed), load_differs));
        if has_responses {
            all.push(Measure::refusable("failed", "%", self.values(&failed_percent), load_differs));
            for (name, tail, of) in TIMES {
                let values = self.values(&|c| SideValue::of(of(&Times::of(&c.response))));
                let rough = self.rough(tail, &|c| c.response.count());
                all.push(Measure { rough, ..Measure::refusable(name, "ms", values, refused) });
            }
            for (name, q) in [("p95, failures as ∞", 0.95), ("p99, failures as ∞", 0.99)] {
                let values = self.values(&|c| quantile_with_failures(c, q));
                let rough = self.rough(Some(q), &|c| c.response.count() + c.infinitely_slow());
                all.push(Measure { rough, ..Measure::refusable(name, "ms", values, refused) });
            }
            let received = self.values(&|c| per_request(c, c.bytes_in));
            all.push(Measure::of("received/request", "bytes", received));
            let sent = self.values(&|c| per_request(c, c.bytes_out));
            all.push(Measure::of("sent/request", "bytes", sent));
        }
        all.retain(Measure::is_measured);
        all
    }

    /// One value per side.
    fn values(&self, of: &dyn Fn(&EndpointTally) -> SideValue) -> Vec<SideValue> {
        self.counts.iter().map(|counts| counts.map_or(SideValue::Missing, of)).collect()
    }

    /// The sides of which so many samples are too few for the quantile, if it is one of the tail.
    fn rough(&self, tail: Option<f64>, samples: &dyn Fn(&EndpointTally) -> u64) -> Vec<usize> {
        let is_rough =
            |counts: &EndpointTally, q: f64| Times { count: samples(counts), ..Times::default() }.is_rough(q);
        let of_side =
            |(side, counts): (usize, &Option<&EndpointTally>)| is_rough((*counts)?, tail?).then_some(side);
        self.counts.iter().enumerate().filter_map(of_side).collect()
    }

    /// A count per covered second of the phase, for each side.
    fn rates(&self, count: &dyn Fn(&EndpointTally, &EndedCounts) -> Option<f64>) -> Vec<SideValue> {
        let rate = |((counts, covered_s), ended): ((&Option<&EndpointTally>, &Option<f64>), &EndedCounts)| {
            let covered_s = covered_s.filter(|seconds| *seconds > 0.0)?;
            Some(count((*counts)?, ended)? / covered_s)
        };
        self.counts.iter().zip(&self.covered_s).zip(&self.ended).map(rate).map(SideValue::of).collect()
    }

    fn failures(&self) -> BTreeMap<Outcome, Vec<Option<u64>>> {
        let all = self.counts.iter().flatten().flat_map(|counts| counts.outcomes.failures());
        let count = |counts: &Option<&EndpointTally>, outcome: Outcome| {
            let outcomes = &(*counts)?.outcomes;
            outcomes.failed().map(|_| outcomes.by_outcome.get(&outcome).copied().unwrap_or(0))
        };
        let counts = |outcome| self.counts.iter().map(|counts| count(counts, outcome)).collect();
        all.map(|(outcome, _)| (outcome, counts(outcome))).collect()
    }
}

/// A statistic of the response times of successes.
type TimeStatistic = fn(&Times) -> Option<f64>;

/// With the quantile of those in the tail.
const TIMES: [(&str, Option<f64>, TimeStatistic); 6] = [
    ("avg", None, |t| t.avg_ms),
    ("p50", None, |t| t.p50_ms),
    ("p90", Some(0.90), |t| t.p90_ms),
    ("p95", Some(0.95), |t| t.p95_ms),
    ("p99", Some(0.99), |t| t.p99_ms),
    ("max", None, |t| t.max_ms),
];

fn failed_percent(counts: &EndpointTally) -> SideValue {
    let completed = counts.outcomes.completed();
    let failed = counts.outcomes.failed().filter(|_| completed > 0);
    SideValue::of(failed.map(|failed| 100.0 * failed as f64 / completed as f64))
}

fn per_request(counts: &EndpointTally, bytes: Option<u64>) -> SideValue {
    let completed = counts.outcomes.completed();
    SideValue::of(bytes.filter(|_| completed > 0).map(|bytes| bytes as f64 / completed as f64))
}

/// A quantile over everything that was due: failed requests and dropped arrivals count as infinitely slow.
fn quantile_with_failures(counts: &EndpointTally, q: f64) -> SideValue {
    let missed = counts.infinitely_slow();
    if counts.outcomes.failed().is_none() || counts.response.count() + missed == 0 {
        return SideValue::Missing;
    }
    let quantile = counts.response.quantile_with(q, missed).finite_us();
    quantile.map_or(SideValue::Infinite, |us| SideValue::Finite(ms(us)))
}
