//! The processes of a shell command: started as a group of their own, and stopped with everything that they started.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use conduct::failure::{CommandResult, Failure};
use rustix::process::{
    Pid, Signal, WaitOptions, kill_process, kill_process_group, test_kill_process_group, waitpid,
};
use workload::cpu_list::CpuList;

/// How often it is looked whether a group is gone.
const POLL: Duration = Duration::from_millis(20);
/// After SIGKILL nothing is left but what the kernel has not finished.
const AFTER_KILL: Duration = Duration::from_secs(5);

/// The commands that run, each of which leads a group. What ends one of them leaves the others alone.
static RUNNING: LazyLock<Mutex<HashSet<Pid>>> = LazyLock::new(Mutex::default);

fn running() -> MutexGuard<'static, HashSet<Pid>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

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
    /// The processors that it may use; none: all.
    pub(crate) cpus: Option<&'a CpuList>,
    /// Where it is run.
    pub(crate) folder: &'a Path,
    /// Where its output goes.
    pub(crate) log: &'a Path,
}

impl ShellCommand<'_> {
    fn shell(&self) -> Command {
        let Some(cpus) = self.cpus else { return Command::new("sh") };
        let mut confined = Command::new("taskset");
        confined.args(["-c", &cpus.to_string(), "sh"]);
        confined
    }

    pub(crate) fn start(&self) -> CommandResult<ProcessGroup> {
        use std::os::unix::process::CommandExt as _;
        adopt_orphans().map_err(Failure::own)?;
        let log = File::options().create(true).append(true).open(self.log);
        let log =
            log.with_context(|| format!("cannot write {}", self.log.display())).map_err(Failure::own)?;
        let folder = if self.folder.as_os_str().is_empty() { Path::new(".") } else { self.folder };
        // No other thread may take it for an orphan before it is known.
        let mut running = running();
        let child = self
            .shell()
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
        running.insert(group);
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
        running().remove(&self.group);
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

/// Kill what left its group and lost its parent; whether there was any. This process starts nothing but commands of arms. While
/// another command runs nothing shows whose an orphan is: the stop of the last one finds it.
fn kill_orphans() -> bool {
    reap();
    let running = running();
    if !running.is_empty() {
        return false;
    }
    let orphans = children();
    for orphan in &orphans {
        let _ = kill_process(*orphan, Signal::KILL);
    }
    !orphans.is_empty()
}

/// Wait for orphans that have ended. Commands are waited for by their owners, who need to know how they ended.
fn reap() {
    let running = running();
    for child in children().into_iter().filter(|child| !running.contains(child)) {
        // One that has not ended, or is gone, is none to wait for.
        let _ = waitpid(Some(child), WaitOptions::NOHANG);
    }
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use rustix::process::{WaitId, WaitIdOptions, test_kill_process, waitid};

    use super::*;

    struct Shell {
        folder: tempfile::TempDir,
    }

    impl Shell {
        fn start(&self, command: &str) -> ProcessGroup {
            let (folder, log) = (self.folder.path(), self.folder.path().join("log"));
            let command = ShellCommand { command, env: &BTreeMap::new(), cpus: None, folder, log: &log };
            command.start().unwrap_or_else(|failure| panic!("{}", failure.text()))
        }

        /// A pipe by this name.
        fn pipe(&self, name: &str) -> PathBuf {
            let path = self.folder.path().join(name);
            rustix::fs::mkfifoat(rustix::fs::CWD, &path, 0o600.into()).unwrap();
            path
        }
    }

    /// The process whose number is written into the pipe.
    fn number_from(pipe: &Path) -> Pid {
        Pid::from_raw(fs::read_to_string(pipe).unwrap().trim().parse().unwrap()).unwrap()
    }

    /// One test, because orphans are of the whole process.
    #[test]
    fn the_end_of_one_command_leaves_the_other_and_the_end_of_the_last_leaves_nothing() {
        let shell = Shell { folder: tempfile::tempdir().unwrap() };
        let [of_orphan, of_second, end] = ["orphan", "second", "end"].map(|name| shell.pipe(name));
        let first = shell.start("setsid sh -c 'echo $$ > orphan; exec sleep 600' & sleep 600");
        let mut second = shell.start("echo $$ > second; read line < end; exit 7");
        let (orphan, running) = (number_from(&of_orphan), number_from(&of_second));

        first.stop(Duration::ZERO);
        assert!(test_kill_process(running).is_ok(), "the other command runs on");
        assert_eq!(second.ended(), None);

        // It ends while a third is stopped: its exit status stays its own.
        fs::write(end, "now\n").unwrap();
        waitid(WaitId::Pid(running), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
        shell.start("sleep 600").stop(Duration::ZERO);
        assert_eq!(second.ended().and_then(|status| status.code()), Some(7));

        second.stop(Duration::ZERO);
        assert!(test_kill_process(orphan).is_err(), "the orphan is found with the last command");
        assert!(children().is_empty());
    }
}
