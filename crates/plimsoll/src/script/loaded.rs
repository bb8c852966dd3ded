//! A script with its options, as everything after its reading uses it.

use std::sync::Arc;

use k6::options::ConsolidatedOptions;
use k6::options::thresholds::MetricThresholds;
use k6::outputs::{ValueFiles, ValueTarget};
use k6::{NetworkRules, Script, SubMetric};
use workload::Files;

use super::inputs::ScriptInputs;
use super::threshold_watch::ThresholdStop;

/// A script with its options.
pub(crate) struct LoadedScript {
    pub(super) script: Script,
    pub(super) options: ConsolidatedOptions,
    pub(super) thresholds: Vec<MetricThresholds>,
    pub(super) network: Arc<NetworkRules>,
    pub(super) value_targets: Vec<ValueTarget>,
    /// Of every value, where outputs ask for them.
    pub(super) values: Option<ValueFiles>,
    /// Whether thresholds have ended the run.
    pub(super) threshold_stop: ThresholdStop,
    /// What it was read from.
    pub(super) inputs: ScriptInputs,
    pub(super) files: Arc<dyn Files + Send + Sync>,
}

/// The parts of metrics that thresholds are about, and the one that the summary always shows.
pub(super) fn sub_metrics(thresholds: &[MetricThresholds]) -> Vec<SubMetric> {
    let shown = SubMetric {
        metric: "http_req_duration".to_owned(),
        tags: vec![("expected_response".to_owned(), "true".to_owned())],
    };
    let parts = thresholds.iter().filter(|of| !of.selector.tags.is_empty());
    let asked = parts.map(|of| SubMetric {
        metric: of.selector.name.clone(),
        tags: of.selector.tags.clone().into_iter().collect(),
    });
    let mut all = vec![shown];
    for part in asked {
        if !all.contains(&part) {
            all.push(part);
        }
    }
    all
}
