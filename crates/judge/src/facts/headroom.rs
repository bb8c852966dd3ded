//! How near the targets were to their limits, as far as they were observed.

use std::collections::BTreeSet;

use evidence::run::ReadError;
use evidence::{Coverage, Run, SeriesKey};

use crate::facts::WINDOW_S;

/// A target that uses a larger share of a limit is near it.
pub(crate) const NEAR_LIMIT: f64 = 0.70;
/// Series of processors in use, in cores.
const CORES: [&str; 2] = ["cpu", "cgroup_cpu"];
/// What a pool has in use …
const IN_USE: &str = "_in_use";
/// … and how much it may have.
const LIMITS: [&str; 3] = ["_limit", "_max", "_size"];

/// How near the targets were to their limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Headroom {
    /// Processors and pools of every target were used by less than 70 %.
    Ample,
    /// One was used by more.
    Small,
    /// One was not observed.
    Unknown,
}

/// The headroom of the targets of a run.
pub(super) fn headroom(run: &dyn Run) -> Result<Headroom, ReadError> {
    let mut all = Headroom::Ample;
    let mut targets: BTreeSet<&str> = run.manifest().targets.keys().map(String::as_str).collect();
    let is_of_target =
        |series: &&SeriesKey| CORES.contains(&&*series.name) && *series.target != *SeriesKey::GENERATOR;
    targets.extend(run.series().iter().filter(is_of_target).map(|series| &*series.target));
    if targets.is_empty() {
        return Ok(Headroom::Unknown);
    }
    for target in targets {
        for headroom in [processors(run, target)?, pools(run, target)?] {
            all = match (all, headroom) {
                (Headroom::Small, _) | (_, Headroom::Small) => Headroom::Small,
                (Headroom::Unknown, _) | (_, Headroom::Unknown) => Headroom::Unknown,
                (Headroom::Ample, Headroom::Ample) => Headroom::Ample,
            };
        }
    }
    Ok(all)
}

fn processors(run: &dyn Run, target: &str) -> Result<Headroom, ReadError> {
    let mut used = None;
    for name in CORES {
        used = used.or(highest(run, target, name)?);
    }
    let environment = &run.manifest().environment;
    let of_machine =
        ["cores_usable", "cores"].into_iter().find_map(|name| environment.get(name)?.parse().ok());
    let quota = highest(run, target, "cgroup_cpu_limit")?.or(of_machine);
    let limit = [quota, highest(run, target, "cpus_allowed")?].into_iter().flatten().reduce(f64::min);
    Ok(of_limit(used, limit))
}

/// The pools of a target: each has a series of what is in use, and one of its limit.
fn pools(run: &dyn Run, target: &str) -> Result<Headroom, ReadError> {
    let mut fullest = Headroom::Unknown;
    for series in run.series().iter().filter(|series| &*series.target == target) {
        let Some(pool) = series.name.strip_suffix(IN_USE) else { continue };
        let mut limit = None;
        for suffix in LIMITS {
            limit = limit.or(highest(run, target, &format!("{pool}{suffix}"))?);
        }
        match of_limit(highest(run, target, &series.name)?, limit) {
            Headroom::Unknown => return Ok(Headroom::Unknown),
            Headroom::Small => fullest = Headroom::Small,
            Headroom::Ample if fullest == Headroom::Unknown => fullest = Headroom::Ample,
            Headroom::Ample => {}
        }
    }
    Ok(fullest)
}

fn of_limit(used: Option<f64>, limit: Option<f64>) -> Headroom {
    match used.zip(limit) {
        Some((used, limit)) if used < NEAR_LIMIT * limit => Headroom::Ample,
        Some(_) => Headroom::Small,
        None => Headroom::Unknown,
    }
}

/// The highest mean over [`WINDOW_S`] of the sum of a series' parts.
fn highest(run: &dyn Run, target: &str, name: &str) -> Result<Option<f64>, ReadError> {
    let parts = run.series().iter().filter(|series| &*series.target == target && &*series.name == name);
    let mut sum = None;
    for part in parts {
        let values: Vec<f64> = Coverage::read(run, part)?.all().iter().map(|sample| sample.value).collect();
        let width = values.len().clamp(1, WINDOW_S as usize);
        let worst = values.windows(width).filter_map(stats::mean).reduce(f64::max);
        // Sums of the parts' own highest are at least the highest sum.
        sum = worst.map(|worst| worst + sum.unwrap_or(0.0)).or(sum);
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Load, TestRun};

    fn observed(series: &[(&str, f64)]) -> Headroom {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(10));
        test_run.edit(|manifest| {
            manifest.environment.insert("cores".to_owned(), "4".to_owned());
        });
        for (name, value) in series {
            test_run.observe(&SeriesKey::new(name, "web", "1"), 0..70, *value);
        }
        headroom(&test_run.run).unwrap()
    }

    #[test]
    fn processors_and_pools_are_compared_with_their_limits() {
        let calm = [("cpu", 2.0), ("db_pool_in_use", 3.0), ("db_pool_max", 10.0)];
        assert_eq!(observed(&calm), Headroom::Ample);
        assert_eq!(observed(&calm[..1]), Headroom::Unknown, "no pool was observed");
        assert_eq!(observed(&calm[1..]), Headroom::Unknown, "no processor was observed");
        assert_eq!(observed(&[("cpu", 2.9), calm[1], calm[2]]), Headroom::Small);
        assert_eq!(observed(&[calm[0], ("cpus_allowed", 2.0), calm[1], calm[2]]), Headroom::Small);
        assert_eq!(observed(&[("cpu", 2.9), ("cpus_allowed", 64.0), calm[1], calm[2]]), Headroom::Small);
        assert_eq!(observed(&[calm[0], ("db_pool_in_use", 8.0), calm[2]]), Headroom::Small);
        assert_eq!(
            observed(&[("cgroup_cpu", 0.9), ("cgroup_cpu_limit", 1.0), calm[1], calm[2]]),
            Headroom::Small
        );
        assert_eq!(observed(&[]), Headroom::Unknown);
    }
}
