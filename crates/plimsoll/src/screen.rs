//! Standard error as a terminal on which something stands for a while and is drawn over: what is said meanwhile
//! takes its place, so that neither runs into the other.

use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Lines that stand there for now, the cursor at the end of the last. Changed only while standard error is locked.
static STANDING: AtomicUsize = AtomicUsize::new(0);

/// Draw `text`, which ends without a newline, over what stands there.
pub(crate) fn draw(text: &str) -> io::Result<()> {
    // Each line is cleared behind its text rather than before it, so that nothing flickers.
    let lines = text.replace('\n', "\x1b[K\n");
    put(&format!("{lines}\x1b[K\x1b[J"), text.split('\n').count())
}

/// Write `text`, which stays, in the place of what stands there.
pub(crate) fn say(text: &str) -> io::Result<()> {
    put(text, 0)
}

fn put(text: &str, standing: usize) -> io::Result<()> {
    let mut stderr = io::stderr().lock();
    let back = match STANDING.swap(standing, Ordering::Relaxed) {
        0 => String::new(),
        1 => "\r".to_owned(),
        lines => format!("\r\x1b[{}A", lines - 1),
    };
    let clear = if back.is_empty() || standing > 0 { "" } else { "\x1b[J" };
    stderr.write_all(format!("{back}{clear}{text}").as_bytes())?;
    stderr.flush()
}
