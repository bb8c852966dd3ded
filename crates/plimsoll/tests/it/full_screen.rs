//! The live display on a real terminal: keys, sizes, signals, and that the terminal is given back as it was.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, Termios, Winsize, tcgetattr, tcsetwinsize};
use tempfile::TempDir;
use testbed::{Behaviour, Target};

use crate::command::{HANG, open};
use crate::terminal::{screen, terminal};
use crate::workers::worker_pids;

const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";

/// A run on its own terminal, whose user is the test.
struct Session {
    child: Child,
    ours: File,
    /// Kept open, so that its modes can be read when the run is over.
    theirs: OwnedFd,
    before: Termios,
    seen: Vec<u8>,
    folder: TempDir,
}

impl Session {
    /// A run of 200 requests a second for so many seconds, on a screen of 80 × 24.
    fn of(target: &Target, seconds: u32, settings: &[(&str, &str)]) -> Session {
        let folder = TempDir::new().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command.args([
            "http",
            &format!("http://{}/", target.addr()),
            "-r",
            "200",
            "-z",
            &format!("{seconds}s"),
        ]);
        command.args(["--no-precheck", "--objective", "p95(all) < 1s"]).envs(settings.iter().copied());
        Session::start(command, folder)
    }

    fn start(mut command: Command, folder: TempDir) -> Session {
        let (ours, theirs) = terminal();
        tcsetwinsize(&theirs, Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let before = tcgetattr(&theirs).unwrap();
        let end = || theirs.try_clone().unwrap();
        // In a separate process group, whose parent is this test: the kernel does not stop an orphaned group.
        command.process_group(0);
        let child =
            command.current_dir(folder.path()).stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        Session { child, ours: File::from(ours), theirs, before, seen: Vec::new(), folder }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.seen).into_owned()
    }

    /// Reads what came until `is` holds.
    fn until(&mut self, what: &str, is: impl Fn(&Session) -> bool) {
        while !is(self) {
            assert!(self.read(HANG), "{what} never came: {:?}\n{:#?}", self.text(), self.lines());
        }
    }

    /// Reads once; whether anything came in time.
    fn read(&mut self, limit: Duration) -> bool {
        let mut ends = [PollFd::new(&self.ours, PollFlags::IN)];
        let limit = Timespec::try_from(limit).unwrap();
        if poll(&mut ends, Some(&limit)).unwrap() == 0 {
            return false;
        }
        let mut buffer = [0; 65_536];
        let read = self.ours.read(&mut buffer).unwrap();
        self.seen.extend_from_slice(&buffer[..read]);
        true
    }

    fn press(&mut self, keys: &str) {
        self.ours.write_all(keys.as_bytes()).unwrap();
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until the run is on the screen.
    fn until_shown(&mut self) {
        self.until("the screen", |session| session.shows("response times of all endpoints"));
    }

    fn shows(&self, text: &str) -> bool {
        self.lines().iter().any(|line| line.contains(text))
    }

    /// The lines on the screen; none while it is not taken.
    fn lines(&self) -> Vec<String> {
        let text = self.text();
        match (text.rfind(ENTER), text.rfind(LEAVE)) {
            (Some(entered), left) if left.is_none_or(|left| left < entered) => picture(&text[entered..]),
            _ => Vec::new(),
        }
    }

    fn has_modes_of_before(&self) -> bool {
        let now = tcgetattr(&self.theirs).unwrap();
        (now.local_modes, now.input_modes) == (self.before.local_modes, self.before.input_modes)
    }

    /// Waits for the end of the run; what is on the main screen then, and its exit code.
    fn end(mut self) -> (Vec<String>, Option<i32>) {
        let code = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status.code(),
                None => drop(self.read(Duration::from_millis(100))),
            }
        };
        while self.read(Duration::ZERO) {}
        assert!(self.has_modes_of_before(), "{:?}", tcgetattr(&self.theirs).unwrap());
        let text = self.text();
        assert_eq!(text.matches(ENTER).count(), text.matches(LEAVE).count(), "{text:?}");
        for [on, off] in [["\x1b[?25l", "\x1b[?25h"], ["\x1b[?7l", "\x1b[?7h"]] {
            assert!(text.rfind(on) <= text.rfind(off), "{on:?} is undone: {text:?}");
        }
        let mut main = String::new();
        for (at, part) in text.split(ENTER).enumerate() {
            main += if at == 0 { part } else { part.split_once(LEAVE).unwrap().1 };
        }
        (screen(&main), code)
    }
}

