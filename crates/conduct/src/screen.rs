//! Standard output and standard error. No other file writes to them; clap prints help and usage, see
//! `arguments::parse`. They take [`TerminalText`], in which the text of others is visible, and reports for programs, which
//! are checked once more.
//!
//! Standard error may be a terminal with a drawing that is updated in place. A message overwrites the drawing, so that
//! the two never mix; the next update draws it again below. While the whole screen is used ([`full`]), messages are kept
//! and printed when it is left.

pub(crate) mod full;

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

use evidence::{TerminalText, visible_lines};
use rustix::termios::{Winsize, tcgetwinsize};

/// Lines of the current drawing, the cursor at the end of the last. Changed only while standard error is locked.
static DRAWN_LINES: AtomicUsize = AtomicUsize::new(0);

/// Where the terminal's width is not known.
const WIDTH: usize = 100;
/// Narrower than this no table can be read; the terminal may wrap it.
const NARROWEST: usize = 40;

/// One of the two.
#[derive(Debug, Clone, Copy)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

impl Stream {
    /// Whether a terminal is behind it.
    pub fn is_terminal(self) -> bool {
        match self {
            Stream::Output => io::stdout().is_terminal(),
            Stream::Error => io::stderr().is_terminal(),
        }
    }

    /// How many lines its terminal has; none if that is not known.
    pub fn height(self) -> Option<usize> {
        self.size().map(|size| usize::from(size.ws_row)).filter(|rows| *rows > 0)
    }

    /// How many columns its terminal has, but no fewer than a table needs.
    pub fn width(self) -> usize {
        let from_environment = || std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        self.columns().or_else(from_environment).map_or(WIDTH, |columns| columns.max(NARROWEST))
    }

    /// How many columns its terminal has; none if that is not known.
    fn columns(self) -> Option<usize> {
        self.size().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0)
    }

    fn size(self) -> Option<Winsize> {
        match self {
            Stream::Output => tcgetwinsize(io::stdout()).ok(),
            Stream::Error => tcgetwinsize(io::stderr()).ok(),
        }
    }
}

/// Write text to standard output.
pub fn write(text: &TerminalText) -> io::Result<()> {
    write_all(text)
}

/// Write a report for a program or a browser to standard output. Reports contain no character that is not visible; one
/// that a report forgot is escaped here.
pub fn write_document(text: &str) -> io::Result<()> {
    write_all(&visible_lines(text))
}

/// Write everything that `from` has to standard output, for a program: it is not text.
pub fn write_stream(from: &mut impl Read) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    io::copy(from, &mut stdout)?;
    stdout.flush()
}

fn write_all(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Whether lines of standard error can be drawn over: it is a terminal that can move its cursor, and this its foreground.
pub(crate) fn is_drawable() -> bool {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    Stream::Error.is_terminal() && !is_dumb && full::is_in_foreground()
}

/// Draw `text` on standard error, over the current drawing.
pub fn draw(text: &TerminalText) -> io::Result<()> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    // Each line is cleared behind its text rather than before it, so that nothing flickers.
    let lines = text.replace('\n', "\x1b[K\n");
    put(&format!("{lines}\x1b[K\x1b[J"), text.split('\n').count())
}

/// Write `text`, which stays, to standard error, over the current drawing; without text the drawing is cleared. While the
/// whole screen is used it is kept for later.
pub fn print(text: &TerminalText) -> io::Result<()> {
    if full::keep(text) { Ok(()) } else { put(text, 0) }
}

/// A line on standard error. That it was closed is not a failure.
pub fn note(line: impl Display) {
    let _ = print(TerminalText::default().line(line));
}

/// Escape codes and visible text, as they are.
fn write_codes(codes: &str) -> io::Result<()> {
    let mut stderr = io::stderr().lock();
    stderr.write_all(codes.as_bytes())?;
    stderr.flush()
}

fn put(text: &str, drawn_lines: usize) -> io::Result<()> {
    let mut stderr = io::stderr().lock();
    let back = match DRAWN_LINES.swap(drawn_lines, Ordering::Relaxed) {
        0 => String::new(),
        1 => "\r".to_owned(),
        lines => format!("\r\x1b[{}A", lines - 1),
    };
    let clear = if back.is_empty() || drawn_lines > 0 { "" } else { "\x1b[J" };
    stderr.write_all(format!("{back}{clear}{text}").as_bytes())?;
    stderr.flush()
}
