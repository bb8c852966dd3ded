//! One reading of a process and all its descendants, added up.

use std::fs;

use crate::error::ObserveError;
use crate::proc::{Memory, parse_stat};
use crate::reading::{Reading, of_stat, read, text};

/// Processes that are read; of a larger family the rest is left out.
pub(crate) const MOST_PROCESSES: usize = 512;
/// Threads of each process whose children are searched.
const MOST_THREADS: usize = 256;

/// Readings of a family until one is taken in which no member ends. In a family whose members end faster than that the
/// last one is used.
const TRIES: usize = 4;

/// Reads process `pid`, which must be the one that started at `start_ticks`, and its descendants.
///
/// What a child that has ended used is part of its parent's time once the parent has waited for it. Parents are read
/// before their children: of one that ends in between nothing is counted, the other way around it would be counted
/// twice. So a family in which one ended is read again.
pub(crate) fn read_family(pid: u32, start_ticks: u64) -> Result<Reading, ObserveError> {
    let mut left = TRIES;
    loop {
        left -= 1;
        let family = family(pid);
        let mut whole = read(pid, start_ticks)?;
        let members: Vec<_> = family.iter().skip(1).map(|child| read_member(*child)).collect();
        if left == 0 || members.iter().all(Option::is_some) {
            members.into_iter().flatten().for_each(|member| add(&mut whole, member));
            return Ok(whole);
        }
    }
}

/// The process and its descendants, parents before their children.
pub(crate) fn family(pid: u32) -> Vec<u32> {
    let mut family = vec![pid];
    let mut asked = 0;
    while asked < family.len() && family.len() < MOST_PROCESSES {
        // A generator that its own target started is not part of the target.
        family.extend(children(family[asked]).into_iter().filter(|child| *child != std::process::id()));
        asked += 1;
    }
    family.truncate(MOST_PROCESSES);
    family
}

/// Whether the system lists the children of a process.
pub(crate) fn lists_children(pid: u32) -> bool {
    fs::metadata(format!("/proc/{pid}/task/{pid}/children")).is_ok()
}

fn children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().filter_map(Result::ok);
    let lists = threads.take(MOST_THREADS).map(|thread| fs::read_to_string(thread.path().join("children")));
    let numbers = |list: String| -> Vec<u32> {
        list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
    };
    lists.filter_map(Result::ok).flat_map(numbers).collect()
}

/// None of one that has ended and was waited for, or that ends while it is read.
fn read_member(pid: u32) -> Option<Reading> {
    let stat = parse_stat(&text(pid, "stat").ok()?).ok()?;
    if stat.is_removed() {
        return None;
    }
    if !stat.has_ended() {
        return read(pid, stat.start_ticks).ok();
    }
    // Its CPU time is counted nowhere else until its parent waits for it; it uses nothing else any more.
    Some(Reading {
        threads: 0,
        processes: 0,
        fds: Some(0),
        switches: Some(Default::default()),
        thread_times: Some(Default::default()),
        ..of_stat(&stat)
    })
}

fn add(whole: &mut Reading, member: Reading) {
    whole.cpu += member.cpu;
    whole.threads += member.threads;
    whole.processes += member.processes;
    whole.memory = match (whole.memory, member.memory) {
        (Some(sum), Some(more)) => {
            Some(Memory { own: sum.own.saturating_add(more.own), shared: sum.shared.max(more.shared) })
        }
        (sum, more) => sum.or(more),
    };
    whole.processors = match (whole.processors.take(), member.processors) {
        (Some(mut all), Some(more)) => {
            all.extend(more);
            Some(all)
        }
        (all, more) => all.or(more),
    };
    // A sum that lacks one process would look like a change.
    whole.fds = whole.fds.zip(member.fds).map(|(sum, fds)| sum + fds);
    whole.switches = whole.switches.take().zip(member.switches).map(|(mut all, more)| {
        all.extend(more);
        all
    });
    whole.thread_times = whole.thread_times.take().zip(member.thread_times).map(|(mut all, more)| {
        all.extend(more);
        all
    });
}
