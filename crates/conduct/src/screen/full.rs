//! The whole screen of a terminal, in its alternate buffer: entered, drawn on, and always left again. Keys come as they are
//! pressed and are not echoed; Ctrl-C, Ctrl-Z and Ctrl-\ stay signals. What is printed meanwhile is kept.

use std::collections::VecDeque;
use std::io;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use ::report::live::screen::ScreenSize;
use evidence::TerminalText;
use rustix::process::getpgrp;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
};

use super::{Stream, put, write_codes};

/// The alternate buffer, without a cursor, that breaks no lines itself.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";
/// A terminal that knows these shows what is between them at once.
const UPDATE: [&str; 2] = ["\x1b[?2026h", "\x1b[?2026l"];
/// How many of the last lines are known.
const MOST_RECENT: usize = 6;
/// The most bytes of messages that are kept.
const MOST_KEPT: usize = 1 << 20;

/// The screen while it is used. A thread that writes to it holds this.
static FULL: Mutex<Option<Full>> = Mutex::new(None);
/// What was printed while the screen is used. Never held while something is drawn, so that no message waits for a terminal.
static KEPT: Mutex<Option<Kept>> = Mutex::new(None);
/// The last lines that were printed, whether the screen was used or not.
static RECENT: Mutex<VecDeque<String>> = Mutex::new(VecDeque::new());
/// Whether it is never to be entered again.
static IS_OVER: AtomicBool = AtomicBool::new(false);

struct Full {
    /// How the terminal treated its input before.
    before: Termios,
    size: ScreenSize,
    /// The lines on the screen.
    shown: Vec<String>,
}

#[derive(Default)]
struct Kept {
    lines: VecDeque<String>,
    bytes: usize,
    /// How many lines were too many.
    left_out: u64,
}

/// Whether keys can be read and a screen be drawn: of a terminal, by the job in its foreground.
pub(crate) fn is_possible() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    !is_dumb && Stream::Error.is_terminal() && tcgetattr(io::stdin()).is_ok() && is_in_foreground()
}

/// Whether this process may read keys. One in the background is stopped when it does. A terminal that is not the one that
/// controls the process has no foreground.
pub(crate) fn is_in_foreground() -> bool {
    tcgetpgrp(io::stdin()).map_or(true, |foreground| foreground == getpgrp())
}

/// Take the screen; whether it is taken now.
pub(crate) fn enter() -> io::Result<bool> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |panicked| {
            leave_for_good();
            others(panicked);
        }));
    });
    let mut full = locked(&FULL);
    if full.is_some() || IS_OVER.load(Ordering::SeqCst) {
        return Ok(full.is_some());
    }
    let before = tcgetattr(io::stdin())?;
    tcsetattr(io::stdin(), OptionalActions::Now, &with_keys(before.clone()))?;
    *locked(&KEPT) = Some(Kept::default());
    *full = Some(Full { before, size: size(), shown: Vec::new() });
    // A line that is drawn over itself, or what was printed before, stays on the other buffer.
    write_codes(ENTER)?;
    Ok(true)
}

/// Keys as they are pressed, unseen. Ctrl-S stays a key: a terminal that was stopped would hold back every message.
fn with_keys(mut modes: Termios) -> Termios {
    modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    modes.input_modes.remove(InputModes::IXON);
    modes.special_codes[SpecialCodeIndex::VMIN] = 1;
    modes.special_codes[SpecialCodeIndex::VTIME] = 0;
    modes
}

/// Give the screen back as it was, and print what was kept.
pub(crate) fn leave() {
    let mut full = locked(&FULL);
    let Some(Full { before, .. }) = full.take() else { return };
    // Whatever fails here, the rest of it is tried.
    let _ = write_codes(LEAVE);
    if is_in_foreground() {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
    }
    let mut kept = locked(&KEPT);
    if let Some(kept) = kept.take() {
        let _ = put(&kept.text(), 0);
    }
}

/// The same, and never enter it again.
pub(crate) fn leave_for_good() {
    IS_OVER.store(true, Ordering::SeqCst);
    leave();
}

/// How large it is now.
pub(crate) fn size() -> ScreenSize {
    // Terminals that do not know their size are taken for the smallest that is common.
    ScreenSize { columns: Stream::Error.columns().unwrap_or(80), rows: Stream::Error.height().unwrap_or(24) }
}

/// Draw `text`, which has at most as many lines as the screen. Lines that are there already are not written again.
pub(crate) fn show(text: &TerminalText, size: ScreenSize) -> io::Result<()> {
    let mut full = locked(&FULL);
    let Some(full) = full.as_mut() else { return Ok(()) };
    let [begin, end] = UPDATE;
    let mut codes = begin.to_owned();
    if full.size != size {
        (full.size, full.shown) = (size, Vec::new());
        codes.push_str("\x1b[2J");
    }
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for row in 0..lines.len().max(full.shown.len()) {
        if lines.get(row) != full.shown.get(row) {
            let line = lines.get(row).map_or("", String::as_str);
            codes.push_str(&format!("\x1b[{};1H\x1b[K{line}", row + 1));
        }
    }
    full.shown = lines;
    codes.push_str(end);
    write_codes(&codes)
}

