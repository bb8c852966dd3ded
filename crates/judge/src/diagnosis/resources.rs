//! The resources of a run: how much of each is used, how much there is, and how long requests wait for it.

use evidence::diagnosis::ResourceUse;
use evidence::run::ReadError;
use evidence::{Coverage, Run, SeriesKey, Window};

/// From this share of the machine's processors on, what other processes use is much.
const MAX_OTHERS: f64 = 0.10;
/// What a pool has in use …
const IN_USE: &str = "_in_use";
/// … and how much it may have.
const LIMITS: [&str; 3] = ["_limit", "_max", "_size"];
/// … and the seconds a second that are waited for it.
const WAITS: [&str; 3] = ["_wait_seconds_sum", "_wait_seconds_total", "_wait_duration_seconds_total"];
/// The machine's series.
const HOST: &str = "host";

/// What each target and the machine used in `window`, where its limit is known too, and how long each of `completions_per_s`
/// waited for it.
pub(crate) fn uses(
    run: &dyn Run,
    window: Window,
    completions_per_s: f64,
) -> Result<Vec<ResourceUse>, ReadError> {
    let observed = ObservedRun { run, window, completions_per_s };
    let mut targets: Vec<&str> = run.series().iter().map(|series| &*series.target).collect();
    targets.sort_unstable();
    targets.dedup();
    let mut uses = Vec::new();
    for target in targets.into_iter().filter(|target| *target != SeriesKey::GENERATOR && *target != HOST) {
        uses.extend(observed.processors(target)?);
        uses.extend(observed.pools(target)?);
    }
    let machine = observed.machine(&uses)?;
    uses.extend(machine);
    Ok(uses)
}

struct ObservedRun<'a> {
    run: &'a dyn Run,
    window: Window,
    completions_per_s: f64,
}

