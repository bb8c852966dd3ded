//! The log of a script: printed by a thread of its own, so that no loop waits for a terminal.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use evidence::TerminalText;
use k6::{Level, LogLine, LogSink};

use crate::failure::{CommandResult, Failure};
use crate::screen;

/// How many lines may wait; what comes beyond is counted and left out.
const WAITING_LINES: usize = 10_000;

/// Prints the lines of a script.
pub(super) struct ScriptLog {
    lines: SyncSender<LogLine>,
    left_out: Arc<AtomicU64>,
    printer: JoinHandle<()>,
}

impl ScriptLog {
    pub(super) fn start() -> CommandResult<ScriptLog> {
        let (lines, printed) = sync_channel(WAITING_LINES);
        let printer =
            std::thread::Builder::new().name("script-log".to_owned()).spawn(move || print_all(&printed));
        Ok(ScriptLog { lines, left_out: Arc::default(), printer: printer.map_err(Failure::own)? })
    }

    /// Takes lines without waiting.
    pub(super) fn sink(&self) -> LogSink {
        let (lines, left_out) = (self.lines.clone(), self.left_out.clone());
        Arc::new(move |line| {
            if let Err(TrySendError::Full(_)) = lines.try_send(line) {
                left_out.fetch_add(1, Ordering::Relaxed);
            }
        })
    }

    /// Print what waits. Lines that are written later are left out.
    pub(super) fn end(self) {
        let ScriptLog { lines, left_out, printer } = self;
        let left_out = left_out.load(Ordering::Relaxed);
        if left_out > 0 {
            let text = format!(
                "{left_out} lines of the log came faster than they could be printed and were left out"
            );
            // The printer ends with the channel only.
            let _ = lines.send(LogLine { level: Level::Warning, text, fields: Vec::new() });
        }
        // An empty text without fields is no line of a script.
        let _ = lines.send(END);
        drop(lines);
        // That it could not print changes nothing.
        let _ = printer.join();
    }
}

/// Ends the printing, since virtual users that are still there hold the channel open.
const END: LogLine = LogLine { level: Level::Debug, text: String::new(), fields: Vec::new() };

fn print_all(lines: &Receiver<LogLine>) {
    for line in lines {
        if line == END {
            return;
        }
        let mut text = TerminalText::default();
        text.quote("", &shown(&line));
        // That standard error was closed is no failure.
        let _ = screen::print(&text);
    }
}

/// A line as k6 writes it to a terminal, without the time.
fn shown(line: &LogLine) -> String {
    let level = match line.level {
        Level::Debug => "DEBU",
        Level::Info => "INFO",
        Level::Warning => "WARN",
        Level::Error => "ERRO",
    };
    let fields: String =
        line.fields.iter().map(|(name, value)| format!(" {name}={}", quoted(value))).collect();
    format!("{level} {}{}{fields}", line.text, if fields.is_empty() { "" } else { " " })
}

fn quoted(value: &str) -> String {
    let is_plain = !value.is_empty()
        && value.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'=');
    if is_plain { value.to_owned() } else { format!("{value:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_level_and_its_fields() {
        let fields = vec![("source", "console".to_owned()), ("error", "a \"b\"".to_owned())];
        let line = LogLine { level: Level::Warning, text: "Request Failed".to_owned(), fields };
        assert_eq!(shown(&line), r#"WARN Request Failed  source=console error="a \"b\"""#);
    }
}
