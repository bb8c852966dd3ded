//! Files of all values of a script, and further readers of its run.

use k6::options::Options;
use k6::options::thresholds::MetricThresholds;
use k6::{LogSink, Script};

use super::metric_lines::metric_lines;
use super::threshold_watch::ThresholdWatch;
use super::value_files::ValueFiles;
use super::value_output::ValueTarget;
use super::value_ticks::ValueTicks;
use super::{LoadedScript, outcome, sub_metrics};
use crate::failure::CommandResult;
use crate::tick_readers::MakeReaders;

/// The files of values that are asked for.
pub(super) fn value_files(
    targets: &[ValueTarget],
    script: &Script,
    resolved: (&Options, &[MetricThresholds]),
) -> CommandResult<Option<ValueFiles>> {
    let (options, thresholds) = resolved;
    let lines = metric_lines(&outcome::definitions(script), thresholds, &sub_metrics(thresholds));
    ValueFiles::start(targets, &options.system_tags.clone().unwrap_or_default(), lines)
}

/// Who reads the run's ticks for the script.
pub(super) fn readers(loaded: &LoadedScript, log: LogSink) -> MakeReaders {
    let thresholds = loaded.thresholds.clone();
    let stop = loaded.threshold_stop.clone();
    let output = loaded.values.as_ref().map(ValueFiles::output);
    let tags = loaded.options.options.tags.clone().unwrap_or_default();
    Box::new(move |handles| {
        let watch = ThresholdWatch::new(&thresholds, handles, stop, log).map(|watch| Box::new(watch) as _);
        let values = output.map(|output| Box::new(ValueTicks::new(output, &tags, handles)) as _);
        watch.into_iter().chain(values).collect()
    })
}
