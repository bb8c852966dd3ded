//! The build before the demo, which takes minutes the first time: which crate is being compiled, how many are left, and
//! for how long it has run.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader, IsTerminal as _, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::PROFILE;
use crate::workspace::Workspace;

/// The tool without what the demo does not use, and the service.
const SELECTION: &[&str] = &["--package", "plimsoll", "--package", "challenge", "--no-default-features"];
/// A terminal is drawn once a second.
const REDRAW: Duration = Duration::from_secs(1);
/// Where there is no terminal, a line is printed this often.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// How far a build is.
struct Progress {
    packages: usize,
    begun: usize,
    compiling: String,
}

impl Progress {
    /// Takes a line of cargo's, and returns it if it has to be shown as it is.
    fn take(&mut self, line: String) -> Option<String> {
        let words = line.trim_start();
        if let Some(package) = words.strip_prefix("Compiling ") {
            self.begun += 1;
            self.compiling = package.split_whitespace().next().unwrap_or_default().to_owned();
            return None;
        }
        let is_progress =
            ["Finished ", "Blocking ", "Downloaded "].iter().any(|word| words.starts_with(word));
        (!is_progress && !words.is_empty()).then_some(line)
    }

    fn line(&self, elapsed: Duration) -> String {
        match self.compiling.as_str() {
            "" => format!("{} crates, {}", self.packages, duration(elapsed)),
            name => format!(
                "compiling {name}, {} of {} crates, {}",
                self.begun.min(self.packages),
                self.packages,
                duration(elapsed)
            ),
        }
    }
}

/// Builds the tool and the service with the demo's profile, and says how far it is on standard error.
///
/// # Errors
/// When cargo cannot start or the build fails.
pub fn build(workspace: &Workspace) -> Result<()> {
    let began = Instant::now();
    eprintln!("building plimsoll and challenge: the first time this takes minutes");
    let mut progress = Progress { packages: count(workspace)?, begun: 0, compiling: String::new() };
    let mut command = workspace.cargo();
    command.args(["build", "--locked", "--bins", "--color", "never", "--profile", PROFILE]).args(SELECTION);
    let mut child = command.stderr(Stdio::piped()).spawn().context("cannot start cargo")?;
    show(&mut progress, &lines(child.stderr.take().context("its errors are piped")?), began);
    let status = child.wait().context("cannot wait for cargo")?;
    let clear = clear();
    ensure!(status.success(), "{clear}cargo build ended with {status}");
    eprintln!("{clear}built {} crates in {}", progress.packages, duration(began.elapsed()));
    eprintln!(
        "this plimsoll has what the demo uses; `cargo build --package plimsoll` builds all of it, which takes longer"
    );
    Ok(())
}

/// Draws until the lines end.
fn show(progress: &mut Progress, lines: &Receiver<String>, began: Instant) {
    let is_terminal = std::io::stderr().is_terminal();
    let clear = clear();
    let mut shown = began;
    loop {
        let said = match lines.recv_timeout(REDRAW) {
            Ok(line) => progress.take(line),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if let Some(line) = said {
            eprintln!("{clear}{line}");
        }
        if is_terminal {
            eprint!("{clear}{}", progress.line(began.elapsed()));
        } else if shown.elapsed() >= LINE_EVERY {
            shown = Instant::now();
            eprintln!("{}", progress.line(began.elapsed()));
        }
    }
}

/// What clears the line of a terminal.
fn clear() -> &'static str {
    if std::io::stderr().is_terminal() { "\r\x1b[K" } else { "" }
}

fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(from).split(b'\n').map_while(Result::ok) {
            // The receiver is there until the lines have ended.
            let _ = sender.send(String::from_utf8_lossy(&line).into_owned());
        }
    });
    lines
}

/// How many packages the programs consist of, with what runs while they are built.
fn count(workspace: &Workspace) -> Result<usize> {
    let mut tree: Command = workspace.cargo();
    tree.args([
        "tree",
        "--quiet",
        "--locked",
        "--edges",
        "normal,build",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ]);
    let output = tree.args(SELECTION).stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    ensure!(output.status.success(), "cargo tree ended with {}", output.status);
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().map(|line| line.trim_end_matches(" (*)")).filter(|line| !line.is_empty());
    Ok(lines.collect::<HashSet<_>>().len())
}

fn duration(time: Duration) -> String {
    match (time.as_secs() / 60, time.as_secs() % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_is_as_far_as_the_crates_that_were_begun() {
        let mut progress = Progress { packages: 3, begun: 0, compiling: String::new() };
        assert_eq!(progress.line(Duration::from_secs(5)), "3 crates, 5 s");
        assert_eq!(progress.take("   Compiling swc_common v27.0.0".to_owned()), None);
        assert_eq!(progress.line(Duration::from_secs(95)), "compiling swc_common, 1 of 3 crates, 1 min 35 s");
    }

    #[test]
    fn what_cargo_says_besides_progress_is_shown() {
        let mut progress = Progress { packages: 3, begun: 0, compiling: String::new() };
        assert_eq!(progress.take("    Finished `demo` profile in 1.2s".to_owned()), None);
        let error = "error: could not compile `engine` (lib) due to 1 previous error";
        assert_eq!(progress.take(error.to_owned()).as_deref(), Some(error));
    }
}