/// The lines of a screen after these bytes, which move the cursor to a line's begin, clear and write.
fn picture(bytes: &str) -> Vec<String> {
    let (mut lines, mut row, mut column) = (Vec::<Vec<char>>::new(), 0, 0);
    let mut rest = bytes.chars();
    while let Some(c) = rest.next() {
        if c != '\x1b' {
            if lines.len() <= row {
                lines.resize(row + 1, Vec::new());
            }
            let width = lines[row].len().max(column + 1);
            lines[row].resize(width, ' ');
            lines[row][column] = c;
            column += 1;
            continue;
        }
        let mut sequence = String::new();
        while !sequence.ends_with(|c: char| c.is_ascii_alphabetic()) {
            let Some(c) = rest.next() else { return Vec::new() };
            sequence.push(c);
        }
        // A line is gone to, then cleared.
        if let Some(line) = sequence.strip_prefix('[').and_then(|rest| rest.strip_suffix(";1H")) {
            (row, column) = (line.parse::<usize>().unwrap() - 1, 0);
            lines.resize(lines.len().max(row + 1), Vec::new());
            lines[row].clear();
        } else if sequence == "[2J" {
            lines.clear();
        }
    }
    lines.into_iter().map(|line| line.into_iter().collect()).collect()
}

#[test]
fn the_screen_is_taken_and_given_back_and_the_report_follows() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let mut session = Session::of(&target, 7, &[]);
    session.until_shown();
    assert!(!session.has_modes_of_before(), "keys come as they are pressed");
    session.until("the objective and the keys", |session| {
        session.shows("p95(all) < 1s") && session.shows("q stop")
    });
    let (left, code) = session.end();
    assert_eq!(code, Some(0), "{left:#?}");
    assert!(left.iter().any(|line| line.contains("PASS")), "{left:#?}");
    assert!(left.iter().all(|line| !line.contains("response times of")), "{left:#?}");
}

#[test]
fn a_key_leaves_the_help_and_what_it_changes_is_seen() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let mut session = Session::of(&target, 30, &[]);
    session.until_shown();
    session.press("?");
    session.until("the help", |session| session.shows(" Keys") && session.shows("? back"));
    session.press("p");
    session.until("the pause", |session| session.shows(" PAUSED") && !session.shows(" Keys"));
    session.press("qq");
    session.end();
}

#[test]
fn a_killed_worker_is_on_the_screen_while_the_run_goes_on_and_the_judge_agrees() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TempDir::new().unwrap();
    let plan = open(target.addr(), 60) + "[objectives]\nfew = \"error_rate(all) < 50%\"\n";
    fs::write(folder.path().join("plan.toml"), plan).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(["run", "plan.toml", "--workers", "3", "-o", "run.plimsoll"]);
    let mut session = Session::start(command, folder);
    session.until_shown();
    let killed = worker_pids(&session.folder.path().join("run.plimsoll"))[0];
    kill_process(killed, Signal::KILL).unwrap();
    session.until("the worker", |session| session.shows(" ✗ worker 1 (127.0.0.1:"));
    session.until("what follows", |session| session.shows("no objective on this load can be met (L1, W1)"));
    session.press("q");
    session.until("the question", |session| session.shows("An incomplete run cannot pass."));
    session.press("x");
    session.until("the load going on", |session| session.shows("q stop  p pause"));
    session.press("qq");
    let (left, code) = session.end();
    assert_eq!(code, Some(5), "{left:#?}");
    assert!(left.iter().any(|line| line.contains("INVALID")), "{left:#?}");
}

