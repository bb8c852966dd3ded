//! What is drawn in place on a terminal of which no keys can be read: a pair of pseudo-terminals, and what a user would see
//! at the end.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use tempfile::TempDir;
use testbed::Behaviour;

/// The lines of a screen of endless height after these bytes, which may move the cursor up and clear.
pub(crate) fn screen(bytes: &str) -> Vec<String> {
    let (mut lines, mut row, mut column) = (vec![Vec::new()], 0, 0);
    let mut rest = bytes.chars();
    while let Some(c) = rest.next() {
        match c {
            '\r' => column = 0,
            '\n' => {
                row += 1;
                lines.resize((row + 1).max(lines.len()), Vec::new());
            }
            '\x1b' => {
                assert_eq!(rest.next(), Some('['));
                let mut number = String::new();
                let command = loop {
                    match rest.next().unwrap() {
                        digit @ ('0'..='9' | ';') => number.push(digit),
                        command => break command,
                    }
                };
                match command {
                    'A' => row -= number.parse::<usize>().unwrap(),
                    'K' => lines[row].truncate(column),
                    'J' => {
                        lines[row].truncate(column);
                        lines.truncate(row + 1);
                    }
                    'm' => {}
                    other => panic!("ESC [ {number} {other}"),
                }
            }
            c => {
                let line = &mut lines[row];
                line.resize(line.len().max(column + 1), ' ');
                line[column] = c;
                column += 1;
            }
        }
    }
    lines.into_iter().map(|line| line.into_iter().collect::<String>().trim_end().to_owned()).collect()
}

/// Both ends of a terminal of 100 columns and 40 lines.
pub(crate) fn terminal() -> (OwnedFd, OwnedFd) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let theirs = open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    tcsetwinsize(&theirs, Winsize { ws_row: 40, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    (ours, theirs)
}

/// Run a line on a terminal; a SIGINT is sent once what came contains `interrupt_at`.
pub(crate) fn run(arguments: &[&str], interrupt_at: Option<&str>) -> (String, Option<i32>) {
    let (ours, theirs) = terminal();
    let folder = TempDir::new().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(arguments)
        .current_dir(folder.path())
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .stdout(theirs.try_clone().unwrap())
        .stderr(theirs)
        .spawn()
        .unwrap();
    let (mut ours, mut seen, mut buffer) = (File::from(ours), Vec::new(), [0; 4096]);
    let mut interrupt_at = interrupt_at;
    // Once the other end is closed, reading fails.
    while let Ok(n @ 1..) = ours.read(&mut buffer) {
        seen.extend_from_slice(&buffer[..n]);
        if interrupt_at.is_some_and(|text| String::from_utf8_lossy(&seen).contains(text)) {
            interrupt_at = None;
            kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        }
    }
    (String::from_utf8_lossy(&seen).into_owned(), child.wait().unwrap().code())
}

#[test]
fn a_line_is_drawn_in_place_and_gone_at_the_end() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let (seen, code) = run(&["http", &format!("http://{}/", target.addr()), "-r", "50", "-z", "3s"], None);
    assert_eq!(code, Some(0));
    assert!(seen.matches("in flight").count() >= 2, "it is drawn again and again: {seen:?}");
    assert!(!seen.contains("\x1b[?"), "no screen is taken: {seen:?}");
    let left = screen(&seen);
    assert!(left.first().is_some_and(|line| line.contains("MEASURED")), "{left:#?}");
    assert!(left.iter().all(|line| !line.contains("failed · p95")), "{left:#?}");
}

#[test]
fn an_interrupt_leaves_the_messages_and_the_report() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let line = ["http", &format!("http://{}/", target.addr()), "-r", "50", "-z", "60s"];
    let (seen, code) = run(&line, Some("in flight"));
    let left = screen(&seen);
    assert_eq!(code, Some(4), "an interrupted run decides nothing");
    assert!(left[0].starts_with("stopping: no new arrivals"), "{left:#?}");
    assert!(left[1].contains("INCONCLUSIVE"), "{left:#?}");
}

#[test]
fn a_watch_is_drawn_in_place_and_stays_at_the_end() {
    let pid = std::process::id().to_string();
    let (seen, code) = run(&["monitor", &pid, "--for", "3s"], None);
    assert_eq!(code, Some(0));
    assert!(seen.matches("watching").count() >= 3, "it is drawn again and again: {seen:?}");
    let left = screen(&seen);
    assert!(left[0].contains("watching") && left[0].contains("left"), "{left:#?}");
    assert_eq!(left.iter().filter(|line| line.contains("watching")).count(), 1, "{left:#?}");
    assert!(left.iter().any(|line| line.starts_with("  rss")), "{left:#?}");
    assert!(left.iter().any(|line| line.starts_with("the samples are in monitor-")), "{left:#?}");

    let (seen, code) = run(&["monitor", &pid], Some("until Ctrl-C"));
    let left = screen(&seen);
    assert_eq!(code, Some(0));
    assert!(left[0].starts_with("stopping: the watch ends here"), "{left:#?}");
    assert_eq!(left.iter().filter(|line| line.contains("watching")).count(), 1, "{left:#?}");
}
