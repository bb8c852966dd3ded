//! Standard error as a terminal with a drawing that is updated in place. A message overwrites the drawing, so that the
//! two never mix; the next update draws it again below.

use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Lines of the current drawing, the cursor at the end of the last. Changed only while standard error is locked.
static DRAWN_LINES: AtomicUsize = AtomicUsize::new(0);

/// Draw `text`, which ends without a newline, over the current drawing.
pub(crate) fn draw(text: &str) -> io::Result<()> {
    // Each line is cleared behind its text rather than before it, so that nothing flickers.
    let lines = text.replace('\n', "\x1b[K\n");
    put(&format!("{lines}\x1b[K\x1b[J"), text.split('\n').count())
}

/// Write `text`, which stays, over the current drawing.
pub(crate) fn print(text: &str) -> io::Result<()> {
    put(text, 0)
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