#[test]
fn the_check_before_the_load_says_which_step_it_sends() {
    let target = testbed::http(Behaviour::after(Duration::from_millis(1_500))).unwrap();
    let url = format!("http://{}/", target.addr());
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(["http", &url, "-r", "5", "-z", "1s"]);
    let mut session = Session::start(command, TempDir::new().unwrap());
    session.until("the step", |session| session.text().contains("checking before the load: GET / (1 of 1)"));
    let (left, _) = session.end();
    for gone in ["checking before the load", "the load begins"] {
        assert!(left.iter().all(|line| !line.contains(gone)), "{left:#?}");
    }
    // Where no line can be drawn over, it is written once it takes a second.
    let folder = TempDir::new().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(["http", &url, "-r", "5", "-z", "1s"]).current_dir(folder.path());
    let stderr = String::from_utf8(command.output().unwrap().stderr).unwrap();
    let lines = stderr.lines().filter(|line| *line == "checking before the load: GET / (1 of 1)");
    assert_eq!(lines.count(), 1, "{stderr}");
}

#[test]
fn keys_and_the_size_change_what_is_shown_and_a_mark_is_in_the_report() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let mut session = Session::of(&target, 60, &[("NO_COLOR", "1")]);
    session.until_shown();
    session.press("j");
    session.until("the endpoint", |session| session.shows("response times of GET /, 1 s"));
    session.press("\x1b[A+");
    session.until("scale and all", |session| session.shows("response times of all endpoints, 5 s"));
    session.press("?");
    session.until("the help", |session| session.shows("freeze the screen, never the load"));
    session.press("?m");
    session.until("the mark", |session| session.shows("marked") && session.shows("mark 1 at"));
    tcsetwinsize(&session.theirs, Winsize { ws_row: 60, ws_col: 200, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    session.signal(Signal::WINCH);
    session.until("the larger screen", |session| {
        session.lines().len() == 60
            && session.lines().iter().any(|line| line.trim_end().chars().count() > 150)
    });
    assert!(!session.text().contains("\x1b[38;5;"), "no colours are asked for");
    session.press("q");
    session.until("the question", |session| session.shows("An incomplete run cannot pass."));
    session.press("q");
    let (left, code) = session.end();
    assert_eq!(code, Some(4), "an interrupted run decides nothing: {left:#?}");
    let said = left.iter().find_map(|line| line.strip_prefix("mark 1 at ")).expect("messages are kept");
    let of_report = left.iter().find_map(|line| line.strip_prefix("1 · ")).expect("the report has the mark");
    assert!(of_report.starts_with(&format!("{said} ")), "one format of time: {said} and {of_report}");
    assert!(left.iter().any(|line| line.starts_with("stopping: no new arrivals")), "{left:#?}");
}

#[test]
fn pause_freezes_the_screen_and_never_the_load() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let mut session = Session::of(&target, 60, &[]);
    session.until_shown();
    session.press("p");
    session.until("the pause", |session| session.shows("PAUSED"));
    let (lines, served) = (session.lines(), target.log().len());
    // The target's own log: three seconds of load, in each of which the screen would be drawn.
    assert!(target.wait_for(HANG, |log| log.len() >= served + 600), "the load goes on");
    while session.read(Duration::ZERO) {}
    assert_eq!(session.lines(), lines);
    session.press("+");
    session.until("another scale of the same second", |session| session.shows("all endpoints, 5 s"));
    assert_eq!(session.lines()[..7], lines[..7], "the head and the table are those of the pause");
    session.press("p");
    session
        .until("the end of the pause", |session| !session.shows("PAUSED") && session.lines()[0] != lines[0]);
    session.signal(Signal::INT);
    assert_eq!(session.end().1, Some(4));
}

