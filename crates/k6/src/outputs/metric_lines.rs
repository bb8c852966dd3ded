//! The lines that announce the metrics of a script in `-o json`.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::SubMetric;
use crate::options::OptionDuration;
use crate::options::thresholds::{MetricThresholds, Threshold};
use crate::summary::{MetricDefinition, MetricLine, PartLine, ThresholdLine};

/// The line that announces each metric in JSON, by the metric's name.
pub type MetricLines = BTreeMap<String, String>;

/// A line for each metric, with its thresholds and its parts.
pub fn metric_lines(
    definitions: &[MetricDefinition],
    thresholds: &[MetricThresholds],
    sub_metrics: &[SubMetric],
) -> MetricLines {
    let line = |definition: &MetricDefinition| {
        let is_own =
            |of: &&MetricThresholds| of.selector.name == definition.name && of.selector.tags.is_empty();
        let own = thresholds.iter().filter(is_own).flat_map(|of| &of.thresholds);
        let parts = sub_metrics.iter().filter(|part| part.metric == definition.name);
        let line = MetricLine {
            definition,
            thresholds: &own.map(threshold_line).collect::<Vec<_>>(),
            parts: &parts.map(part_line).collect::<Vec<_>>(),
        };
        (definition.name.clone(), line.json())
    };
    definitions.iter().map(line).collect()
}

fn threshold_line(threshold: &Threshold) -> ThresholdLine {
    let delay = |delay: Duration| {
        let delay = Some(delay).filter(|delay| !delay.is_zero())?;
        OptionDuration::from_millis(delay.as_secs_f64() * 1e3).ok().map(|delay| delay.to_string())
    };
    let abort = threshold.abort_on_fail.then(|| delay(threshold.delay_abort_eval));
    ThresholdLine { source: threshold.source.clone(), abort }
}

fn part_line(part: &SubMetric) -> PartLine {
    let pairs: Vec<String> = part.tags.iter().map(|(name, value)| format!("{name}:{value}")).collect();
    let owned = |(name, value): &(String, String)| (name.as_str().into(), value.as_str().into());
    PartLine { suffix: pairs.join(","), tags: part.tags.iter().map(owned).collect() }
}