/// The last lines that were printed, without colours, those from before the screen was entered too.
pub(crate) fn recent() -> Vec<String> {
    locked(&RECENT).iter().map(|line| without_colours(line)).collect()
}

/// Keep `text` while the screen is used; whether that is so.
pub(super) fn keep(text: &TerminalText) -> bool {
    let mut recent = locked(&RECENT);
    recent.extend(text.lines().filter(|line| !is_continued(line)).map(str::to_owned));
    let dropped = recent.len().saturating_sub(MOST_RECENT);
    recent.drain(..dropped);
    drop(recent);
    let mut kept = locked(&KEPT);
    let Some(kept) = kept.as_mut() else { return false };
    text.lines().for_each(|line| kept.add(line));
    true
}

/// Whether a line says more of the one before it, such as where an exception was thrown.
fn is_continued(line: &str) -> bool {
    line.starts_with([' ', '\t']) || line.starts_with("\\t")
}

impl Kept {
    fn add(&mut self, line: &str) {
        self.bytes += line.len() + 1;
        self.lines.push_back(line.to_owned());
        while self.bytes > MOST_KEPT {
            let Some(first) = self.lines.pop_front() else { break };
            self.bytes -= first.len() + 1;
            self.left_out += 1;
        }
    }

    fn text(&self) -> String {
        let mut text = TerminalText::default();
        if self.left_out > 0 {
            text.line(format_args!("{} earlier lines were not kept", self.left_out));
        }
        self.lines.iter().fold(text.to_string(), |text, line| text + line + "\n")
    }
}

/// A line of terminal text without its escape codes, of which it has only those of colours.
fn without_colours(line: &str) -> String {
    let mut pieces = line.split('\x1b');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| text + piece.split_once('m').map_or(piece, |(_, rest)| rest))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read as _;
    use std::process::Command;

    use rustix::fs::{Mode, OFlags, open};
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    use super::*;
    use crate::screen::note;

    const PANICS: &str = "PLIMSOLL_TEST_PANICS_ON_THE_SCREEN";

    /// This test in a separate process, on its own terminal.
    #[test]
    fn a_panic_gives_the_terminal_back_before_it_says_why() {
        if std::env::var_os(PANICS).is_some() {
            assert!(enter().unwrap());
            note("said meanwhile");
            panic!("it broke");
        }
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let theirs = open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let before = tcgetattr(&theirs).unwrap();
        let end = || theirs.try_clone().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "--nocapture",
                "screen::full::tests::a_panic_gives_the_terminal_back_before_it_says_why",
            ])
            .envs([(PANICS, "1"), ("RUST_BACKTRACE", "0")])
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        assert!(!child.wait().unwrap().success());
        assert_eq!(tcgetattr(&theirs).unwrap().local_modes, before.local_modes);
        drop(theirs);
        let (mut ours, mut seen) = (File::from(ours), Vec::new());
        // Once the other end is closed, reading fails.
        let _ = ours.read_to_end(&mut seen);
        let seen = String::from_utf8_lossy(&seen);
        let places = [ENTER, LEAVE, "said meanwhile", "it broke"].map(|text| seen.find(text));
        assert!(places.is_sorted() && places[0].is_some(), "{places:?}: {seen:?}");
    }

    #[test]
    fn colours_are_all_that_a_kept_line_loses() {
        let mut text = TerminalText::default();
        text.piece("\x1b[31m", "red \u{1b}[2J").piece("", " and m plain").end_line();
        assert_eq!(without_colours(text.trim_end()), "red \\u{1b}[2J and m plain");
    }

    #[test]
    fn of_an_exception_the_screen_shows_what_was_thrown() {
        let lines = ["ERRO Error: boom", "\\tat default (script.js:3:9)", "  at f"];
        assert_eq!(lines.map(is_continued), [false, true, true]);
    }

    #[test]
    fn messages_are_kept_up_to_a_limit_and_what_is_left_out_is_said() {
        let mut kept = Kept::default();
        let line = "x".repeat(1_000);
        (0..2_000).for_each(|_| kept.add(&line));
        let text = kept.text();
        let left_out = 2_000 - MOST_KEPT / 1_001;
        assert_eq!(text.lines().next(), Some(format!("{left_out} earlier lines were not kept").as_str()));
        assert_eq!(text.lines().count(), MOST_KEPT / 1_001 + 1);
    }
}