#[test]
fn however_a_run_is_ended_the_terminal_is_given_back() {
    for (signals, code) in [
        (&[Signal::INT] as &[Signal], Some(4)),
        (&[Signal::TERM], Some(4)),
        (&[Signal::INT, Signal::INT], Some(4)),
        // These end the process as they end any other.
        (&[Signal::QUIT], None),
        (&[Signal::HUP], None),
    ] {
        // The second signal is about what is still in flight.
        let delay = Duration::from_millis(if signals.len() > 1 { 30_000 } else { 200 });
        let target = testbed::http(Behaviour::after(delay)).unwrap();
        let mut session = Session::of(&target, 60, &[]);
        session.until_shown();
        for signal in signals {
            let (before, first) = (session.seen.len(), session.shows("stopping"));
            session.signal(*signal);
            if code.is_some() && !first {
                session.until("an answer", |session| {
                    session.seen.len() > before && session.text().contains("stopping")
                });
            }
        }
        let (left, ended) = session.end();
        // What was ended at once has no response, and is judged as well.
        let is_cut = signals.len() > 1;
        assert!(if is_cut { ended.is_some() } else { ended == code }, "{signals:?}: {ended:?} {left:#?}");
        assert_eq!(left.iter().any(|line| line == "ending at once"), is_cut, "{signals:?}: {left:#?}");
        let is_stopped = left.iter().any(|line| line.starts_with("stopping: no new arrivals"));
        assert_eq!(is_stopped, code.is_some(), "{signals:?}: {left:#?}");
    }
}

#[test]
fn a_suspended_run_gives_the_terminal_back_and_takes_it_again() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let mut session = Session::of(&target, 60, &[]);
    session.until_shown();
    session.signal(Signal::TSTP);
    session
        .until("the main screen", |session| session.text().contains(LEAVE) && session.has_modes_of_before());
    let status = format!("/proc/{}/stat", session.child.id());
    let is_stopped =
        || fs::read_to_string(&status).unwrap().rsplit(')').next().unwrap().trim().starts_with('T');
    while !is_stopped() {
        std::thread::yield_now();
    }
    session.signal(Signal::CONT);
    session.until("the screen again", |session| {
        session.text().matches(ENTER).count() == 2 && session.shows("q stop")
    });
    let modes = tcgetattr(&session.theirs).unwrap().local_modes;
    assert!(!modes.intersects(LocalModes::ICANON | LocalModes::ECHO), "{modes:?}");
    session.signal(Signal::INT);
    assert_eq!(session.end().1, Some(4));
}

/// A shell with job control on the terminal that controls it starts the run in the background.
#[test]
fn a_run_in_the_background_leaves_keys_and_screen_alone() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let line = format!(
        "set -m; {} http http://{}/ -r 50 -z 6s & wait $!; echo \"it ended with $?\"",
        env!("CARGO_BIN_EXE_plimsoll"),
        target.addr()
    );
    let mut command = Command::new("setsid");
    command.args(["--ctty", "--wait", "bash", "-c", &line]);
    let mut session = Session::start(command, TempDir::new().unwrap());
    // It would be stopped if it read a key.
    session.press("x");
    session.until("its end", |session| session.text().contains("it ended with"));
    let text = session.text();
    assert!(text.contains("it ended with 0") && !text.contains(ENTER), "{text}");
    assert!(text.contains("0:05 / 0:06"), "a line every five seconds: {text}");
    session.end();
}

#[test]
fn long_help_is_laid_out_for_the_terminal_and_goes_through_the_pager() {
    let kept = TempDir::new().unwrap();
    let paged = kept.path().join("paged.txt");
    let pager = format!("cat > {}", paged.display());
    let shown = |pager: &str, page: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command.args(page).env("PAGER", pager).env("NO_COLOR", "1");
        let (left, code) = Session::start(command, TempDir::new().unwrap()).end();
        assert_eq!(code, Some(0), "{left:#?}");
        left.join("\n")
    };
    // What fits the screen is printed, and so is all where there is no such pager.
    assert!(shown(&pager, &["explain", "A1"]).contains("evidence-changed") && !paged.exists());
    assert!(shown("no-such-pager", &["help", "plan"]).contains("OBJECTIVES"));
    shown(&pager, &["help", "plan"]);
    let page = fs::read_to_string(paged).unwrap();
    assert!(page.contains("\nOBJECTIVES\n") && !page.contains("| --- |"), "{page}");
    let is_code = |line: &&str| line.starts_with("      ");
    assert!(page.lines().filter(|line| !is_code(line)).all(|line| line.chars().count() <= 80), "{page}");
}
