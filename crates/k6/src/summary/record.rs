//! From what a run counted to what its summary shows.

use std::collections::BTreeMap;

use evidence::key::Name;
use evidence::metric::{MetricKind, MetricSums};
use serde_json::Value;

use super::data::{
    Check, Contains, Group, RunState, Section, SummaryData, SummaryMetric, SummaryOptions, Threshold,
};

/// The metric whose values are checks.
const CHECKS: &str = "checks";
/// The metrics whose values make a group known: those of other metrics in `setup` and `teardown` do not.
const MAKE_GROUPS: [&str; 2] = [CHECKS, "group_duration"];
/// The part of a metric that k6 shows without being asked.
const SHOWN_PART: (&str, &str) = ("http_req_duration", "http_req_duration{expected_response:true}");
/// The scenario that k6 does not name: its groups have sections of their own.
const UNNAMED_SCENARIO: &str = "default";
/// Groups that only contain others: what they count themselves is only in the totals.
const OUTSIDE_SCENARIOS: [&str; 2] = ["::setup", "::teardown"];

/// What was added to one metric with one set of tags.
pub trait Aggregate: Clone {
    /// Add every value of `other`.
    fn merge(&mut self, other: &Self);
    fn count(&self) -> u64;
    /// How many of them are not zero.
    fn nonzero(&self) -> u64;
    fn sum(&self) -> f64;
    /// The lowest; 0 without any.
    fn min(&self) -> f64;
    /// The highest; 0 without any.
    fn max(&self) -> f64;
    /// The last; 0 without any.
    fn last(&self) -> f64;
    /// The `q`-quantile (0 to 1) of a trend; 0 without any.
    fn quantile(&self, q: f64) -> f64;
}

impl Aggregate for MetricSums {
    fn merge(&mut self, other: &Self) {
        MetricSums::merge(self, other);
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn nonzero(&self) -> u64 {
        self.nonzero
    }

    fn sum(&self) -> f64 {
        self.sum
    }

    fn min(&self) -> f64 {
        self.min
    }

    fn max(&self) -> f64 {
        self.max
    }

    fn last(&self) -> f64 {
        self.last
    }

    fn quantile(&self, q: f64) -> f64 {
        MetricSums::quantile(self, q).unwrap_or(0.0)
    }
}

/// A metric that exists, with or without values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricDefinition {
    pub name: String,
    /// How its values are read.
    pub kind: MetricKind,
    /// What they are amounts of.
    pub contains: Contains,
}

/// What was added to one metric with one set of tags. The tags `scenario`, `group` and `check` say where it belongs.
#[derive(Debug, Clone, Copy)]
pub struct Series<'a, A> {
    pub metric: &'a str,
    pub tags: &'a BTreeMap<Name, Name>,
    /// What was added.
    pub sums: &'a A,
}

impl<A> Series<'_, A> {
    fn tag(&self, name: &str) -> Option<&str> {
        self.tags.get(name).map(|value| &**value)
    }

    fn has(&self, tags: &[(&str, &str)]) -> bool {
        tags.iter().all(|(name, value)| self.tag(name) == Some(*value))
    }
}

/// The thresholds of one metric or part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricThresholds {
    /// As the script names it: `http_req_duration` or `http_req_duration{status:200}`.
    pub metric: String,
    /// In the order of the script.
    pub thresholds: Vec<Threshold>,
    /// Whether the script names the metric: it is shown without values, too. With `--no-thresholds` k6 shows a part only if it has
    /// values.
    pub is_asked: bool,
}

/// Everything that a summary is made of.
#[derive(Debug, Clone)]
pub struct RunRecord<'a, A> {
    pub definitions: &'a [MetricDefinition],
    /// What was added to them, in the order in which they were first met: groups and checks are shown in it.
    pub series: &'a [Series<'a, A>],
    /// The thresholds and whether they were met.
    pub thresholds: &'a [MetricThresholds],
    /// Where k6 writes to, and how long the run took.
    pub state: RunState,
    /// What the script asks of the summary.
    pub options: SummaryOptions,
    /// What `setup` returned, if it did.
    pub setup_data: Option<Value>,
}

