//! Child processes that end with the chore that started them, however it ends.

use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::signals::{self, StopSignal};

const POLL: Duration = Duration::from_millis(20);

/// A started process; dropping it kills and reaps it.
pub struct Running {
    name: &'static str,
    child: Child,
}

impl Running {
    /// Starts `command`; `name` is what errors call it.
    pub fn start(name: &'static str, mut command: Command) -> Result<Self> {
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {name} ({})", command.get_program().display()))?;
        Ok(Self { name, child })
    }

    /// The process itself, for its pipes.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// How it ended, if it did.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait().with_context(|| format!("cannot read the status of {}", self.name))
    }

    /// Waits until it ends by itself. Ctrl-C reaches the child too, so the child ends by itself; when this chore is
    /// terminated, the child is stopped first.
    pub fn wait(mut self) -> Result<ExitStatus> {
        loop {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            if signals::last_signal() == Some(StopSignal::Terminate) {
                let name = self.name;
                self.stop(Duration::from_secs(10))?;
                bail!("terminated while {name} was running");
            }
            std::thread::sleep(POLL);
        }
    }

    /// Sends SIGTERM and waits `grace` for it to end before it is killed.
    pub fn stop(mut self, grace: Duration) -> Result<ExitStatus> {
        let sent = Instant::now();
        signals::terminate(&self.child);
        while sent.elapsed() < grace {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            std::thread::sleep(POLL);
        }
        let name = self.name;
        drop(self);
        bail!("{name} did not stop within {} s of SIGTERM and was killed", grace.as_secs());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // Both fail only when the process has ended already.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null());
        command
    }

    /// A script that writes a byte once its traps are set, so that no test has to sleep.
    fn started(script: &str) -> Running {
        use std::io::Read as _;
        let mut command = shell(script);
        command.stdout(Stdio::piped());
        let mut running = Running::start("script", command).expect("sh exists");
        let mut byte = [0u8; 1];
        running.child().stdout.as_mut().expect("piped").read_exact(&mut byte).expect("it writes");
        running
    }

    #[test]
    fn the_exit_code_of_the_child_is_returned() {
        let status = Running::start("script", shell("exit 4")).and_then(Running::wait).expect("it ends");
        assert_eq!(status.code(), Some(4));
    }

    #[test]
    fn a_process_that_handles_sigterm_ends_with_its_own_code() {
        let handling = started("trap 'exit 7' TERM; echo x; while :; do :; done");
        assert_eq!(handling.stop(Duration::from_secs(30)).expect("it ends").code(), Some(7));
    }

    #[test]
    fn a_process_that_ignores_sigterm_is_killed_and_named() {
        let ignoring = started("trap '' TERM; echo x; while :; do :; done");
        let error = ignoring.stop(Duration::from_millis(50)).expect_err("it does not end");
        assert_eq!(error.to_string(), "script did not stop within 0 s of SIGTERM and was killed");
    }

    #[test]
    fn a_dropped_process_is_killed_and_reaped() {
        let mut running = started("echo x; while :; do :; done");
        let pid = running.child().id();
        drop(running);
        assert!(!std::path::Path::new(&format!("/proc/{pid}/stat")).exists());
    }

    #[test]
    fn a_program_that_cannot_start_is_named() {
        let error = Running::start("ghost", Command::new("no-such-binary-anywhere")).err().expect("no such");
        assert!(error.to_string().starts_with("cannot start ghost (no-such-binary-anywhere)"), "{error}");
    }
}
