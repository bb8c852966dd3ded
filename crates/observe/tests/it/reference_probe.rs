//! The probe beside a process, by what the kernel says of its thread.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use evidence::{Instant, SeriesKey};
use observe::{Observer as _, ProcessRef, ReferenceProbe};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::child::Peer;

/// The folder of the probe's thread in `/proc`.
fn thread_of_probe() -> Option<PathBuf> {
    let threads = fs::read_dir("/proc/self/task").unwrap().filter_map(Result::ok);
    let is_probe = |path: &PathBuf| {
        fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == "probe-rounds")
    };
    threads.map(|thread| thread.path()).find(is_probe)
}

#[test]
fn the_probe_works_on_the_processor_of_its_target_and_says_what_that_takes() {
    let peer = Peer::new();
    let pid = i32::try_from(peer.pid()).unwrap();
    let usable = sched_getaffinity(None).unwrap();
    let last = (0..CpuSet::MAX_CPU).rev().find(|cpu| usable.is_set(*cpu)).unwrap();
    let mut only = CpuSet::new();
    only.set(last);
    sched_setaffinity(Pid::from_raw(pid), &only).unwrap();
    let mut probe = ReferenceProbe::new(vec![ProcessRef::Pid(peer.pid())]);
    assert_eq!(probe.sample(Instant::EPOCH), [], "the first sample begins the rounds");

    let (mut rounds, mut cost) = (Vec::new(), Duration::ZERO);
    while rounds.len() < 10 {
        std::thread::yield_now();
        rounds.extend(probe.sample(Instant::EPOCH));
        cost += probe.take_cost();
    }
    let thread = thread_of_probe().unwrap();
    let status = fs::read_to_string(thread.join("status")).unwrap();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    assert_eq!(allowed.trim(), last.to_string());
    let used = fs::read_to_string(thread.join("schedstat")).unwrap();
    let used: u64 = used.split(' ').next().unwrap().parse().unwrap();
    assert!(cost.as_nanos() <= u128::from(used), "{cost:?} of {used} ns by the kernel");
    assert!(rounds.iter().all(|(key, _)| *key == SeriesKey::reference_probe()));
    let us: f64 = rounds.iter().map(|(_, sample)| sample.value).sum();
    assert!(us > 0.0 && us / 1e6 <= cost.as_secs_f64(), "{us} us of rounds in {cost:?}");
    assert_eq!(probe.take_notices(), []);
    drop(probe);
    assert_eq!(thread_of_probe(), None, "its thread ends with it");
}
