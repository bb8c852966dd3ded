//! What a run has counted of each endpoint so far, and of its last seconds.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use evidence::url_pattern::{TOLD_APART, patterns_of};
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

    fn merge(&mut self, other: &Ended) {
        self.failed += other.failed;
        self.response.merge(&other.response);
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

    /// Adds all that another has counted.
    fn merge(&mut self, other: &EndpointFigures) {
        self.so_far.merge(&other.so_far);
        self.heat.merge(&other.heat);
        for (second, ended) in &other.recent {
            if let Some(own) = self.recent_mut(*second) {
                own.merge(ended);
            }
        }
    }

    /// What ended in these seconds, of the last ten.
    pub fn within(&self, seconds: &Range<u32>) -> Ended {
        let mut sum = Ended::default();
        for (_, ended) in self.recent.iter().filter(|(second, _)| seconds.contains(second)) {
            sum.merge(ended);
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
        let mut name = EndpointName { scenario: scenario.clone(), endpoint: endpoint.clone() };
        if !self.places.contains_key(&name) {
            name = self.folded(name);
        }
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

    /// What a new row is to be called: itself, or the pattern of its URL, whose rows become one once they are too many to be told
    /// apart.
    fn folded(&mut self, name: EndpointName) -> EndpointName {
        let patterns = patterns_of(&name.endpoint);
        let named = |pattern: &String| EndpointName {
            scenario: name.scenario.clone(),
            endpoint: pattern.as_str().into(),
        };
        if let Some(known) = patterns.iter().map(named).find(|known| self.places.contains_key(known)) {
            return known;
        }
        let is_of = |pattern: &String, other: &EndpointName| {
            other.scenario == name.scenario && patterns_of(&other.endpoint).contains(pattern)
        };
        let urls = |pattern: &&String| self.rows.iter().filter(|(row, _)| is_of(pattern, row)).count();
        let Some(pattern) = patterns.iter().find(|pattern| urls(pattern) >= TOLD_APART) else { return name };
        let (of_pattern, mut rows): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.rows).into_iter().partition(|(row, _)| is_of(pattern, row));
        let mut merged = EndpointFigures::default();
        of_pattern.iter().for_each(|(_, figures)| merged.merge(figures));
        rows.push((named(pattern), merged));
        self.places = rows.iter().enumerate().map(|(at, (row, _))| (row.clone(), at)).collect();
        self.rows = rows;
        named(pattern)
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

#[cfg(test)]
mod tests {
    use evidence::Metric;

    use super::*;

    #[test]
    fn urls_of_one_pattern_become_one_row_with_all_of_their_figures() {
        let mut table = EndpointTable::default();
        let mut times = Histogram::new();
        times.record_us(5_000, 1);
        let mut ended = |endpoint: &str, second: u32, outcome: Outcome| {
            let key = Key::of(Metric::ResponseTime).scenario("buy").endpoint(endpoint).outcome(outcome);
            table.add(&key, second, &times);
        };
        for item in 0..30 {
            ended(&format!("http://a/items/{item}"), item, Outcome::Ok);
            ended("http://a/cart", item, Outcome::Http5xx);
        }
        ended("http://a/items/3", 30, Outcome::Timeout);
        let rows: Vec<EndpointRow<'_>> = table.rows().collect();
        let names: Vec<&str> = rows.iter().filter_map(|row| Some(row.name?.1)).collect();
        assert_eq!(names, ["http://a/cart", "http://a/items/{…}"]);
        let items = rows[1].figures;
        assert_eq!((items.so_far.response.count(), items.so_far.failed), (30, 1));
        let recent = items.within(&(26..31));
        assert_eq!((recent.response.count(), recent.failed), (4, 1));
        let columns = items.heat.columns(0, 0..31).map(|column| column.completed());
        assert_eq!(columns.collect::<Vec<_>>(), [1; 31]);
    }
}
