//! The build before the demo, which takes minutes the first time: which crate is being compiled, how many are done, and
//! for how long.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader, IsTerminal as _, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use crate::workspace::Workspace;

/// A terminal is drawn once a second.
const REDRAW: Duration = Duration::from_secs(1);
/// Where there is no terminal, a line is printed this often.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// What cargo reports while it builds.
#[derive(Debug, PartialEq, Eq)]
enum Event {
    /// It begins to compile a crate.
    Compiling(String),
    /// A package is built, now or by an earlier build.
    Built(String),
    /// Anything else that it says, such as an error.
    Said(String),
}

/// How far a build is.
struct Progress {
    packages: usize,
    built: HashSet<String>,
    compiling: String,
}

impl Progress {
    /// Takes what concerns it, and returns what has to be shown as it is.
    fn take(&mut self, event: Event) -> Option<String> {
        match event {
            Event::Compiling(name) => self.compiling = name,
            Event::Built(package) => {
                self.built.insert(package);
            }
            Event::Said(line) => return Some(line),
        }
        None
    }

    fn line(&self, elapsed: Duration) -> String {
        let built = self.built.len().min(self.packages);
        let compiling = match self.compiling.as_str() {
            "" => String::new(),
            name => format!(", compiling {name}"),
        };
        format!("built {built} of {} crates{compiling}, {}", self.packages, duration(elapsed))
    }
}

/// Builds the tool and the service, and says how far it is on standard error. Where there is no tool yet, it is built
/// without k6 scripts, whose engine and compiler take as long as half of everything else.
///
/// # Errors
/// As [`build`].
pub(super) fn build_for_demo(workspace: &Workspace) -> Result<()> {
    let packages = ["plimsoll", "challenge"];
    if runs_scripts(&workspace.binary("plimsoll")) {
        return build(workspace, &packages);
    }
    build_with(workspace, &packages, &["--no-default-features"])?;
    eprintln!(
        "plimsoll is built without k6 scripts, which the demo does not need; \
         `cargo build --package plimsoll` adds them, and compiles for some minutes more"
    );
    Ok(())
}

/// Whether this is a tool that was built with scripts.
fn runs_scripts(plimsoll: &Path) -> bool {
    let version = Command::new(plimsoll).arg("--version").output();
    version.is_ok_and(|output| !String::from_utf8_lossy(&output.stdout).contains("without k6 scripts"))
}

/// Builds these packages' programs, and says how far it is on standard error.
///
/// # Errors
/// When cargo cannot start or the build fails.
pub(super) fn build(workspace: &Workspace, packages: &[&str]) -> Result<()> {
    build_with(workspace, packages, &[])
}

fn build_with(workspace: &Workspace, packages: &[&str], features: &[&str]) -> Result<()> {
    let began = Instant::now();
    eprintln!("building {}: the first time this takes minutes", packages.join(" and "));
    let packages: Vec<&str> = packages.iter().flat_map(|package| ["--package", *package]).collect();
    let selection = [packages.as_slice(), features].concat();
    let mut progress =
        Progress { packages: count(workspace, &selection)?, built: HashSet::new(), compiling: String::new() };
    let mut command = workspace.cargo();
    command.args(["build", "--bins", "--color", "never", "--message-format", "json-render-diagnostics"]);
    command.args(&selection);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().context("cannot start cargo")?;
    let (sender, events) = channel();
    let readers = [
        read(child.stdout.take().context("its output is piped")?, artifact, sender.clone()),
        read(child.stderr.take().context("its errors are piped")?, status, sender),
    ];
    let is_terminal = std::io::stderr().is_terminal();
    let mut shown = began;
    loop {
        let event = events.recv_timeout(REDRAW);
        let said = match event {
            Ok(event) => progress.take(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        let clear = if is_terminal { "\r\x1b[K" } else { "" };
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
    for reader in readers {
        // It ends with cargo, and has nothing to report.
        let _ = reader.join();
    }
    let status = child.wait().context("cannot wait for cargo")?;
    let clear = if is_terminal { "\r\x1b[K" } else { "" };
    ensure!(status.success(), "{clear}cargo build ended with {status}");
    eprintln!("{clear}built {} crates in {}", progress.packages, duration(began.elapsed()));
    Ok(())
}

fn read(
    from: impl Read + Send + 'static,
    event: fn(&str) -> Option<Event>,
    sender: Sender<Event>,
) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        for line in BufReader::new(from).split(b'\n').map_while(Result::ok) {
            if let Some(event) = event(&String::from_utf8_lossy(&line)) {
                // The receiver is there until both readers have ended.
                let _ = sender.send(event);
            }
        }
    })
}

