//! The processes of a shell command: started as a group of their own, and stopped with everything that they started.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use conduct::failure::{CommandResult, Failure};
use rustix::process::{
    Pid, Signal, WaitOptions, kill_process, kill_process_group, test_kill_process_group, wait,
};

/// How often it is looked whether a group is gone.
const POLL: Duration = Duration::from_millis(20);
/// After SIGKILL nothing is left but what the kernel has not finished.
const AFTER_KILL: Duration = Duration::from_secs(5);

/// A running command. Dropped, it is killed with everything that it started.
pub(crate) struct ProcessGroup {
    child: Child,
    group: Pid,
    ended: Option<ExitStatus>,
    is_stopped: bool,
}

/// What is started.
pub(crate) struct ShellCommand<'a> {
    /// For sh.
    pub(crate) command: &'a str,
    pub(crate) env: &'a std::collections::BTreeMap<String, String>,
    /// Where it is run.
    pub(crate) folder: &'a Path,
    /// Where its output goes.
    pub(crate) log: &'a Path,
}

impl ShellCommand<'_> {
    pub(crate) fn start(&self) -> CommandResult<ProcessGroup> {
        use std::os::unix::process::CommandExt as _;
        adopt_orphans().map_err(Failure::own)?;
        let log = File::options().create(true).append(true).open(self.log);
        let log =
            log.with_context(|| format!("cannot write {}", self.log.display())).map_err(Failure::own)?;
        let folder = if self.folder.as_os_str().is_empty() { Path::new(".") } else { self.folder };
        let child = Command::new("sh")
            .args(["-c", self.command])
            .envs(self.env)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(Failure::own)?)
            .stderr(log)
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start `{}`", self.command))
            .map_err(Failure::own)?;
        let group = Pid::from_child(&child);
        Ok(ProcessGroup { child, group, ended: None, is_stopped: false })
    }
}

impl ProcessGroup {
    /// How the command ended, if it did.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            // A child that cannot be waited for is gone.
            self.ended = self.child.try_wait().ok().flatten();
        }
        self.ended
    }

    /// Ask it to end, and end it after `within`; nothing that it started is left.
    pub(crate) fn stop(mut self, within: Duration) {
        self.end(within);
    }

    fn end(&mut self, within: Duration) {
        if std::mem::replace(&mut self.is_stopped, true) {
            return;
        }
        for (signal, within) in [(Signal::TERM, within), (Signal::KILL, AFTER_KILL)] {
            // The number of a group that is gone may soon be another one's.
            if !self.is_alive() {
                break;
            }
            // It may have ended just now.
            let _ = kill_process_group(self.group, signal);
            let began = Instant::now();
            while self.is_alive() && began.elapsed() < within {
                thread::sleep(POLL);
            }
        }
        let began = Instant::now();
        while kill_orphans() && began.elapsed() < AFTER_KILL {
            thread::sleep(POLL);
        }
    }

    /// Whether any process of the group is left, and not only to be waited for.
    fn is_alive(&mut self) -> bool {
        self.ended();
        if self.ended.is_some() {
            reap();
        }
        test_kill_process_group(self.group).is_ok()
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

/// What a command leaves behind becomes a child of this process, so that it can be found.
#[cfg(target_os = "linux")]
fn adopt_orphans() -> std::io::Result<()> {
    use rustix::process::{getpid, set_child_subreaper};
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// On other systems a process that leaves the group of its command is not found.
#[cfg(not(target_os = "linux"))]
fn adopt_orphans() -> std::io::Result<()> {
    Ok(())
}

/// Kill what left its group and lost its parent; whether there was any. This process starts nothing but commands of arms.
fn kill_orphans() -> bool {
    reap();
    let orphans = children();
    for orphan in &orphans {
        let _ = kill_process(*orphan, Signal::KILL);
    }
    !orphans.is_empty()
}

/// Wait for children that have ended.
fn reap() {
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
}

fn children() -> Vec<Pid> {
    let Ok(threads) = fs::read_dir("/proc/self/task") else { return Vec::new() };
    let lists =
        threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let numbers: Vec<i32> = lists
        .flat_map(|list| list.split_whitespace().filter_map(|n| n.parse().ok()).collect::<Vec<_>>())
        .collect();
    numbers.into_iter().filter_map(Pid::from_raw).collect()
}