impl<A: Aggregate> RunRecord<'_, A> {
    /// What the summary of this run shows.
    #[must_use]
    pub fn summary(&self) -> SummaryData {
        let mut root = Group::default();
        let mut run = Gathered::default();
        let mut unnamed = Gathered::default();
        let mut scenarios = BTreeMap::new();
        for series in self.series {
            run.add(series);
            let path = series.tag("group").unwrap_or("");
            if MAKE_GROUPS.contains(&series.metric) {
                count_check(&mut root.at(path).checks, series);
            }
            match series.tag("scenario").filter(|name| *name != UNNAMED_SCENARIO) {
                Some(name) => {
                    let scenario: &mut Gathered<A> = scenarios.entry(name).or_default();
                    scenario.add(series);
                    scenario.add_to_group(path, series);
                }
                None => unnamed.add_to_group(path, series),
            }
        }
        let scenarios = scenarios.into_iter().map(|(name, gathered)| self.section(name, &gathered));
        SummaryData {
            total: Section { metrics: self.totals(&run), checks: run.checks, ..Section::default() },
            root,
            scenarios: scenarios.collect(),
            groups: self.section("", &unnamed).groups,
            state: self.state,
            options: self.options.clone(),
            setup_data: self.setup_data.clone(),
        }
    }

    fn totals(&self, run: &Gathered<A>) -> BTreeMap<String, SummaryMetric> {
        let mut metrics = BTreeMap::new();
        for definition in self.definitions {
            let sums = run.sums.get(&definition.name);
            let parts = self.parts(definition);
            let own = self.thresholds_of(&definition.name);
            if sums.is_some() || self.is_asked(&definition.name) || !parts.is_empty() {
                metrics.insert(definition.name.clone(), self.metric(definition, sums, own));
            }
            metrics.extend(parts);
        }
        metrics
    }

    /// The parts of a metric that have thresholds, and the one that k6 always shows.
    fn parts(&self, definition: &MetricDefinition) -> BTreeMap<String, SummaryMetric> {
        let named = self.thresholds.iter().map(|entry| entry.metric.as_str());
        let names = named.chain((definition.name == SHOWN_PART.0).then_some(SHOWN_PART.1));
        let parts = names.filter_map(|name| {
            let braced = name.strip_prefix(definition.name.as_str())?;
            let list = braced.strip_prefix('{')?.strip_suffix('}')?.trim();
            let sums = self.part(&definition.name, &tags_of(list)?);
            let thresholds = self.thresholds_of(name);
            let is_shown = sums.is_some() || self.is_asked(name);
            let shown_name = format!("{}{{{list}}}", definition.name);
            is_shown.then(|| (shown_name, self.metric(definition, sums.as_ref(), thresholds)))
        });
        parts.collect()
    }

    fn part(&self, metric: &str, tags: &[(&str, &str)]) -> Option<A> {
        let series = self.series.iter().filter(|series| series.metric == metric && series.has(tags));
        series.map(|series| series.sums.clone()).reduce(|mut sums, other| {
            sums.merge(&other);
            sums
        })
    }

    fn thresholds_of(&self, name: &str) -> &[Threshold] {
        let entry = self.thresholds.iter().find(|entry| entry.metric == name);
        entry.map_or(&[], |entry| &entry.thresholds)
    }

    fn is_asked(&self, name: &str) -> bool {
        self.thresholds.iter().any(|entry| entry.metric == name && entry.is_asked)
    }

    fn section(&self, name: &str, gathered: &Gathered<A>) -> Section {
        let definitions = self.definitions.iter();
        let metrics = definitions.filter_map(|definition| {
            let sums = gathered.sums.get(&definition.name)?;
            Some((definition.name.clone(), self.metric(definition, Some(sums), &[])))
        });
        Section {
            name: name.to_owned(),
            metrics: metrics.collect(),
            checks: gathered.checks.clone(),
            groups: gathered.groups.iter().map(|(name, inner)| self.section(name, inner)).collect(),
        }
    }

    fn metric(
        &self,
        definition: &MetricDefinition,
        sums: Option<&A>,
        thresholds: &[Threshold],
    ) -> SummaryMetric {
        let named = |values: [(&str, f64); 3]| values.map(|(name, value)| (name.to_owned(), value)).into();
        let values = match (definition.kind, sums) {
            (MetricKind::Counter, _) => {
                let count = sums.map_or(0.0, A::sum);
                BTreeMap::from([
                    ("count".to_owned(), count),
                    ("rate".to_owned(), self.state.per_second(count)),
                ])
            }
            // The highest of a gauge is at least 0: k6 begins there.
            (MetricKind::Gauge, Some(sums)) => {
                named([("value", sums.last()), ("min", sums.min()), ("max", sums.max().max(0.0))])
            }
            (MetricKind::Gauge, None) => named([("value", 0.0), ("min", 0.0), ("max", 0.0)]),
            (MetricKind::Rate, _) => {
                let [count, passes] =
                    sums.map_or([0.0; 2], |sums| [sums.count(), sums.nonzero()].map(|n| n as f64));
                let rate = if count > 0.0 { passes / count } else { 0.0 };
                named([("rate", rate), ("passes", passes), ("fails", count - passes)])
            }
            (MetricKind::Trend, _) => {
                let asked = self.options.trend_stats.iter().map(String::as_str);
                // Thresholds show percentiles that the summary does not, and no other value that it does not.
                let limited =
                    thresholds.iter().map(Threshold::stat).filter(|stat| percentile(stat).is_some());
                let values =
                    asked.chain(limited).filter_map(|stat| Some((stat.to_owned(), trend_value(stat, sums)?)));
                values.collect()
            }
        };
        SummaryMetric {
            kind: definition.kind,
            contains: definition.contains,
            values,
            thresholds: thresholds.to_vec(),
        }
    }
}

