//! A run of k6 as its files describe it, with every value that it added to a metric.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use evidence::key::Name;
use evidence::metric::MetricKind;
use k6::summary::number::TimeUnit;
use k6::summary::{
    Aggregate, Contains, MetricDefinition, MetricThresholds, RunRecord, RunState, Series, SummaryData,
    SummaryOptions, Tags, Threshold,
};
use serde_json::Value;

pub(crate) fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn names() -> Vec<String> {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let folders = entries.filter(|entry| entry.file_type().unwrap().is_dir());
    let mut names: Vec<String> = folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    assert_ne!(names.len(), 0, "no recordings");
    names
}

/// Values with their numbers in the order in which they were added.
#[derive(Clone, Default)]
pub(crate) struct Exact(Vec<(usize, f64)>);

impl Exact {
    fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.0.iter().map(|(_, value)| *value)
    }
}

impl Aggregate for Exact {
    fn merge(&mut self, other: &Self) {
        self.0.extend(&other.0);
        self.0.sort_by_key(|(number, _)| *number);
    }

    fn count(&self) -> u64 {
        self.0.len() as u64
    }

    fn nonzero(&self) -> u64 {
        self.values().filter(|value| *value != 0.0).count() as u64
    }

    fn sum(&self) -> f64 {
        self.values().sum()
    }

    fn min(&self) -> f64 {
        self.values().reduce(f64::min).unwrap_or(0.0)
    }

    fn max(&self) -> f64 {
        self.values().reduce(f64::max).unwrap_or(0.0)
    }

    fn last(&self) -> f64 {
        self.values().last().unwrap_or(0.0)
    }

    fn quantile(&self, q: f64) -> f64 {
        let mut values: Vec<f64> = self.values().collect();
        values.sort_by(f64::total_cmp);
        let rank = q * values.len().saturating_sub(1) as f64;
        let [low, high] =
            [rank.floor(), rank.ceil()].map(|rank| values.get(rank as usize).copied().unwrap_or(0.0));
        low + (high - low) * rank.fract()
    }
}

/// What one folder contains.
pub(crate) struct Recording {
    pub(crate) name: String,
    pub(crate) handle_summary: Value,
    series: Vec<(String, Tags, Exact)>,
}

impl Recording {
    pub(crate) fn read(name: &str) -> Recording {
        let handle_summary = serde_json::from_str(&file(&format!("{name}/handle_summary.json"))).unwrap();
        let mut series: Vec<(String, Tags, Exact)> = Vec::new();
        let mut known = HashMap::new();
        for (number, text) in file(&format!("{name}/points.ndjson")).lines().enumerate() {
            let line: Value = serde_json::from_str(text).unwrap();
            if line["type"] == "Point" {
                let metric = line["metric"].as_str().unwrap().to_owned();
                let tags = tags(&line["data"]["tags"]);
                let index = *known.entry((metric.clone(), tags.clone())).or_insert(series.len());
                if index == series.len() {
                    series.push((metric, tags, Exact::default()));
                }
                series[index].2.0.push((number, value_in(text)));
            }
        }
        Recording { name: name.to_owned(), handle_summary, series }
    }

    /// The summary of the same values.
    pub(crate) fn summary(&self) -> SummaryData {
        let series: Vec<_> =
            self.series.iter().map(|(metric, tags, sums)| Series { metric, tags, sums }).collect();
        let given = &self.handle_summary;
        let options = &given["options"];
        let stats = options["summaryTrendStats"].as_array().unwrap().iter();
        RunRecord {
            definitions: &self.definitions(),
            series: &series,
            thresholds: &self.thresholds(),
            state: RunState {
                stdout_is_terminal: given["state"]["isStdOutTTY"] == true,
                stderr_is_terminal: given["state"]["isStdErrTTY"] == true,
                duration_ms: given["state"]["testRunDurationMs"].as_f64().unwrap(),
            },
            options: SummaryOptions {
                trend_stats: stats.map(|stat| stat.as_str().unwrap().to_owned()).collect(),
                time_unit: TimeUnit::from_name(options["summaryTimeUnit"].as_str().unwrap()),
                no_color: options["noColor"] == true,
            },
            setup_data: given.get("setup_data").cloned(),
        }
        .summary()
    }

    fn metrics(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.handle_summary["metrics"].as_object().unwrap().iter()
    }

    fn definitions(&self) -> Vec<MetricDefinition> {
        let whole = self.metrics().filter(|(name, _)| !name.contains('{'));
        let definition = |(name, metric): (&String, &Value)| MetricDefinition {
            name: name.clone(),
            kind: MetricKind::from_str(metric["type"].as_str().unwrap()).unwrap(),
            contains: Contains::from_name(metric["contains"].as_str().unwrap()).unwrap(),
        };
        whole.map(definition).collect()
    }

    /// In the order of the script, which JSON does not have; parts also without any.
    fn thresholds(&self) -> Vec<MetricThresholds> {
        let script = file(&format!("{}.js", self.name.split('-').next().unwrap()));
        let all = self.metrics().map(|(name, metric)| {
            let given = metric["thresholds"].as_object().into_iter().flatten();
            let mut thresholds: Vec<Threshold> = given
                .map(|(source, given)| Threshold { source: source.clone(), ok: given["ok"] == true })
                .collect();
            thresholds.sort_by_key(|threshold| script.find(&threshold.source));
            let is_asked = !thresholds.is_empty();
            MetricThresholds { metric: name.clone(), thresholds, is_asked }
        });
        all.collect()
    }
}

pub(crate) fn tags(object: &Value) -> BTreeMap<Name, Name> {
    let pairs = object.as_object().into_iter().flatten();
    pairs.map(|(name, value)| (name.as_str().into(), value.as_str().unwrap().into())).collect()
}

/// The value in the line of a point, to its last bit, which `serde_json` does not read.
pub(crate) fn value_in(line: &str) -> f64 {
    let (_, after) = line.split_once(r#""value":"#).unwrap();
    after.split(',').next().unwrap().parse().unwrap()
}
