//! What a command did to the file system and the network, by strace.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

const STRACE: &str = "/usr/bin/strace";

/// What a traced command did.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Trace {
    /// Paths that it opened for writing, made or truncated.
    pub(super) written: Vec<String>,
    /// Paths that it removed or renamed.
    pub(super) removed: Vec<String>,
    /// Addresses that it connected to.
    pub(super) connected: Vec<String>,
}

/// Without strace nothing is known of what a command did, so that nothing can be shown.
///
/// # Errors
/// When it is not installed.
pub(super) fn require() -> Result<()> {
    ensure!(Path::new(STRACE).exists(), "{STRACE} is missing: install the package strace");
    Ok(())
}

/// The start of a command line that traces the rest of it into `log`.
pub(super) fn command(log: &Path) -> Command {
    let mut command = Command::new(STRACE);
    command.args(["-f", "-qq", "--seccomp-bpf", "-z", "-y", "-e", "trace=%file,connect", "-o"]).arg(log);
    command
}

impl Trace {
    /// What strace has written.
    pub(super) fn read(log: &Path) -> Self {
        let text = std::fs::read(log).unwrap_or_default();
        let mut trace = Self::default();
        String::from_utf8_lossy(&text).lines().for_each(|line| trace.add(line));
        trace
    }

    /// A line such as `12 openat(AT_FDCWD</x>, "a", O_WRONLY|O_CREAT, 0666) = 3</x/a>`.
    fn add(&mut self, line: &str) {
        let Some((before, arguments)) = line.split_once('(') else { return };
        let call = before.rsplit(' ').next().unwrap_or_default();
        let path = path(arguments);
        let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"].iter().any(|flag| arguments.contains(flag));
        let list = match call {
            "open" | "openat" | "openat2" | "creat" if writes => &mut self.written,
            "mkdir" | "mkdirat" | "truncate" | "symlink" | "symlinkat" | "link" | "linkat" | "chmod"
            | "fchmodat" => &mut self.written,
            "unlink" | "unlinkat" | "rmdir" | "rename" | "renameat" | "renameat2" => &mut self.removed,
            "connect" => {
                self.connected.push(arguments.to_owned());
                return;
            }
            _ => return,
        };
        list.push(path);
    }

    /// What it wrote or removed that is neither below `allowed` nor a device.
    pub(super) fn elsewhere(&self, allowed: &[String]) -> Vec<String> {
        let is_elsewhere = |path: &&String| {
            !path.starts_with("/dev/")
                && !path.starts_with("/proc/")
                && !allowed.iter().any(|at| path.starts_with(at))
        };
        self.written.iter().chain(&self.removed).filter(is_elsewhere).cloned().collect()
    }
}

/// The path that is the first text among a call's arguments, below the folder before it if it is relative.
fn path(arguments: &str) -> String {
    let (before, rest) = arguments.split_once('"').unwrap_or_default();
    let path = rest.split('"').next().unwrap_or_default();
    match before.split_once('<').and_then(|(_, folder)| folder.split_once('>')) {
        Some((folder, _)) if !path.starts_with('/') => format!("{folder}/{path}"),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_sorted_by_what_they_do() {
        let mut trace = Trace::default();
        for line in [
            "7 openat(AT_FDCWD, \"/etc/passwd\", O_RDONLY|O_CLOEXEC) = 3",
            "7 openat(5</t>, \"a\", O_RDWR|O_CREAT|O_CLOEXEC, 0600) = 3</t/a>",
            "7 unlink(\"/other/b\") = 0",
            "7 connect(4, {sa_family=AF_INET, sin_port=htons(80)}, 16) = 0",
            "7 openat(AT_FDCWD, \"/dev/tty\", O_RDWR) = 5",
        ] {
            trace.add(line);
        }
        assert_eq!(trace.written, ["/t/a", "/dev/tty"]);
        assert_eq!(
            (trace.connected.len(), trace.elsewhere(&["/t/".to_owned()])),
            (1, vec!["/other/b".to_owned()])
        );
    }
}
