//! `textSummary` of k6's library: a summary of the data that `handleSummary` was given, which its script may have changed.

use std::collections::BTreeMap;

use evidence::metric::MetricKind;
use serde::Deserialize;
use serde_json::Value;

use super::data::{Check, Contains, Group, Section, SummaryData, SummaryMetric, SummaryOptions, Threshold};
use super::legacy::legacy_text;
use super::number::TimeUnit;
use super::table::Colours;

/// Data that is not a summary.
#[derive(Debug, thiserror::Error)]
#[error("textSummary needs the data that handleSummary was given: {0}")]
pub struct SummaryShapeError(#[from] serde_json::Error);

/// The text that `textSummary(data, { indent, enableColors })` makes; the caller gives `indent` as it is (the library's own
/// default is one space) and puts other options into `data.options`.
///
/// # Errors
/// The data has another shape than that of [`super::handle_summary`].
pub fn text_summary(data: &Value, indent: &str, colours: Colours) -> Result<String, SummaryShapeError> {
    let given = GivenSummary::deserialize(data)?;
    Ok(legacy_text(&given.into(), indent, colours))
}

#[derive(Deserialize)]
struct GivenSummary {
    #[serde(default)]
    root_group: GivenGroup,
    #[serde(default)]
    options: GivenOptions,
    #[serde(default)]
    metrics: BTreeMap<String, GivenMetric>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct GivenOptions {
    summary_trend_stats: Option<Vec<String>>,
    summary_time_unit: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct GivenGroup {
    name: String,
    path: String,
    groups: Vec<GivenGroup>,
    checks: Vec<GivenCheck>,
}

#[derive(Deserialize)]
struct GivenCheck {
    name: String,
    // A script may have made them fractions.
    passes: f64,
    fails: f64,
}

#[derive(Deserialize)]
struct GivenMetric {
    #[serde(rename = "type")]
    kind: MetricKind,
    #[serde(default)]
    contains: String,
    values: BTreeMap<String, f64>,
    #[serde(default)]
    thresholds: BTreeMap<String, GivenThreshold>,
}

#[derive(Deserialize)]
struct GivenThreshold {
    ok: bool,
}

impl From<GivenSummary> for SummaryData {
    fn from(given: GivenSummary) -> Self {
        let metrics = given.metrics.into_iter().map(|(name, metric)| (name, metric.into())).collect();
        SummaryData {
            total: Section { metrics, ..Section::default() },
            root: given.root_group.into(),
            options: given.options.into(),
            ..SummaryData::default()
        }
    }
}

impl From<GivenOptions> for SummaryOptions {
    fn from(given: GivenOptions) -> Self {
        let defaults = SummaryOptions::default();
        SummaryOptions {
            trend_stats: given.summary_trend_stats.unwrap_or(defaults.trend_stats),
            time_unit: given.summary_time_unit.as_deref().and_then(TimeUnit::from_name),
            no_color: defaults.no_color,
        }
    }
}

impl From<GivenGroup> for Group {
    fn from(given: GivenGroup) -> Self {
        let check = |check: GivenCheck| Check {
            name: check.name,
            passes: check.passes as u64,
            fails: check.fails as u64,
        };
        Group {
            name: given.name,
            path: given.path,
            groups: given.groups.into_iter().map(Group::from).collect(),
            checks: given.checks.into_iter().map(check).collect(),
        }
    }
}

impl From<GivenMetric> for SummaryMetric {
    fn from(given: GivenMetric) -> Self {
        let thresholds = given.thresholds.into_iter();
        SummaryMetric {
            kind: given.kind,
            contains: Contains::from_name(&given.contains).unwrap_or_default(),
            values: given.values,
            thresholds: thresholds
                .map(|(source, threshold)| Threshold { source, ok: threshold.ok })
                .collect(),
        }
    }
}
