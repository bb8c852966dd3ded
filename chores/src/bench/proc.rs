//! CPU time and memory of processes that no plan observes, from /proc: a server with its children.

use std::fs;

use anyhow::{Context as _, Result};

/// The unit of times in /proc/PID/stat: 100 a second on every Linux that Rust runs on.
const TICKS_A_SECOND: f64 = 100.0;

/// CPU-seconds of `pid`, of its children that run, and of those that it has reaped.
///
/// # Errors
/// When there is no such process.
pub(super) fn family_cpu_s(pid: u32) -> Result<f64> {
    let own = stat(pid).with_context(|| format!("cannot read process {pid} in /proc"))?;
    let children: u64 = processes().filter_map(stat).filter(|s| s.parent == pid).map(|s| s.ticks).sum();
    Ok((own.ticks + own.reaped_ticks + children) as f64 / TICKS_A_SECOND)
}

/// CPU-seconds of the children that this process has reaped.
///
/// # Errors
/// When /proc cannot be read.
pub(super) fn reaped_cpu_s() -> Result<f64> {
    let own = stat(std::process::id()).context("cannot read this process in /proc")?;
    Ok(own.reaped_ticks as f64 / TICKS_A_SECOND)
}

/// The most resident memory that `pid` has had, in megabytes of a million bytes.
///
/// # Errors
/// When there is no such process.
pub(super) fn peak_resident_mb(pid: u32) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))
        .with_context(|| format!("cannot read process {pid} in /proc"))?;
    let peak_kib = kib(&status, "VmHWM:").context("/proc has no peak of the process's memory")?;
    Ok(peak_kib * 1024.0 / 1e6)
}

fn kib(status: &str, field: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[derive(Debug, PartialEq, Eq)]
struct Stat {
    parent: u32,
    /// User and system time.
    ticks: u64,
    /// The same of children that have ended.
    reaped_ticks: u64,
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn stat(pid: u32) -> Option<Stat> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The name in brackets may contain any character, so fields are counted from the last bracket: the parent is the second
/// after it, the four times are the 12th to 15th.
fn parse(text: &str) -> Option<Stat> {
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(Stat {
        parent: fields.get(1)?.parse().ok()?,
        ticks: number(11)? + number(12)?,
        reaped_ticks: number(13)? + number(14)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_brackets_and_blanks_do_not_shift_the_fields() {
        let text = "77 (post) gres: (x y) S 12 77 77 0 -1 4194304 9 8 7 6 150 50 30 20 20 0 1 0 99";
        assert_eq!(parse(text), Some(Stat { parent: 12, ticks: 200, reaped_ticks: 50 }));
        assert_eq!(parse("77 (cut"), None);
    }

    #[test]
    fn memory_is_read_in_its_unit() {
        assert_eq!(kib("Name:\tx\nVmRSS:\t   50000 kB\n", "VmRSS:"), Some(50_000.0));
        assert_eq!(kib("Name:\tx\n", "VmRSS:"), None);
    }

    #[test]
    fn this_process_has_time_and_memory() {
        assert!(family_cpu_s(std::process::id()).expect("it runs") >= 0.0);
        assert!(peak_resident_mb(std::process::id()).expect("it runs") > 0.0);
        assert!(reaped_cpu_s().expect("it runs") >= 0.0);
    }
}
