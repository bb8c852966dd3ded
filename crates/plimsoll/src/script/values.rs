//! Files of all values of a script, and further readers of its run.

use std::collections::BTreeMap;
use std::sync::Arc;

use conduct::failure::CommandResult;
use conduct::screen;
use conduct::stop_watch::EarlyEnd;
use conduct::tick_readers::MakeReaders;
use k6::outputs::{ValueFiles, ValueTarget, ValueTicks};
use k6::{LoadedScript, LogSink, ThresholdWatch, WatchedRun};

use super::command_line::refused;
use super::exchanges::ShownExchanges;

/// The files that the command line or the variable asks for.
pub(super) fn targets(
    flags: &[String],
    variables: &BTreeMap<String, String>,
) -> CommandResult<Vec<ValueTarget>> {
    k6::outputs::targets(flags, variables).map_err(refused)
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
pub(super) fn readers(
    loaded: &LoadedScript,
    log: LogSink,
    exchanges: Option<Arc<ShownExchanges>>,
) -> MakeReaders {
    let thresholds = loaded.thresholds.clone();
    let stop = loaded.threshold_stop.clone();
    let output = loaded.values.as_ref().map(ValueFiles::output);
    let tags = loaded.options.options.tags.clone().unwrap_or_default();
    Box::new(move |handles| {
        let ended_by = handles.ended_by.clone();
        let ended = Box::new(move |metrics| ended_by.set(EarlyEnd::Crossed(metrics)));
        let run = WatchedRun { loops: handles.loops, control: handles.control.clone(), ended };
        let watch = ThresholdWatch::new(&thresholds, run, stop, log).map(|watch| Box::new(watch) as _);
        let ticks = |output| ValueTicks::new(output, &tags, handles.loops, handles.clock.epoch_unix_ns());
        let values = output.map(|output| Box::new(ticks(output)) as _);
        let shown = exchanges.map(|exchanges| exchanges.reader());
        watch.into_iter().chain(values).chain(shown).collect()
    })
}
