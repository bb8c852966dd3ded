//! A control group: a real one where one may be made, and folders with the same files.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use evidence::NoticeKind;
use observe::CgroupRef;
use peers::poll;

use crate::child::Peer;
use crate::looking::Looking;

/// As long as a container's, and of its kind.
const ID: &str = "0c1f5e9ad3b87264";

fn watch(group: CgroupRef) -> Looking {
    Looking::new(observe::cgroup("shop", group).unwrap())
}

/// A group of its own for a test, of which a container's daemon might have chosen the name; removed when dropped.
struct Group(PathBuf);

impl Group {
    /// None where it may not be made.
    fn new() -> Option<Group> {
        let id = format!("{ID}{:016x}", std::process::id());
        let roots = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"].map(Path::new);
        let root = roots.into_iter().find(|root| root.join("cgroup.procs").exists())?;
        let folder = root.join(format!("docker-{id}.scope"));
        fs::create_dir(&folder).ok()?;
        Some(Group(folder))
    }

    fn id(&self) -> String {
        self.0.file_name().unwrap().to_str().unwrap()["docker-".len()..].trim_end_matches(".scope").to_owned()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // It is busy until its last process has been reaped.
        poll::until(Duration::from_secs(10), || fs::remove_dir(&self.0).is_ok());
    }
}

#[test]
fn a_group_uses_what_its_processes_use() {
    let Some(group) = Group::new() else {
        // Where no group may be made, the group that this process is in is watched instead.
        let of = fs::read_to_string("/proc/self/cgroup").unwrap();
        let path = of.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/").to_owned();
        let mut looking = watch(CgroupRef::Path(path));
        looking.look();
        assert!(looking.look().value("cgroup_cpu", "").is_some());
        return;
    };
    for by in [CgroupRef::Container(group.id()), CgroupRef::Path(group.0.display().to_string())] {
        let mut peer = Peer::new();
        peer.order("cpu");
        fs::write(group.0.join("cgroup.procs"), peer.pid().to_string()).unwrap();
        let mut looking = watch(by);
        let begun = Instant::now();
        looking.look();
        let before = peer.cpu("cpu");
        let used = (peer.cpu("burn 300") - before).as_secs_f64();
        let seen = looking.look();
        let at_most = begun.elapsed().as_secs_f64();
        let cores = seen.value("cgroup_cpu", "").unwrap();
        // It was watched for as long as it burned at least, and no longer than the test took.
        assert!(cores > used / at_most * 0.9 && cores < 2.5, "{cores} cores, {used} s used");
    }
    let folder = group.0.display().to_string();
    let mut looking = watch(CgroupRef::Path(folder.clone()));
    looking.look();
    drop(group);
    let gone = looking.look();
    assert_eq!((gone.kinds(), gone.names()), (vec![NoticeKind::Gone], vec![]));
    assert_eq!(gone.texts(), [format!("the control group {folder} is gone")]);
}

/// Files as the kernel writes them.
fn write(folder: &Path, usage_us: u64, throttled: u64, oom_kills: u64) {
    fs::create_dir_all(folder).unwrap();
    let file = |name: &str, text: String| fs::write(folder.join(name), text).unwrap();
    file(
        "cpu.stat",
        format!(
            "usage_usec {usage_us}\nuser_usec 1\nnr_periods {}\nnr_throttled {throttled}\nthrottled_usec {}\n",
            throttled * 4,
            throttled * 1_000
        ),
    );
    file("cpu.max", "50000 100000\n".to_owned());
    file("memory.current", "1048576\n".to_owned());
    file("memory.max", "max\n".to_owned());
    file("memory.events", format!("low 0\noom {oom_kills}\noom_kill {oom_kills}\n"));
    file(
        "memory.pressure",
        format!("some avg10=0.00 avg60=0.00 avg300=0.00 total={usage_us}\nfull total=1\n"),
    );
}

#[test]
fn throttling_limits_and_kills_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 1_000_000, 100, 0);
    let mut looking = watch(CgroupRef::Path(folder.path().display().to_string()));
    let seen = looking.look();
    assert_eq!(
        (seen.value("cgroup_memory", ""), seen.value("cgroup_cpu_limit", "")),
        (Some(1_048_576.0), Some(0.5))
    );
    assert_eq!(seen.value("cgroup_memory_limit", ""), None, "`max` is not a limit");
    write(folder.path(), 1_500_000, 130, 2);
    let seen = looking.look();
    assert_eq!(seen.value("cgroup_throttled", ""), Some(0.25));
    assert!(seen.value("cgroup_throttled_time", "").unwrap() > 0.0);
    assert!(seen.value("cgroup_oom_kills", "").unwrap() > 0.0);
    assert!(seen.value("cgroup_pressure_memory", "").unwrap() > 0.0);
    assert_eq!(seen.value("cgroup_pressure_io", ""), None);
    assert_eq!(seen.texts(), ["the kernel killed 2 of its processes because it was out of memory, so far"]);
}

#[test]
fn a_group_that_began_anew_has_no_rates() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 9_000_000, 100, 0);
    let mut looking = watch(CgroupRef::Path(folder.path().display().to_string()));
    looking.look();
    write(folder.path(), 5, 0, 0);
    let seen = looking.look();
    assert_eq!(seen.kinds(), [NoticeKind::Restarted]);
    assert_eq!(seen.names(), ["cgroup_cpu_limit", "cgroup_memory"]);
}

#[test]
fn another_group_of_the_same_name_has_no_rates_even_if_it_did_more() {
    let folder = tempfile::tempdir().unwrap();
    let [group, other] = ["group", "other"].map(|name| folder.path().join(name));
    write(&group, 5_000, 1, 0);
    let mut looking = watch(CgroupRef::Path(group.display().to_string()));
    looking.look();
    write(&other, 9_000_000, 100, 0);
    fs::remove_dir_all(&group).unwrap();
    fs::rename(&other, &group).unwrap();
    let seen = looking.look();
    assert_eq!(seen.texts(), ["reset 1: its counters began anew; their rates have a gap"]);
    assert_eq!(seen.names(), ["cgroup_cpu_limit", "cgroup_memory"]);
    write(&group, 9_500_000, 130, 0);
    assert_eq!(looking.look().value("cgroup_throttled", ""), Some(0.25));
}

#[test]
fn a_missing_group_is_reported() {
    let seen = watch(CgroupRef::Path("no/such/group".to_owned())).look();
    assert_eq!(seen.texts(), ["there is no control group of version 2 at `no/such/group`"]);
    let seen = watch(CgroupRef::Container("plimsoll-no-such-container".to_owned())).look();
    assert!(
        seen.texts()[0].starts_with("no container `plimsoll-no-such-container` is known"),
        "{:?}",
        seen.texts()
    );
}
