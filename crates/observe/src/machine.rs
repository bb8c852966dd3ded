//! What machine a run took place on, for its manifest.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;

use crate::proc::{cpu_cores_of_quota, cpu_max_cores, own_cgroup};

/// The machine: `cpu_model`, `cores` (online), `cores_usable` (by affinity and quota, whole ones), `memory_bytes`,
/// `kernel`, `hostname`, `governor` and `cpu_quota_cores`. What cannot be read, or is not set, is absent.
pub fn environment() -> BTreeMap<String, String> {
    let system = rustix::system::uname();
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let online = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    let usable = thread::available_parallelism().ok().map(|cores| cores.to_string());
    let name = system.sysname().to_string_lossy();
    let release = system.release().to_string_lossy();
    let facts = [
        ("cpu_model", value_of(&cpuinfo, "model name")),
        ("cores", (online > 0).then(|| online.to_string()).or_else(|| usable.clone())),
        ("cores_usable", usable),
        ("memory_bytes", memory_bytes().map(|bytes| bytes.to_string())),
        ("kernel", Some(format!("{name} {release}"))),
        ("hostname", Some(system.nodename().to_string_lossy().into_owned())),
        ("governor", trimmed(Path::new("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"))),
        ("cpu_quota_cores", cpu_quota_cores().map(|cores| cores.to_string())),
    ];
    facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// What distinguishes the running kernel of this machine from any other; empty where the system does not say.
pub fn boot_id() -> String {
    trimmed(Path::new("/proc/sys/kernel/random/boot_id")).unwrap_or_default()
}

/// The value of the first line `name : value`.
fn value_of(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}

fn memory_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let kib = value_of(&text, "MemTotal")?;
    kib.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The least quota of the own control group and those above it.
fn cpu_quota_cores() -> Option<f64> {
    let (unified, cpu) = own_cgroup(&fs::read_to_string("/proc/self/cgroup").ok()?);
    let of_v2 = |group: &Path| cpu_max_cores(&fs::read_to_string(group.join("cpu.max")).ok()?);
    let of_v1 = |group: &Path| {
        let file = |name: &str| fs::read_to_string(group.join(name)).ok();
        cpu_cores_of_quota(&file("cpu.cfs_quota_us")?, &file("cpu.cfs_period_us")?)
    };
    let v2 = unified.and_then(|path| least(&path, |group| of_v2(&Path::new("/sys/fs/cgroup").join(group))));
    let v1 = cpu.and_then(|path| least(&path, |group| of_v1(&Path::new("/sys/fs/cgroup/cpu").join(group))));
    v2.into_iter().chain(v1).reduce(f64::min)
}

/// The least quota on the way from the group `path` up to the root.
fn least(path: &str, quota: impl Fn(&Path) -> Option<f64>) -> Option<f64> {
    let path = Path::new(path.trim_start_matches('/'));
    path.ancestors().filter_map(quota).reduce(f64::min)
}

fn trimmed(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn describes_this_machine() {
        let machine = environment();
        let number = |name: &str| machine[name].parse::<u64>().unwrap();
        assert!(number("cores") >= 1 && number("cores_usable") >= 1);
        assert!(number("memory_bytes") > 1024 * 1024);
        assert!(!machine["kernel"].is_empty() && !machine["hostname"].is_empty());
    }

    #[test]
    fn a_quota_above_counts_too() {
        let quota = |group: &Path| match group.to_str() {
            Some("") => None,
            Some("a") => Some(0.5),
            _ => Some(2.0),
        };
        assert_eq!(least("/a/b", quota), Some(0.5));
        assert_eq!(least("/", quota), None);
    }

    #[test]
    fn takes_the_first_value_of_a_name() {
        let text = "processor\t: 0\nmodel name\t: A: fast one\n\nmodel name\t: B\n";
        assert_eq!(value_of(text, "model name").as_deref(), Some("A: fast one"));
        assert_eq!(value_of(text, "model"), None);
    }
}
