//! What a run has counted of each endpoint so far, and of its last seconds.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use evidence::{Histogram, Key, Name, Outcome};
use workload::Workload;

use super::WINDOW_S;
use super::heat::HeatHistory;

/// How many endpoints have figures of their own: names that are met later are counted together.
const MOST: usize = 64;

/// One endpoint of a scenario.
#[derive(Debug, Clone, Default)]
pub struct EndpointFigures {
    /// Successes and failures since the start.
    pub so_far: Ended,
    /// Its times over time.
    pub heat: HeatHistory,
    recent: VecDeque<(u32, Ended)>,
}

/// Requests that ended.
#[derive(Debug, Clone, Default)]
pub struct Ended {
    /// Failures.
    pub failed: u64,
    /// Response times of successes.
    pub response: Histogram,
}

impl Ended {
    /// In success or failure.
    pub fn completed(&self) -> u64 {
        self.response.count() + self.failed
    }

    /// A quantile of the successes.
    pub fn quantile_ms(&self, quantile: f64) -> Option<f64> {
        self.response.quantile(quantile).finite_us().map(|us| us / 1_000.0)
    }

    fn add(&mut self, outcome: Outcome, times: &Histogram) {
        match outcome {
            Outcome::Ok => self.response.merge(times),
            _ => self.failed += times.count(),
        }
    }
}

impl EndpointFigures {
    /// Adds responses of a second, all with the same outcome.
    pub(super) fn add(&mut self, second: u32, outcome: Outcome, times: &Histogram) {
        self.so_far.add(outcome, times);
        match outcome {
            Outcome::Ok => self.heat.add(second, Some(times), 0),
            _ => self.heat.add(second, None, times.count()),
        }
        if let Some(ended) = self.recent_mut(second) {
            ended.add(outcome, times);
        }
    }

    /// What ended in these seconds, of the last ten.
    pub fn within(&self, seconds: &Range<u32>) -> Ended {
        let mut sum = Ended::default();
        for (_, ended) in self.recent.iter().filter(|(second, _)| seconds.contains(second)) {
            sum.failed += ended.failed;
            sum.response.merge(&ended.response);
        }
        sum
    }

    fn recent_mut(&mut self, second: u32) -> Option<&mut Ended> {
        let stored = 2 * WINDOW_S as usize;
        let at = self.recent.partition_point(|(known, _)| *known < second);
        if self.recent.get(at).is_none_or(|(known, _)| *known != second) {
            if at == 0 && self.recent.len() >= stored {
                return None;
            }
            self.recent.insert(at, (second, Ended::default()));
        }
        let dropped = self.recent.len().saturating_sub(stored);
        self.recent.drain(..dropped);
        self.recent.get_mut(at - dropped).map(|(_, ended)| ended)
    }
}

/// Every endpoint, those of the plan first, in its order.
#[derive(Debug, Clone, Default)]
pub struct EndpointTable {
    /// All of them together.
    pub all: EndpointFigures,
    rows: Vec<(EndpointName, EndpointFigures)>,
    places: HashMap<EndpointName, usize>,
    others: Option<Box<EndpointFigures>>,
}

/// Names are unique within a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct EndpointName {
    scenario: Name,
    endpoint: Name,
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct EndpointRow<'a> {
    /// None for those that are counted together.
    pub name: Option<(&'a str, &'a str)>,
    /// Its figures.
    pub figures: &'a EndpointFigures,
}

impl EndpointTable {
    pub(super) fn new(workload: &Workload) -> EndpointTable {
        let mut table = EndpointTable::default();
        for scenario in &workload.scenarios {
            for step in scenario.flow.steps() {
                table.row_mut(&scenario.name.as_str().into(), &step.name.as_str().into());
            }
        }
        table
    }

    pub(super) fn add(&mut self, key: &Key, second: u32, times: &Histogram) {
        let outcome = key.outcome.unwrap_or(Outcome::Ok);
        self.all.add(second, outcome, times);
        self.row_mut(&key.scenario, &key.endpoint).add(second, outcome, times);
    }

    fn row_mut(&mut self, scenario: &Name, endpoint: &Name) -> &mut EndpointFigures {
        let name = EndpointName { scenario: scenario.clone(), endpoint: endpoint.clone() };
        match self.places.get(&name) {
            Some(at) => &mut self.rows[*at].1,
            None if self.rows.len() >= MOST => self.others.get_or_insert_default(),
            None => {
                let at = self.rows.len();
                self.places.insert(name.clone(), at);
                &mut self.rows.push_mut((name, EndpointFigures::default())).1
            }
        }
    }

    /// Every endpoint; those that are counted together come last.
    pub fn rows(&self) -> impl Iterator<Item = EndpointRow<'_>> {
        let named = self
            .rows
            .iter()
            .map(|(name, figures)| EndpointRow { name: Some((&name.scenario, &name.endpoint)), figures });
        let others = self.others.iter().map(|figures| EndpointRow { name: None, figures });
        named.chain(others)
    }
}