/// The `q` of `p(N)`: N percent.
fn percentile(stat: &str) -> Option<f64> {
    let percent: f64 = stat.strip_prefix("p(")?.strip_suffix(')')?.trim().parse().ok()?;
    Some(percent / 100.0)
}

fn trend_value<A: Aggregate>(stat: &str, sums: Option<&A>) -> Option<f64> {
    let read: fn(&A) -> f64 = match stat {
        "avg" => |sums| sums.sum() / sums.count().max(1) as f64,
        "min" => A::min,
        "max" => A::max,
        "med" => |sums| sums.quantile(0.5),
        "count" => |sums| sums.count() as f64,
        _ => {
            let q = percentile(stat)?;
            return Some(sums.map_or(0.0, |sums| sums.quantile(q)));
        }
    };
    Some(sums.map_or(0.0, read))
}

/// The tags in `a:b,c:"d"`; none where it is no such list.
fn tags_of(list: &str) -> Option<Vec<(&str, &str)>> {
    let tags = list.split(',').map(|tag| tag.split_once(':'));
    tags.map(|tag| tag.map(|(name, value)| (without_quotes(name), without_quotes(value)))).collect()
}

fn without_quotes(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}

/// What belongs to the run, a scenario or a group while it is added up.
struct Gathered<A> {
    sums: BTreeMap<String, A>,
    checks: Vec<Check>,
    groups: Vec<(String, Gathered<A>)>,
}

impl<A> Default for Gathered<A> {
    fn default() -> Self {
        Gathered { sums: BTreeMap::new(), checks: Vec::new(), groups: Vec::new() }
    }
}

impl<A: Aggregate> Gathered<A> {
    fn add(&mut self, series: &Series<'_, A>) {
        match self.sums.get_mut(series.metric) {
            Some(sums) => sums.merge(series.sums),
            None => {
                self.sums.insert(series.metric.to_owned(), series.sums.clone());
            }
        }
        count_check(&mut self.checks, series);
    }

    fn add_to_group(&mut self, path: &str, series: &Series<'_, A>) {
        if path.is_empty() || OUTSIDE_SCENARIOS.contains(&path) {
            return;
        }
        let group = path.split("::").skip(1).fold(self, |group, name| group.child(name));
        group.add(series);
    }

    fn child(&mut self, name: &str) -> &mut Gathered<A> {
        let known = self.groups.iter().position(|(inner, _)| inner == name);
        let index = known.unwrap_or_else(|| {
            self.groups.push((name.to_owned(), Gathered::default()));
            self.groups.len() - 1
        });
        &mut self.groups[index].1
    }
}

fn count_check<A: Aggregate>(checks: &mut Vec<Check>, series: &Series<'_, A>) {
    let Some(name) = series.tag("check").filter(|_| series.metric == CHECKS) else { return };
    let known = checks.iter().position(|check| check.name == name);
    let index = known.unwrap_or_else(|| {
        checks.push(Check { name: name.to_owned(), passes: 0, fails: 0 });
        checks.len() - 1
    });
    let check = &mut checks[index];
    check.passes += series.sums.nonzero();
    check.fails += series.sums.count() - series.sums.nonzero();
}

#[cfg(test)]
mod tests;
