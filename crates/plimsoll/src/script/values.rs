//! Files of all values of a script, and further readers of its run.

use std::collections::BTreeMap;

use conduct::failure::CommandResult;
use conduct::screen;
use conduct::tick_readers::MakeReaders;
use k6::options::Options;
use k6::options::thresholds::MetricThresholds;
use k6::outputs::{ValueFiles, ValueTarget, ValueTicks, metric_lines};
use k6::{LogSink, Script, results};

use super::command_line::refused;
use super::threshold_watch::ThresholdWatch;
use super::{LoadedScript, sub_metrics};

/// The files that the command line or the variable asks for.
pub(super) fn targets(
    flags: &[String],
    variables: &BTreeMap<String, String>,
) -> CommandResult<Vec<ValueTarget>> {
    k6::outputs::targets(flags, variables).map_err(refused)
}

/// The files of values that are asked for.
pub(super) fn value_files(
    targets: &[ValueTarget],
    script: &Script,
    resolved: (&Options, &[MetricThresholds]),
) -> CommandResult<Option<ValueFiles>> {
    let (options, thresholds) = resolved;
    let lines = metric_lines(&results::definitions(script), thresholds, &sub_metrics(thresholds));
    let system_tags = options.system_tags.clone().unwrap_or_default();
    ValueFiles::start(targets, &system_tags, &lines, screen::write_document).map_err(refused)
}

/// Waits until all values are written, and says which are not.
pub(super) fn finish(files: Option<ValueFiles>) {
    match files.map(ValueFiles::finish) {
        None => {}
        Some(Err(error)) => screen::note(error),
        Some(Ok(end)) if end.lost > 0 => screen::note(format_args!(
            "{} values came faster than -o could write them and are not in its files; the summary has them",
            end.lost
        )),
        Some(Ok(_)) => {}
    }
}

/// Who reads the run's ticks for the script.
pub(super) fn readers(loaded: &LoadedScript, log: LogSink) -> MakeReaders {
    let thresholds = loaded.thresholds.clone();
    let stop = loaded.threshold_stop.clone();
    let output = loaded.values.as_ref().map(ValueFiles::output);
    let tags = loaded.options.options.tags.clone().unwrap_or_default();
    Box::new(move |handles| {
        let watch = ThresholdWatch::new(&thresholds, handles, stop, log).map(|watch| Box::new(watch) as _);
        let ticks = |output| ValueTicks::new(output, &tags, handles.loops, handles.clock.epoch_unix_ns());
        let values = output.map(|output| Box::new(ticks(output)) as _);
        watch.into_iter().chain(values).collect()
    })
}