impl ObservedRun<'_> {
    /// The mean of the sum of a series' parts.
    fn mean(&self, target: &str, name: &str) -> Result<Option<f64>, ReadError> {
        let mut sum = None;
        for series in self.run.series().iter().filter(|key| &*key.target == target && &*key.name == name) {
            let integral = Coverage::read(self.run, series)?.integral(self.window);
            if integral.covered_s > 0.0 {
                sum = Some(sum.unwrap_or(0.0) + integral.sum / integral.covered_s);
            }
        }
        Ok(sum)
    }

    fn cores(&self) -> Option<f64> {
        let environment = &self.run.manifest().environment;
        ["cores_usable", "cores"].into_iter().find_map(|name| environment.get(name)?.parse().ok())
    }

    fn processors(&self, target: &str) -> Result<Vec<ResourceUse>, ReadError> {
        let mut uses = Vec::new();
        let quota = self.mean(target, "cgroup_cpu_limit")?;
        let allowed = self.mean(target, "cpus_allowed")?;
        let processors = [quota.or(self.cores()), allowed].into_iter().flatten().reduce(f64::min);
        for (series, limit, what) in [("cgroup_cpu", quota, "CPU quota of"), ("cpu", processors, "CPU of")] {
            if let (Some(used), Some(limit)) =
                (self.mean(target, series)?, limit.filter(|limit| *limit > 0.0))
            {
                uses.push(ResourceUse {
                    name: format!("{what} {target}"),
                    series: series.to_owned(),
                    used,
                    limit,
                    wait_s: None,
                });
            }
        }
        Ok(uses)
    }

    fn pools(&self, target: &str) -> Result<Vec<ResourceUse>, ReadError> {
        let mut names: Vec<&str> =
            self.run.series().iter().filter(|key| &*key.target == target).map(|key| &*key.name).collect();
        names.sort_unstable();
        names.dedup();
        let mut uses = Vec::new();
        for name in names {
            let Some(pool) = name.strip_suffix(IN_USE) else { continue };
            let mut limit = None;
            for suffix in LIMITS {
                limit = limit.or(self.mean(target, &format!("{pool}{suffix}"))?);
            }
            let mut waited = None;
            for suffix in WAITS {
                waited = waited.or(self.mean(target, &format!("{pool}{suffix}"))?);
            }
            if let (Some(used), Some(limit)) = (self.mean(target, name)?, limit.filter(|limit| *limit > 0.0))
            {
                uses.push(ResourceUse {
                    name: format!("{pool} of {target}"),
                    series: name.to_owned(),
                    used,
                    limit,
                    wait_s: waited
                        .filter(|_| self.completions_per_s > 0.0)
                        .map(|s| s / self.completions_per_s),
                });
            }
        }
        Ok(uses)
    }

    /// The processors of the machine, which the generator uses too; none where other processes than it and the targets may
    /// have used much of them: what neighbours fill is not what the load brings to its limit.
    fn machine(&self, targets: &[ResourceUse]) -> Result<Option<ResourceUse>, ReadError> {
        let used = self.mean(HOST, "host_cpu")?;
        let generator = self.mean(SeriesKey::GENERATOR, "cpu")?;
        let generator = generator.or(self.mean(SeriesKey::GENERATOR, "loop_cpu")?).unwrap_or(0.0);
        let targets = targets.iter().filter(|resource| resource.series == "cpu");
        let known = generator + targets.map(|target| target.used).sum::<f64>();
        let limit = ["cores", "cores_usable"]
            .into_iter()
            .find_map(|name| self.run.manifest().environment.get(name)?.parse::<f64>().ok());
        let of_load = used.zip(limit).filter(|(used, limit)| used - known < MAX_OTHERS * limit);
        Ok(of_load.map(|(used, limit)| ResourceUse {
            name: "CPU of the machine, the generator's included".to_owned(),
            series: "host_cpu".to_owned(),
            used,
            limit,
            wait_s: None,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Load, TestRun};

    #[test]
    fn a_target_has_no_more_processors_than_its_affinity_and_quota_allow() {
        let of = |series: &[(&str, f64)]| {
            let mut test_run = TestRun::new().offer("steady", "list", Load::ok(10));
            test_run.edit(|manifest| {
                manifest.environment.insert("cores".to_owned(), "4".to_owned());
            });
            for (name, value) in series {
                test_run.observe(&SeriesKey::new(name, "web", "1"), 0..70, *value);
            }
            let window = Window::new(&test_run.run.whole());
            let all = uses(&test_run.run, window, 10.0).unwrap();
            all.into_iter().find(|it| it.series == "cpu").map(|it| it.limit)
        };
        assert_eq!(of(&[("cpu", 0.9)]), Some(4.0));
        assert_eq!(of(&[("cpu", 0.9), ("cpus_allowed", 1.0)]), Some(1.0));
        assert_eq!(of(&[("cpu", 0.9), ("cpus_allowed", 2.0), ("cgroup_cpu_limit", 0.5)]), Some(0.5));
        assert_eq!(of(&[("cpu", 0.9), ("cpus_allowed", 64.0)]), Some(4.0), "the machine's quota counts too");
        assert_eq!(of(&[("cpus_allowed", 1.0)]), None);
    }

    #[test]
    fn a_machine_that_neighbours_fill_is_no_resource_of_the_target() {
        let of = |host: f64, target: f64| {
            let mut test_run = TestRun::new().offer("steady", "list", Load::ok(10));
            test_run.edit(|manifest| {
                manifest.environment.insert("cores".to_owned(), "2".to_owned());
            });
            let series =
                [("host_cpu", HOST, host), ("cpu", SeriesKey::GENERATOR, 0.2), ("cpu", "web", target)];
            for (name, of, value) in series {
                test_run.observe(&SeriesKey::new(name, of, "cores"), 0..70, value);
            }
            let window = Window::new(&test_run.run.whole());
            let all = uses(&test_run.run, window, 10.0).unwrap();
            all.iter().any(|it| it.series == "host_cpu")
        };
        assert!(of(1.99, 1.7), "0.09 cores of others");
        assert!(!of(1.99, 0.05), "1.74 cores of others");
    }

    #[test]
    fn a_pool_is_waited_for_as_long_as_its_metrics_say() {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(10));
        let series = [("db_in_use", 3.5), ("db_max", 4.0), ("db_wait_seconds_sum", 0.2)];
        for (name, value) in series {
            test_run.observe(&SeriesKey::new(name, "web", "1"), 0..70, value);
        }
        let window = Window::new(&test_run.run.whole());
        let pools = uses(&test_run.run, window, 10.0).unwrap();
        let [pool] = &pools[..] else { panic!("{pools:?}") };
        assert!((pool.used - 3.5).abs() < 1e-9 && (pool.limit - 4.0).abs() < 1e-9, "{pool:?}");
        assert!(
            (pool.wait_s.unwrap() - 0.02).abs() < 1e-12,
            "0.2 s a second for 10 requests a second: {pool:?}"
        );
    }
}
