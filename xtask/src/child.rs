//! Child processes that never outlive the chore that started them, whichever way it ends.

use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::signals::{self, Asked};

const POLL: Duration = Duration::from_millis(20);

/// A started process; dropping it kills and reaps it.
pub(crate) struct Running {
    name: &'static str,
    child: Child,
}

impl Running {
    /// Starts `command`; `name` is what errors call it.
    pub(crate) fn start(name: &'static str, mut command: Command) -> Result<Self> {
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {name} ({})", command.get_program().display()))?;
        Ok(Self { name, child })
    }

    /// The process itself, for its pipes.
    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// How it ended, if it did.
    pub(crate) fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait().with_context(|| format!("cannot ask after {}", self.name))
    }

    /// Waits until it ends by itself. Ctrl-C is left to the child, which got it too; when this chore is
    /// told to go away, the child is stopped first.
    pub(crate) fn wait(mut self) -> Result<ExitStatus> {
        loop {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            if signals::asked() == Some(Asked::Terminate) {
                let name = self.name;
                self.stop(Duration::from_secs(10))?;
                bail!("told to stop while {name} was running");
            }
            std::thread::sleep(POLL);
        }
    }

    /// Asks it to end (SIGTERM) and gives it `grace` to do so before it is killed.
    pub(crate) fn stop(mut self, grace: Duration) -> Result<ExitStatus> {
        let asked = Instant::now();
        signals::terminate(&self.child);
        while asked.elapsed() < grace {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            std::thread::sleep(POLL);
        }
        let name = self.name;
        drop(self);
        bail!("{name} did not stop within {} s of being asked and was killed", grace.as_secs());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // Both fail only when the process is gone already.
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

    /// A script that says when its traps are set, so that nothing has to be slept for.
    fn started(script: &str) -> Running {
        use std::io::Read as _;
        let mut command = shell(script);
        command.stdout(Stdio::piped());
        let mut running = Running::start("script", command).expect("sh exists");
        let mut said = [0u8; 1];
        running.child().stdout.as_mut().expect("piped").read_exact(&mut said).expect("it speaks");
        running
    }

    #[test]
    fn the_exit_code_comes_through() {
        let status = Running::start("script", shell("exit 4")).and_then(Running::wait).expect("it ends");
        assert_eq!(status.code(), Some(4));
    }

    #[test]
    fn a_polite_process_ends_when_asked() {
        let polite = started("trap 'exit 7' TERM; echo x; while :; do :; done");
        assert_eq!(polite.stop(Duration::from_secs(30)).expect("it obeys").code(), Some(7));
    }

    #[test]
    fn a_stubborn_process_is_killed_and_named() {
        let stubborn = started("trap '' TERM; echo x; while :; do :; done");
        let error = stubborn.stop(Duration::from_millis(50)).expect_err("it does not obey");
        assert_eq!(error.to_string(), "script did not stop within 0 s of being asked and was killed");
    }

    #[test]
    fn a_dropped_process_is_gone() {
        let mut running = started("echo x; while :; do :; done");
        let pid = running.child().id();
        drop(running);
        assert!(!std::path::Path::new(&format!("/proc/{pid}/stat")).exists());
    }

    #[test]
    fn what_cannot_start_is_named() {
        let error = Running::start("ghost", Command::new("no-such-binary-anywhere")).err().expect("no such");
        assert!(error.to_string().starts_with("cannot start ghost (no-such-binary-anywhere)"), "{error}");
    }
}
