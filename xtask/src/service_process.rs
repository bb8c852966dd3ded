//! A service as a child process: started, awaited until it prints `ready`, stopped with SIGTERM.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail, ensure};

use crate::child::Running;

/// A fresh store is made and ten challenges are read within a second; slow disks get the rest.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// Longer than the service's own limit for draining.
const STOP_WITHIN: Duration = Duration::from_secs(30);

/// A ready service; dropping it ends it.
pub struct ServiceProcess {
    running: Running,
    pid: u32,
    ready: String,
    log: PathBuf,
}

impl ServiceProcess {
    /// Starts `command`, whose output goes to `log`, and waits for its ready line.
    ///
    /// # Errors
    /// When it cannot start, ends, or is not ready in time; with the end of its log.
    pub fn start(mut command: Command, log: PathBuf) -> Result<Self> {
        let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(file.try_clone().context("cannot share the log")?);
        // Only the run receives Ctrl-C: the service must answer until the run has drained.
        command.process_group(0);
        let mut running = Running::start("the service", command)?;
        let pid = running.child().id();
        let output = running.child().stdout.take().context("its output is piped")?;
        let ready = ready_line(&copy_output(output, file)).map_err(|why| anyhow!("{why}; {}", tail(&log)))?;
        Ok(Self { running, pid, ready, log })
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The `HOST:PORT` that its ready line gives for `name`.
    pub fn address(&self, name: &str) -> Result<&str> {
        address(&self.ready, name)
    }

    /// Stops it with SIGTERM.
    ///
    /// # Errors
    /// When it has ended before, ends with anything but 0, or has to be killed.
    pub fn stop(mut self) -> Result<()> {
        if let Some(status) = self.running.ended()? {
            bail!("the service ended on its own with {status}; {}", tail(&self.log));
        }
        let status = self.running.stop(STOP_WITHIN)?;
        ensure!(status.success(), "the service stopped with {status}; {}", tail(&self.log));
        Ok(())
    }
}

/// Copies the service's output into its log until it ends, and sends its ready line.
fn copy_output(output: ChildStdout, mut log: File) -> Receiver<String> {
    let (sender, ready) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            // The log is a convenience, and the receiver is dropped after the first line.
            let _ = writeln!(log, "{line}");
            if line.starts_with("ready ") {
                let _ = sender.send(line.into_owned());
            }
        }
    });
    ready
}

fn ready_line(ready: &Receiver<String>) -> Result<String, String> {
    ready.recv_timeout(READY_WITHIN).map_err(|error| match error {
        RecvTimeoutError::Timeout => format!("the service was not ready within {} s", READY_WITHIN.as_secs()),
        RecvTimeoutError::Disconnected => "the service ended before it was ready".to_owned(),
    })
}

/// The `HOST:PORT` that a ready line such as `ready http=127.0.0.1:8000 events=127.0.0.1:6566` gives.
fn address<'a>(ready: &'a str, name: &str) -> Result<&'a str> {
    let words = ready.split_whitespace().filter_map(|word| word.split_once('='));
    words
        .filter(|(key, _)| *key == name)
        .map(|(_, address)| address)
        .next()
        .with_context(|| format!("the service's ready line names no `{name}` address: {ready}"))
}

fn tail(log: &Path) -> String {
    const LINES: usize = 10;
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    let last = lines[lines.len().saturating_sub(LINES)..].join("\n  ");
    format!("the end of {}:\n  {last}", log.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_from_the_ready_line() {
        let ready = "ready http=127.0.0.1:8000 events=127.0.0.1:6566";
        assert_eq!(address(ready, "events").expect("it is there"), "127.0.0.1:6566");
        let error = address(ready, "admin").expect_err("it is not there").to_string();
        assert_eq!(error, format!("the service's ready line names no `admin` address: {ready}"));
    }

    #[test]
    fn a_service_that_ends_early_has_an_error_of_its_own() {
        let mut child = Command::new("sh")
            .args(["-c", "echo not yet"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh exists");
        let output = child.stdout.take().expect("piped");
        let log = File::options().write(true).open("/dev/null").expect("it exists");
        let ready = ready_line(&copy_output(output, log));
        child.wait().expect("it ends");
        assert_eq!(ready, Err("the service ended before it was ready".to_owned()));
    }
}
