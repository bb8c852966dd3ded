//! What a script's run came to, in k6's terms: its metrics, its thresholds, its exit code.

use ::report::Summary;
use anyhow::anyhow;
use archive::Stored;
use evidence::metric::MetricSums;
use evidence::{Ending, Judgement, Run, TerminalText, Verdict};
use k6::summary::{
    Colours, Contains, MetricDefinition, MetricThresholds, RunRecord, RunState, Series, SummaryData,
    SummaryOptions, Threshold, handle_summary, summary_export, summary_text,
};
use k6::{BUILTINS, Contains as Amount, Level, LogLine, LogSink, Script, SummaryOutput};

use super::LoadedScript;
use super::coloured::coloured;
use super::derived::{self, SeriesSums};
use super::policy;
use super::thresholds::Part;
use crate::arguments::ScriptArguments;
use crate::failure::{CommandResult, Failure};
use crate::outputs;
use crate::recording::SealedRun;
use crate::screen::Stream;

/// A threshold did not hold.
const CROSSED: u8 = 99;
/// Ended by `exec.test.abort`.
pub(super) const ABORTED: u8 = 108;
/// Marked as failed by `exec.test.fail`.
const MARKED_FAILED: u8 = 110;
/// Ended by a signal.
pub(super) const SIGNALLED: u8 = 105;

/// What a script's run came to.
pub(super) struct ScriptOutcome {
    summary: SummaryData,
    crossed: Vec<String>,
    /// Why the script ended its run, if it did.
    aborted: Option<String>,
    is_marked_failed: bool,
    has_whole_iterations: bool,
    /// Whether thresholds or an objective of the policy have ended the run, which was said then.
    was_stopped: bool,
}

/// What a run came to.
pub(super) fn of(sealed: &SealedRun, loaded: &LoadedScript) -> CommandResult<ScriptOutcome> {
    let run = Stored::open(sealed.path()).map_err(Failure::usage)?;
    let mut sums = sums(&run)?;
    sums.extend(derived::of(&run, loaded)?);
    // What the judge divides by, so that no claim contradicts k6's mark beside it.
    let duration = run.recorded();
    let thresholds: Vec<MetricThresholds> = loaded
        .thresholds
        .iter()
        .map(|of| {
            let part = Part { kind: of.kind, sums: part(&sums, of), duration };
            let thresholds = of
                .thresholds
                .iter()
                .map(|threshold| Threshold { source: threshold.source.clone(), ok: part.meets(threshold) });
            MetricThresholds { metric: of.source.clone(), thresholds: thresholds.collect() }
        })
        .collect();
    let crossed = thresholds
        .iter()
        .filter(|of| of.thresholds.iter().any(|threshold| !threshold.ok))
        .map(|of| of.metric.clone())
        .collect();
    let series: Vec<Series<'_, MetricSums>> =
        sums.iter().map(|(metric, tags, sums)| Series { metric, tags, sums }).collect();
    let record = RunRecord {
        definitions: &definitions(&loaded.script),
        series: &series,
        thresholds: &thresholds,
        state: RunState {
            stdout_is_terminal: Stream::Output.is_terminal(),
            stderr_is_terminal: Stream::Error.is_terminal(),
            duration_ms: duration.as_secs_f64() * 1e3,
        },
        options: summary_options(loaded),
        setup_data: loaded.script.setup_data().and_then(|json| serde_json::from_str(json).ok()),
    };
    let has_whole_iterations = sums.iter().any(|(metric, ..)| **metric == *"iterations");
    let requests = loaded.script.requests();
    let aborted = requests.abort_message().map(str::to_owned);
    Ok(ScriptOutcome {
        summary: record.summary(),
        crossed,
        aborted,
        is_marked_failed: requests.is_marked_failed(),
        has_whole_iterations,
        was_stopped: loaded.threshold_stop.has_stopped() || was_stopped_by_policy(&run),
    })
}

/// Whether an objective of the policy with `abort_on` has ended the run. Its verdict may still be open.
fn was_stopped_by_policy(run: &Stored) -> bool {
    run.end().is_some_and(|end| matches!(end.ending, Ending::Stopped(_)))
}

fn sums(run: &Stored) -> CommandResult<SeriesSums> {
    let mut all: SeriesSums = Vec::new();
    for (id, key) in run.metrics() {
        let sums = run.metric(*id, run.whole()).map_err(Failure::own)?;
        match all.iter_mut().find(|(name, tags, _)| *name == key.name && *tags == key.tags) {
            Some((_, _, known)) => known.merge(&sums),
            None => all.push((key.name.clone(), key.tags.clone(), sums)),
        }
    }
    Ok(all)
}

/// The values that a threshold is about.
fn part(sums: &SeriesSums, of: &k6::options::thresholds::MetricThresholds) -> MetricSums {
    let mut part = MetricSums::default();
    for (name, tags, sums) in sums {
        let value_of = |name: &str| tags.get(name).map(|value| &**value);
        if **name == *of.selector.name && of.selector.matches(value_of) {
            part.merge(sums);
        }
    }
    part
}

