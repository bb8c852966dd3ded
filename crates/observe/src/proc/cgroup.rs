//! `/proc/self/cgroup` and the CPU quota of a control group.

/// The paths of the own control group: that of version 2, and that of version 1's `cpu` controller.
pub(crate) fn own_cgroup(text: &str) -> (Option<String>, Option<String>) {
    let (mut unified, mut cpu) = (None, None);
    for line in text.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(id), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        if id == "0" && controllers.is_empty() {
            unified = Some(path.to_owned());
        } else if controllers.split(',').any(|controller| controller == "cpu") {
            cpu = Some(path.to_owned());
        }
    }
    (unified, cpu)
}

/// The cores that `cpu.max` of version 2 allows; none when it sets no limit.
pub(crate) fn cpu_max_cores(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    cpu_cores_of_quota(quota, period)
}

/// The cores that a quota a period allows, both in microseconds; none for `max` or a negative quota.
pub(crate) fn cpu_cores_of_quota(quota_us: &str, period_us: &str) -> Option<f64> {
    let quota_us: u32 = quota_us.trim().parse().ok()?;
    let period_us: u32 = period_us.trim().parse().ok().filter(|period_us| *period_us > 0)?;
    Some(f64::from(quota_us) / f64::from(period_us))
}

/// The number in the line `name NUMBER` of `cpu.stat`, `memory.events` and their like.
pub(crate) fn count_of(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn finds_the_own_group_in_both_versions() {
        let paths = own_cgroup("9:name=systemd:/\n4:cpu,cpuacct:/a\n1:cpuset:/x\n0::/b:c\n");
        assert_eq!(paths, (Some("/b:c".to_owned()), Some("/a".to_owned())));
    }

    #[test]
    fn reads_quotas() {
        assert_eq!(cpu_max_cores("150000 100000\n"), Some(1.5));
        assert_eq!(cpu_max_cores("max 100000\n"), None);
        assert_eq!(cpu_cores_of_quota("-1\n", "100000\n"), None);
        assert_eq!(cpu_cores_of_quota("100", "0"), None);
    }

    #[test]
    fn counts_are_found_by_their_whole_name() {
        let text = "low 0\noom_kill_group 7\noom_kill 3\nmax many\n";
        assert_eq!(count_of(text, "oom_kill"), Some(3));
        assert_eq!((count_of(text, "oom"), count_of(text, "max")), (None, None));
    }

    proptest! {
        #[test]
        fn never_panics(text in "(?s).{0,200}") {
            let _ = own_cgroup(&text);
            let _ = cpu_max_cores(&text);
            let _ = count_of(&text, "usage_usec");
        }
    }
}
