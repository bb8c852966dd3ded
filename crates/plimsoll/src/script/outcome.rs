//! What a script's run came to, in k6's terms: its metrics, its thresholds, its exit code.

use ::report::Summary;
use archive::Stored;
use conduct::failure::{CommandResult, Failure};
use conduct::recording::SealedRun;
use conduct::screen::{self, Stream};
use conduct::standard_output;
use engine::DryRun;
use evidence::{Ending, Judgement, RuleId, Run, TerminalText, Verdict};
use k6::results::{FinishedScript, RunResults, Terminals};
use k6::summary::{Colours, handle_summary, summary_export, summary_text};
use k6::{Level, LogLine, LogSink, SummaryOutput};

use super::coloured::coloured;
use super::policy;
use crate::arguments::ScriptArguments;
use crate::outputs;
use k6::LoadedScript;

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
    results: RunResults,
    /// Why the script ended its run, if it did.
    aborted: Option<String>,
    is_marked_failed: bool,
    /// Whether thresholds or an objective of the policy have ended the run, which was said then.
    was_stopped: bool,
}

/// How the process ends.
pub(super) struct Exit {
    pub(super) code: u8,
    /// What is said of it, where the report does not say it.
    pub(super) because: Option<String>,
}

impl From<u8> for Exit {
    fn from(code: u8) -> Exit {
        Exit { code, because: None }
    }
}

/// What a run came to.
pub(super) fn of(sealed: &SealedRun, loaded: &LoadedScript) -> CommandResult<ScriptOutcome> {
    let run = Stored::open(sealed.path()).map_err(Failure::usage)?;
    let script =
        FinishedScript { script: &loaded.script, options: &loaded.options, thresholds: &loaded.thresholds };
    let terminals = Terminals { stdout: Stream::Output.is_terminal(), stderr: Stream::Error.is_terminal() };
    let results = RunResults::read(&run, script, terminals).map_err(Failure::own)?;
    let requests = loaded.script.requests();
    Ok(ScriptOutcome {
        results,
        aborted: requests.abort_message().map(str::to_owned),
        is_marked_failed: requests.is_marked_failed(),
        was_stopped: loaded.threshold_stop.has_stopped() || was_stopped_by_policy(&run),
    })
}

/// Whether an objective of the policy with `abort_on` has ended the run. Its verdict may still be open.
fn was_stopped_by_policy(run: &Stored) -> bool {
    run.end().is_some_and(|end| matches!(end.ending, Ending::Stopped(_)))
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
        "stdout" => standard_output::print(&shown(&text, colours)),
        "stderr" => {
            // That it was closed is not a failure.
            let _ = screen::print(&shown(&text, Colours::Off));
            Ok(())
        }
        // As in k6 that changes no exit code.
        path => {
            if let Err(error) = std::fs::write(path, &made.content) {
                screen::note(format_args!("handleSummary(): cannot write {path}: {error}"));
            }
            Ok(())
        }
    }
}

impl ScriptOutcome {
    /// What the log says of a run that came to its end.
    pub(super) fn warning(&self) -> Option<LogLine> {
        let is_too_short = !self.results.has_whole_iterations && self.aborted.is_none() && !self.was_stopped;
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
        after: Option<&DryRun>,
        log: &LogSink,
    ) -> CommandResult<()> {
        if let Some(path) = &arguments.summary_export {
            let json =
                serde_json::to_string_pretty(&summary_export(&self.results.summary)).map_err(Failure::own)?;
            outputs::put(path, &json)?;
        }
        let colours = colours(arguments);
        if arguments.no_summary {
            return Ok(());
        }
        let data = handle_summary(&self.results.summary);
        match after.map(|after| loaded.script.handle_summary(&data, after, log)) {
            Some(Ok(Some(made))) => return made.iter().try_for_each(|made| put(made, colours)),
            Some(Ok(None)) | None => {}
            Some(Err(error)) => screen::note(format_args!("handleSummary() failed: {error}")),
        }
        let mode = arguments.summary_mode.unwrap_or_default();
        standard_output::print(&shown(&summary_text(&self.results.summary, mode, colours), colours))
    }

    /// k6's exit code; where that is 0, that of `own`, if it is not to be k6's in any case.
    pub(super) fn exit(&self, judgement: &Judgement, was_interrupted: bool, own: Option<Verdict>) -> Exit {
        if let Some(why) = &self.aborted {
            return Exit { code: ABORTED, because: Some(why.clone()) };
        }
        // What a worker that vanished did not send says nothing of the target.
        if judgement.findings.iter().any(|finding| finding.rule == RuleId::W1)
            && own == Some(Verdict::Invalid)
        {
            return Exit::from(::judge::exit_code(Verdict::Invalid));
        }
        if self.was_stopped {
            return Exit::from(CROSSED);
        }
        // The thresholds of a run that a signal cut short are shown, and decide nothing, as in k6.
        if was_interrupted {
            return Exit::from(SIGNALLED);
        }
        if self.is_marked_failed {
            return Exit::from(MARKED_FAILED);
        }
        if !self.results.crossed.is_empty() {
            let crossed = self.results.crossed.join(", ");
            let because = format!("thresholds on metrics '{crossed}' have been crossed");
            return Exit { code: CROSSED, because: Some(because) };
        }
        if !policy::violated(judgement).is_empty() {
            return Exit::from(CROSSED);
        }
        let Some(own) = own else { return Exit::from(0) };
        let code = ::judge::exit_code(own);
        let because = format!(
            "exit code {code} (k6 would have exited with 0, because no threshold was crossed; so does --k6-exit-codes): {}",
            judgement.because
        );
        Exit { code, because: Some(because) }
    }
}
