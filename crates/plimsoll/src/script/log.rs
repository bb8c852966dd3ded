//! The log of a script: printed by a thread of its own, so that no loop waits for a terminal. When the log is dropped,
//! the lines that wait are printed, however its command ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use conduct::failure::{CommandResult, Failure};
use k6::{Level, LogLine, LogSink};

use super::log_output::LogOutput;

/// How many lines may wait; what comes beyond is counted and left out.
const WAITING_LINES: usize = 10_000;
/// How many bytes of text may wait before another line does: lines may be whole responses.
const WAITING_BYTES: usize = 16 << 20;

/// Whether lines of `console.debug` are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DebugLines {
    Printed,
    LeftOut,
}

/// Prints the lines of a script.
pub(super) struct ScriptLog {
    lines: SyncSender<LogLine>,
    debug_lines: DebugLines,
    waiting: Arc<Waiting>,
    /// Taken when the log is dropped.
    printer: Option<JoinHandle<()>>,
}

/// What is known of the lines that wait.
#[derive(Default)]
struct Waiting {
    bytes: AtomicUsize,
    /// Lines for which there was no space.
    left_out: AtomicU64,
}

impl Waiting {
    /// Take this line where there is space for it.
    fn send(&self, lines: &SyncSender<LogLine>, line: LogLine) {
        let bytes = bytes_of(&line);
        let has_space = self.bytes.fetch_add(bytes, Ordering::Relaxed) <= WAITING_BYTES;
        let is_left_out = !has_space || matches!(lines.try_send(line), Err(TrySendError::Full(_)));
        if is_left_out {
            self.bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn bytes_of(line: &LogLine) -> usize {
    line.text.len() + line.fields.iter().map(|(_, value)| value.len()).sum::<usize>()
}

impl ScriptLog {
    pub(super) fn start(debug_lines: DebugLines, output: LogOutput) -> CommandResult<ScriptLog> {
        let (lines, printed) = sync_channel(WAITING_LINES);
        let waiting = Arc::<Waiting>::default();
        let known = waiting.clone();
        let thread = std::thread::Builder::new().name("script-log".to_owned());
        let printer = thread.spawn(move || print_all(&printed, &known, output)).map_err(Failure::own)?;
        Ok(ScriptLog { lines, debug_lines, waiting, printer: Some(printer) })
    }

    /// Takes lines without waiting.
    pub(super) fn sink(&self) -> LogSink {
        let (lines, waiting) = (self.lines.clone(), self.waiting.clone());
        let is_quiet = self.debug_lines == DebugLines::LeftOut;
        Arc::new(move |line| {
            if !(is_quiet && line.level == Level::Debug) {
                waiting.send(&lines, line);
            }
        })
    }
}

impl Drop for ScriptLog {
    /// Print what waits. Lines that are written later are left out.
    fn drop(&mut self) {
        let left_out = self.waiting.left_out.load(Ordering::Relaxed);
        if left_out > 0 {
            let text = format!(
                "{left_out} lines of the log came faster than they could be printed and were left out"
            );
            self.waiting.bytes.fetch_add(text.len(), Ordering::Relaxed);
            // The printer ends with the channel only.
            let _ = self.lines.send(LogLine { level: Level::Warning, text, fields: Vec::new() });
        }
        // An empty text without fields is not a line of a script.
        let _ = self.lines.send(END);
        if let Some(printer) = self.printer.take() {
            // That it could not print changes nothing.
            let _ = printer.join();
        }
    }
}

/// Ends the printing, since virtual users that are still there hold the channel open.
const END: LogLine = LogLine { level: Level::Debug, text: String::new(), fields: Vec::new() };

fn print_all(lines: &Receiver<LogLine>, waiting: &Waiting, mut output: LogOutput) {
    let mut repeated = Repeated::default();
    for line in lines {
        if line == END {
            repeated.left_out().for_each(|line| output.write(&line));
            return output.end();
        }
        waiting.bytes.fetch_sub(bytes_of(&line), Ordering::Relaxed);
        if repeated.is_printed(&line) {
            output.write(&line);
        }
    }
}

/// Counts the warnings and errors of a run that are the same: a target that is gone makes one a request.
#[derive(Default)]
struct Repeated(Vec<(LogLine, u64)>);

impl Repeated {
    /// So many of one are printed.
    const PRINTED: u64 = 10;
    /// So many different ones are told apart; of others every line is printed.
    const DIFFERENT: usize = 100;

    /// Whether this line is printed. What a script prints by itself is not left out.
    fn is_printed(&mut self, line: &LogLine) -> bool {
        let is_own = line.fields.iter().any(|(name, value)| *name == "source" && value == "console");
        if is_own || !matches!(line.level, Level::Warning | Level::Error) {
            return true;
        }
        match self.0.iter_mut().find(|(known, _)| known == line) {
            Some((_, count)) => {
                *count += 1;
                *count <= Repeated::PRINTED
            }
            None => {
                if self.0.len() < Repeated::DIFFERENT {
                    self.0.push((line.clone(), 1));
                }
                true
            }
        }
    }

    /// What was left out, in the order in which it came first.
    fn left_out(&self) -> impl Iterator<Item = LogLine> {
        let more = self.0.iter().filter(|(_, count)| *count > Repeated::PRINTED);
        more.map(|(line, count)| {
            let text = format!("{} (and {} more like this)", line.text, count - Repeated::PRINTED);
            LogLine { text, ..line.clone() }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::log_line::shown;
    use super::*;

    #[test]
    fn long_lines_wait_as_far_as_there_is_space() {
        let waiting = Waiting::default();
        let (lines, printed) = sync_channel(WAITING_LINES);
        let line = || LogLine { level: Level::Info, text: "x".repeat(5 << 20), fields: Vec::new() };
        (0..6).for_each(|_| waiting.send(&lines, line()));
        assert_eq!((printed.try_iter().count(), waiting.left_out.load(Ordering::Relaxed)), (4, 2));
        assert_eq!(waiting.bytes.load(Ordering::Relaxed), 20 << 20);
    }

    #[test]
    fn repeated_warnings_are_printed_ten_times_and_counted() {
        let warning = |url: &str| LogLine {
            level: Level::Warning,
            text: "Request Failed".to_owned(),
            fields: vec![("error", format!("Get {url}: refused"))],
        };
        let own = LogLine { fields: vec![("source", "console".to_owned())], ..warning("/") };
        let mut repeated = Repeated::default();
        let lines = [warning("/a"), warning("/b"), own];
        let printed = lines.map(|line| (0..40).filter(|_| repeated.is_printed(&line)).count());
        assert_eq!(printed, [10, 10, 40]);
        let left_out: Vec<String> = repeated.left_out().map(|line| shown(&line)).collect();
        assert_eq!(
            left_out,
            [
                "WARN Request Failed (and 30 more like this)  error=\"Get /a: refused\"",
                "WARN Request Failed (and 30 more like this)  error=\"Get /b: refused\""
            ]
        );
    }
}
