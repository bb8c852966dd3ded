//! Text on standard output. That its reader has closed it is not a failure.

use std::io::ErrorKind;

use evidence::TerminalText;
use report::Style;

use crate::failure::{CommandResult, Failure};
use crate::screen::{self, Stream};

/// How text for standard output is laid out: colours on terminals alone, and its width.
pub fn terminal() -> (Style, usize) {
    let is_coloured = Stream::Output.is_terminal() && std::env::var_os("NO_COLOR").is_none();
    (if is_coloured { Style::Colour } else { Style::Plain }, Stream::Output.width())
}

/// Text on standard output. That the reader closed it is not a failure.
pub fn print(text: &TerminalText) -> CommandResult<()> {
    written(screen::write(text))
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
