//! Who a process is, for the run's manifest.

use std::collections::BTreeMap;
use std::fs;

use crate::error::ObserveError;
use crate::process::ProcessRef;
use crate::reading::{of_ticks, text};

/// Bytes of a program's own name for itself that are kept.
const NAME_LIMIT: usize = 256;

/// Says which process `process` is: `pid`, `exe`, `argv0` and `arguments` (their number alone, since
/// arguments may hold secrets), `started_unix_s`, and `other_pids` when several answer to the reference.
/// What may not be read is absent.
///
/// # Errors
/// When there is no such process, or it may not be looked at.
pub fn identify(process: ProcessRef) -> Result<BTreeMap<String, String>, ObserveError> {
    let found = process.find()?;
    let pid = found.pid;
    let mut identity = BTreeMap::from([("pid".to_owned(), pid.to_string())]);
    let mut add = |name: &str, value: String| identity.insert(name.to_owned(), value);
    if let Ok(exe) = fs::read_link(format!("/proc/{pid}/exe")) {
        add("exe", exe.display().to_string());
    }
    if let Ok(line) = text(pid, "cmdline") {
        let (argv0, arguments) = command_line(&line);
        add("argv0", argv0);
        add("arguments", arguments.to_string());
    }
    if let Some(booted_unix_s) = booted_unix_s() {
        add("started_unix_s", (booted_unix_s + of_ticks(found.start_ticks).as_secs()).to_string());
    }
    if !found.others.is_empty() {
        let others: Vec<String> = found.others.iter().map(u32::to_string).collect();
        add("other_pids", others.join(" "));
    }
    Ok(identity)
}

/// The program's name as it was called, and the number of arguments after it.
fn command_line(text: &str) -> (String, usize) {
    let mut parts = text.strip_suffix('\0').unwrap_or(text).split('\0');
    let argv0 = parts.next().unwrap_or_default();
    // A process that rewrote its line to show a title puts spaces, and whatever it likes, after its name.
    let name: String = argv0.split(' ').next().unwrap_or_default().chars().take(NAME_LIMIT).collect();
    (name, parts.count())
}

/// `btime` of /proc/stat: when the machine started.
fn booted_unix_s() -> Option<u64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_counted_and_not_kept() {
        assert_eq!(command_line("./challenge\0--key\0s3cret\0"), ("./challenge".to_owned(), 2));
        assert_eq!(command_line("postgres: user secret\0"), ("postgres:".to_owned(), 0));
        assert_eq!(command_line(""), (String::new(), 0));
    }

    #[test]
    fn identifies_this_process() {
        let identity = identify(ProcessRef::Pid(std::process::id())).unwrap();
        assert_eq!(identity["pid"], std::process::id().to_string());
        let exe = std::env::current_exe().unwrap();
        assert_eq!(identity["exe"], exe.display().to_string());
        assert!(identity["started_unix_s"].parse::<u64>().unwrap() > 0);
    }
}