/// How many packages the programs consist of, with what runs while they are built.
fn count(workspace: &Workspace, selection: &[&str]) -> Result<usize> {
    let mut tree: Command = workspace.cargo();
    tree.args(["tree", "--quiet", "--edges", "normal,build", "--prefix", "none", "--format", "{p}"]);
    tree.args(selection);
    let output = tree.stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    ensure!(output.status.success(), "cargo tree ended with {}", output.status);
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().map(|line| line.trim_end_matches(" (*)")).filter(|line| !line.is_empty());
    Ok(lines.collect::<HashSet<_>>().len())
}

/// A line of cargo's messages in JSON. A build script is not yet its package.
fn artifact(line: &str) -> Option<Event> {
    let message: serde_json::Value = serde_json::from_str(line).ok()?;
    let is_package =
        message["reason"] == "compiler-artifact" && message["target"]["kind"][0] != "custom-build";
    is_package.then(|| message["package_id"].as_str().map(|id| Event::Built(id.to_owned()))).flatten()
}

/// A line for people.
fn status(line: &str) -> Option<Event> {
    let words = line.trim_start();
    if let Some(package) = words.strip_prefix("Compiling ") {
        return package.split_whitespace().next().map(|name| Event::Compiling(name.to_owned()));
    }
    let is_progress = ["Finished ", "Blocking "].iter().any(|word| words.starts_with(word));
    (!is_progress && !words.is_empty()).then(|| Event::Said(line.to_owned()))
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
    fn a_build_is_as_far_as_its_packages_are_built() {
        let mut progress = Progress { packages: 3, built: HashSet::new(), compiling: String::new() };
        assert_eq!(progress.line(Duration::from_secs(5)), "built 0 of 3 crates, 5 s");
        let artifact = |kind: &str| {
            format!(r#"{{"reason":"compiler-artifact","package_id":"a#1","target":{{"kind":["{kind}"]}}}}"#)
        };
        assert_eq!(super::artifact(&artifact("custom-build")), None);
        // The library and the program of one package.
        for kind in ["lib", "bin"] {
            progress.take(super::artifact(&artifact(kind)).expect("an artifact"));
        }
        progress.take(status("   Compiling swc_common v27.0.0").expect("a status"));
        assert_eq!(
            progress.line(Duration::from_secs(95)),
            "built 1 of 3 crates, compiling swc_common, 1 min 35 s"
        );
    }

    #[test]
    fn a_tool_that_runs_scripts_is_not_replaced_by_one_that_does_not() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let check = |version: &str, expect: bool| {
            let program = folder.path().join("plimsoll");
            std::fs::write(&program, format!("#!/bin/sh\necho 'plimsoll {version}'\n")).expect("a script");
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
            assert_eq!(runs_scripts(&program), expect, "{version}");
        };
        check("0.1.0", true);
        check("0.1.0 (built without k6 scripts)", false);
        assert!(!runs_scripts(&folder.path().join("not built yet")));
    }

    #[test]
    fn what_cargo_says_besides_progress_is_shown() {
        assert_eq!(status("    Finished `dev` profile in 1.2s"), None);
        let error = "error: could not compile `engine` (lib) due to 1 previous error";
        assert_eq!(status(error), Some(Event::Said(error.to_owned())));
        assert_eq!(artifact("{\"reason\":\"build-finished\",\"success\":true}"), None);
        assert_eq!(artifact("no JSON"), None);
    }
}