/// Every metric that there is.
pub(super) fn definitions(script: &Script) -> Vec<MetricDefinition> {
    let contains = |amount: Amount| match amount {
        Amount::Default => Contains::Default,
        Amount::Time => Contains::Time,
        Amount::Data => Contains::Data,
    };
    let own = script.metrics().iter().map(|(name, kind, amount)| (name.as_str(), *kind, *amount));
    let derived = derived::DERIVED.iter().map(|(name, kind)| (*name, *kind, Amount::Default));
    let all = BUILTINS.iter().copied().chain(derived).chain(own);
    all.map(|(name, kind, amount)| MetricDefinition {
        name: name.to_owned(),
        kind,
        contains: contains(amount),
    })
    .collect()
}

fn summary_options(loaded: &LoadedScript) -> SummaryOptions {
    let options = &loaded.options.options;
    let trend_stats = options.trend_statistics().iter().map(ToString::to_string).collect();
    SummaryOptions { trend_stats, time_unit: options.summary_time_unit, no_color: false }
}

/// The report without the metrics that k6's summary has shown.
pub(super) fn without_own_metrics(mut summary: Summary) -> Summary {
    summary.metrics.clear();
    summary
}

/// A text of a script, which reaches the terminal in its visible form.
fn quoted(text: &str) -> TerminalText {
    let mut terminal = TerminalText::default();
    terminal.quote("", text);
    terminal
}

/// A text without the escapes that colour it, which summaries have unless they are asked for without.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        match rest.strip_prefix('m') {
            Some(rest) => plain.push_str(rest),
            None => plain.extend(["\x1b[", part]),
        }
    }
    plain
}

/// A text as standard output shows it.
fn shown(text: &str, colours: Colours) -> TerminalText {
    match colours {
        Colours::On => coloured(text),
        Colours::Off => quoted(&without_colours(text)),
    }
}

/// Whether summaries have colours: on a terminal, unless they are not to.
fn colours(arguments: &ScriptArguments) -> Colours {
    let is_coloured = Stream::Output.is_terminal() && !arguments.foreign.no_color;
    if is_coloured { Colours::On } else { Colours::Off }
}

/// Put what `handleSummary` has made where it says.
fn put(made: &SummaryOutput, colours: Colours) -> CommandResult<()> {
    let text = String::from_utf8_lossy(&made.content);
    match made.name.as_str() {
        "stdout" => outputs::print(&shown(&text, colours)),
        "stderr" => {
            outputs::note(&*shown(&text, Colours::Off));
            Ok(())
        }
        path => std::fs::write(path, &made.content)
            .map_err(|error| Failure::own(anyhow!("handleSummary(): cannot write {path}: {error}"))),
    }
}

impl ScriptOutcome {
    /// What the log says of a run that came to its end.
    pub(super) fn warning(&self) -> Option<LogLine> {
        let is_too_short = !self.has_whole_iterations && self.aborted.is_none() && !self.was_stopped;
        is_too_short.then(|| LogLine {
            level: Level::Warning,
            text: "No script iterations fully finished, consider making the test duration longer".to_owned(),
            fields: Vec::new(),
        })
    }

    /// Show and export the summary, as far as that is asked for.
    pub(super) fn write(
        &self,
        arguments: &ScriptArguments,
        loaded: &LoadedScript,
        log: &LogSink,
    ) -> CommandResult<()> {
        if let Some(path) = &arguments.summary_export {
            let json = serde_json::to_string_pretty(&summary_export(&self.summary)).map_err(Failure::own)?;
            outputs::put(path, &json)?;
        }
        let colours = colours(arguments);
        if arguments.no_summary {
            return Ok(());
        }
        match loaded.script.handle_summary(&handle_summary(&self.summary), log) {
            Ok(Some(made)) => return made.iter().try_for_each(|made| put(made, colours)),
            Ok(None) => {}
            Err(error) => outputs::note(format_args!("handleSummary() failed: {error}")),
        }
        let mode = arguments.summary_mode.unwrap_or_default();
        outputs::print(&shown(&summary_text(&self.summary, mode, colours), colours))
    }

    /// k6's exit code; where that is 0, that of `own`, if it is not to be k6's in any case.
    pub(super) fn exit_code(&self, judgement: &Judgement, was_interrupted: bool, own: Option<Verdict>) -> u8 {
        if let Some(why) = &self.aborted {
            outputs::note(why);
            return ABORTED;
        }
        if self.was_stopped {
            return CROSSED;
        }
        // The thresholds of a run that a signal cut short are shown, and decide nothing, as in k6.
        if was_interrupted {
            return SIGNALLED;
        }
        if self.is_marked_failed {
            return MARKED_FAILED;
        }
        if !self.crossed.is_empty() {
            outputs::note(format_args!(
                "thresholds on metrics '{}' have been crossed",
                self.crossed.join(", ")
            ));
            return CROSSED;
        }
        if !policy::violated(judgement).is_empty() {
            return CROSSED;
        }
        let Some(own) = own else { return 0 };
        let code = ::judge::exit_code(own);
        outputs::note(format_args!("exit code {code}, of k6 0 (--k6-exit-codes): {}", judgement.because));
        code
    }
}
