//! One look at a process by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::time::Duration;

use crate::error::ObserveError;
use crate::proc::{Memory, Stat, ThreadTimes, parse_processors, parse_schedstat, parse_stat, parse_status};

/// Threads whose context switches are read; of a process with more they are left out.
const THREADS_LIMIT: u64 = 1024;

/// What a process, or a family of them, was at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reading {
    /// CPU time since the process began, with that of children it has waited for.
    ///
    /// From `utime + stime + cutime + cstime` of `/proc/PID/stat`: printed in clock ticks (10 ms), so that a rate over one
    /// second is off by at most 0.02 cores, and errors of successive seconds cancel. The sum of
    /// `/proc/PID/task/*/schedstat` has nanoseconds, and loses a thread's time when the thread ends, which
    /// does not cancel; a pool that sheds threads would look idle.
    pub(crate) cpu: Duration,
    /// Resident memory. Of a family, the shared part is the largest of any member: the system does not show which
    /// processes share what.
    pub(crate) memory: Option<Memory>,
    /// Numbers of the processors that it may run on; none when the system does not list them.
    pub(crate) processors: Option<BTreeSet<u32>>,
    /// Threads that live.
    pub(crate) threads: u64,
    /// Processes that live.
    pub(crate) processes: u64,
    /// Open file descriptors; none when they may not be looked at.
    pub(crate) fds: Option<u64>,
    /// Context switches of each thread; none when there are too many threads to ask each second.
    pub(crate) switches: Option<BTreeMap<u32, Switches>>,
    /// Times of each thread; none like switches, and where the system does not count them.
    pub(crate) thread_times: Option<BTreeMap<u32, ThreadTimes>>,
}

/// Context switches of one thread since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Switches {
    /// It had to wait for something.
    pub(crate) voluntary: u64,
    /// It was made to leave the core.
    pub(crate) involuntary: u64,
}

/// Reads process `pid`, which must be the one that started at `start_ticks`.
pub(crate) fn read(pid: u32, start_ticks: u64) -> Result<Reading, ObserveError> {
    let stat = read_stat(pid)?;
    if stat.start_ticks != start_ticks {
        return Err(ObserveError::Replaced { pid });
    }
    let status = text(pid, "status")?;
    let is_read = stat.threads <= THREADS_LIMIT;
    let switches = if is_read { read_switches(pid) } else { None };
    let thread_times = if is_read { read_thread_times(pid) } else { None };
    Ok(Reading {
        memory: parse_status(&status).memory,
        processors: parse_processors(&status),
        fds: count_fds(pid),
        switches,
        thread_times,
        ..of_stat(&stat)
    })
}

/// The reading that `stat` alone gives.
pub(crate) fn of_stat(stat: &Stat) -> Reading {
    let cpu = of_ticks(stat.cpu_ticks.saturating_add(stat.waited_ticks));
    Reading {
        cpu,
        memory: None,
        processors: None,
        threads: stat.threads,
        processes: 1,
        fds: None,
        switches: None,
        thread_times: None,
    }
}

/// The `stat` of a process that lives.
pub(crate) fn read_stat(pid: u32) -> Result<Stat, ObserveError> {
    let stat = parse_stat(&text(pid, "stat")?)
        .map_err(|what| ObserveError::Malformed { path: format!("/proc/{pid}/stat"), what })?;
    if stat.has_ended() { Err(ObserveError::Gone { pid }) } else { Ok(stat) }
}

/// Clock ticks as time.
pub(crate) fn of_ticks(ticks: u64) -> Duration {
    let hertz = rustix::param::clock_ticks_per_second().max(1);
    Duration::from_secs(ticks / hertz)
        + Duration::from_secs(ticks % hertz) / u32::try_from(hertz).unwrap_or(1)
}

/// A file of the process; its name and arguments may be any bytes.
pub(crate) fn text(pid: u32, file: &str) -> Result<String, ObserveError> {
    let path = format!("/proc/{pid}/{file}");
    match fs::read(&path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(_) if !cfg!(target_os = "linux") => Err(ObserveError::NotAvailable),
        // ESRCH: it ended between the file's opening and its reading.
        Err(error)
            if error.kind() == io::ErrorKind::NotFound
                || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) =>
        {
            Err(ObserveError::Gone { pid })
        }
        Err(source) => Err(ObserveError::Read { path, source }),
    }
}

/// Since Linux 6.2 the size of `/proc/PID/fd` is the number of descriptors; before, they are counted.
fn count_fds(pid: u32) -> Option<u64> {
    let folder = format!("/proc/{pid}/fd");
    // Asking for the size needs no right to look inside, and before 6.2 gives 0 for everyone.
    match fs::metadata(&folder).ok()?.len() {
        0 => Some(fs::read_dir(&folder).ok()?.count() as u64),
        count => Some(count),
    }
}

/// The numbers of its threads.
fn threads(pid: u32) -> Option<impl Iterator<Item = u32>> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    Some(threads.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok()))
}

fn read_thread_times(pid: u32) -> Option<BTreeMap<u32, ThreadTimes>> {
    let times = threads(pid)?.filter_map(|tid| {
        let text = text(pid, &format!("task/{tid}/schedstat")).ok()?;
        Some((tid, parse_schedstat(&text)?))
    });
    Some(times.collect()).filter(|times: &BTreeMap<_, _>| !times.is_empty())
}

fn read_switches(pid: u32) -> Option<BTreeMap<u32, Switches>> {
    // A thread that ends meanwhile is left out.
    let switches = threads(pid)?.filter_map(|tid| {
        let status = parse_status(&text(pid, &format!("task/{tid}/status")).ok()?);
        Some((tid, Switches { voluntary: status.voluntary?, involuntary: status.involuntary? }))
    });
    Some(switches.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_hundredths_of_a_second_here() {
        let hertz = rustix::param::clock_ticks_per_second();
        assert_eq!(of_ticks(hertz * 3), Duration::from_secs(3));
        assert_eq!(of_ticks(hertz / 2), Duration::from_millis(500));
    }

    #[test]
    fn reads_itself() {
        let pid = std::process::id();
        let start_ticks = read_stat(pid).unwrap().start_ticks;
        let reading = read(pid, start_ticks).unwrap();
        assert!(reading.memory.unwrap().own > 0 && reading.threads > 0 && reading.fds.unwrap() > 0);
        assert!(!reading.switches.unwrap().is_empty());
        assert!(reading.thread_times.unwrap().values().any(|times| times.ran > Duration::ZERO));
        assert!(matches!(read(pid, start_ticks + 1), Err(ObserveError::Replaced { .. })));
    }
}
