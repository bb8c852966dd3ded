//! Who a process is and what it runs, for the run's manifest.

mod container;
mod files;

use std::collections::BTreeMap;
use std::fs;
use std::io;

use crate::error::ObserveError;
use crate::process::ProcessRef;
use crate::reading::{of_ticks, text};

/// Bytes of a program's own name for itself that are kept.
const NAME_LIMIT: usize = 256;
/// The value of a fact that may not be read, before the reason.
const UNKNOWN: &str = "unknown";

/// Variables that a shell sets by itself, depending on where the user has been.
const OF_SHELLS: [&str; 4] = ["_", "OLDPWD", "PWD", "SHLVL"];

/// What is known of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// By name. What may not be read is `unknown`, with the reason:
    ///
    /// - `pid`, `started_unix_s`, and `other_pids` when several match the reference
    /// - `exe` and `exe_sha256`: the program
    /// - `argv0` and `arguments` (their number)
    /// - `program_file` and `program_file_sha256`: of an interpreter, the first argument that is a file; `none` without one
    /// - `folder`: its working folder
    /// - `environment_names`: the names of the variables that it was started with, never their values; without those that a
    ///   shell sets by itself
    /// - `container` (its id; `none visible`) and `container_image`
    pub facts: BTreeMap<String, String>,
    /// The words of its command line, in which there may be secrets.
    pub command_line: Result<Vec<String>, String>,
}

/// Says which process `process` is.
///
/// # Errors
/// When there is no such process, or it may not be looked at.
pub fn identify(process: ProcessRef) -> Result<ProcessIdentity, ObserveError> {
    let found = process.find()?;
    let mut identity = of(found.pid);
    let mut add = |name: &str, value: String| identity.facts.insert(name.to_owned(), value);
    if let Some(booted_unix_s) = booted_unix_s() {
        add("started_unix_s", (booted_unix_s + of_ticks(found.start_ticks).as_secs()).to_string());
    }
    if !found.others.is_empty() {
        let others: Vec<String> = found.others.iter().map(u32::to_string).collect();
        add("other_pids", others.join(" "));
    }
    Ok(identity)
}

/// What its files in /proc say.
fn of(pid: u32) -> ProcessIdentity {
    let link =
        |name: &str| fs::read_link(format!("/proc/{pid}/{name}")).map(|path| path.display().to_string());
    let exe = link("exe");
    let mut facts = vec![
        ("pid", pid.to_string()),
        ("exe_sha256", or_unknown(files::sha256(&format!("/proc/{pid}/exe")))),
        ("folder", or_unknown(link("cwd"))),
        ("environment_names", or_unknown(environment_names(pid))),
    ];
    facts.extend(container::of(pid));
    let command_line = command_line(pid);
    if let Ok(words) = &command_line {
        facts.push(("argv0", argv0(words)));
        facts.push(("arguments", words.len().saturating_sub(1).to_string()));
        if exe.as_ref().is_ok_and(|exe| files::is_interpreter(exe)) {
            facts.extend(files::program_file(pid, &words[1..]));
        }
    }
    facts.push(("exe", or_unknown(exe)));
    let facts = facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    ProcessIdentity { facts, command_line }
}

fn or_unknown(value: io::Result<String>) -> String {
    value.unwrap_or_else(|why| format!("{UNKNOWN}: {why}"))
}

/// The words of its command line; at least one.
fn command_line(pid: u32) -> Result<Vec<String>, String> {
    let line = text(pid, "cmdline").map_err(|why| format!("{UNKNOWN}: {why}"))?;
    match words(&line) {
        words if words.is_empty() => Err(format!("{UNKNOWN}: the process shows none")),
        words => Ok(words),
    }
}

fn words(line: &str) -> Vec<String> {
    if line.is_empty() {
        return Vec::new();
    }
    // A process that rewrote its line to show a title fills the rest with zeros.
    let line = line.trim_end_matches('\0');
    line.split('\0').map(str::to_owned).collect()
}

/// The program's name as it was called.
fn argv0(words: &[String]) -> String {
    let name = words.first().map_or("", String::as_str);
    // A title has spaces, and whatever else, after the name.
    name.split(' ').next().unwrap_or_default().chars().take(NAME_LIMIT).collect()
}

/// The names of the variables that the process was started with, sorted.
fn environment_names(pid: u32) -> io::Result<String> {
    let variables = fs::read(format!("/proc/{pid}/environ"))?;
    Ok(names_of(&variables).join(" "))
}

/// A process may have written a title over its variables: only what looks like a name is one.
fn names_of(variables: &[u8]) -> Vec<String> {
    let is_name = |name: &str| {
        !name.is_empty()
            && !OF_SHELLS.contains(&name)
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let pairs = variables.split(|byte| *byte == 0).filter_map(|pair| {
        let end = pair.iter().position(|byte| *byte == b'=')?;
        str::from_utf8(&pair[..end]).ok()
    });
    let mut names: Vec<String> = pairs.filter(|name| is_name(name)).map(str::to_owned).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// `btime` of /proc/stat: when the machine started.
fn booted_unix_s() -> Option<u64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_command_line_has_words_and_a_title_has_one() {
        assert_eq!(words("./challenge\0--key\0\0s3cret\0"), ["./challenge", "--key", "", "s3cret"]);
        let title = words("postgres: user secret\0\0\0");
        assert_eq!((title.len(), argv0(&title).as_str()), (1, "postgres:"));
        assert!(words("").is_empty());
    }

    #[test]
    fn environment_variables_are_named_without_their_values() {
        let variables =
            b"PATH=/bin\0API_KEY=s3cret=x\0worker process: s3cret\0a title=s3cret\0HOME=\0PATH=/sbin\0OLDPWD=/\0_=a\0";
        assert_eq!(names_of(variables), ["API_KEY", "HOME", "PATH"]);
    }

    #[test]
    fn identifies_this_process() {
        let ProcessIdentity { facts, command_line } = identify(ProcessRef::Pid(std::process::id())).unwrap();
        assert_eq!(facts["pid"], std::process::id().to_string());
        let exe = std::env::current_exe().unwrap();
        assert_eq!(facts["exe"], exe.display().to_string());
        assert_eq!(facts["exe_sha256"].len(), 64);
        assert_eq!(facts["folder"], std::env::current_dir().unwrap().display().to_string());
        assert!(facts["environment_names"].split(' ').any(|name| name == "PATH"));
        assert!(facts["started_unix_s"].parse::<u64>().unwrap() > 0);
        assert_eq!(command_line.unwrap(), std::env::args().collect::<Vec<_>>());
        assert!(!facts.contains_key("program_file"), "it is not an interpreter");
    }

    #[test]
    fn what_may_not_be_read_is_unknown_with_the_reason() {
        let ProcessIdentity { facts, command_line } = of(0);
        for fact in ["exe", "exe_sha256", "folder", "environment_names", "container"] {
            assert!(facts[fact].starts_with("unknown: No such file"), "{fact}: {}", facts[fact]);
        }
        assert!(command_line.unwrap_err().starts_with("unknown: "));
    }

    proptest! {
        #[test]
        fn never_panics(line in "(?s).{0,200}", variables: Vec<u8>) {
            let _ = argv0(&words(&line));
            let _ = names_of(&variables);
        }
    }
}
