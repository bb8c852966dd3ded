//! Text on standard output. That its reader has closed it is not a failure.

use std::io::{ErrorKind, Write};
use std::process::{Command, Stdio};

use evidence::TerminalText;
use report::Style;

use crate::failure::{CommandResult, Failure};
use crate::screen::{self, Stream};

/// The exit code of a shell that does not find its command.
const NOT_FOUND: i32 = 127;

/// How text for standard output is laid out: colours on terminals alone, and its width.
pub fn terminal() -> (Style, usize) {
    let is_coloured = Stream::Output.is_terminal() && std::env::var_os("NO_COLOR").is_none();
    (if is_coloured { Style::Colour } else { Style::Plain }, Stream::Output.width())
}

/// Text on standard output. That the reader closed it is not a failure.
pub fn print(text: &TerminalText) -> CommandResult<()> {
    written(screen::write(text))
}

/// Text on standard output, through the user's pager where it is longer than the terminal.
pub fn print_paged(text: &TerminalText) -> CommandResult<()> {
    let is_long = Stream::Output.height().is_some_and(|height| text.lines().count() >= height);
    if is_long && Stream::Output.is_terminal() && is_shown_by_pager(text) { Ok(()) } else { print(text) }
}

/// Whether `$PAGER`, or `less`, showed it: not where there is none.
fn is_shown_by_pager(text: &TerminalText) -> bool {
    let pager = std::env::var("PAGER").ok().filter(|pager| !pager.trim().is_empty());
    let mut command = Command::new("sh");
    command.args(["-c", &pager.unwrap_or_else(|| "less".to_owned())]).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        // Colours as they are, and no waiting where the text fits the screen.
        command.env("LESS", "-FRX");
    }
    let Ok(mut pager) = command.spawn() else { return false };
    if let Some(mut input) = pager.stdin.take() {
        // A reader that has seen enough closes it.
        let _ = input.write_all(text.as_bytes());
    }
    pager.wait().is_ok_and(|status| status.code() != Some(NOT_FOUND))
}

/// Prints a text that a program reads on standard output.
pub fn print_document(text: &str) -> CommandResult<()> {
    written(screen::write_document(text))
}

fn written(result: std::io::Result<()>) -> CommandResult<()> {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::own(anyhow::Error::new(error).context("cannot write to standard output")))
        }
        _ => Ok(()),
    }
}
