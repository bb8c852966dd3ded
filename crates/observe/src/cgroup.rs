//! Watches a control group of version 2: the usage of its processes together, limits, throttling, pressure.

mod find;

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use evidence::{NoticeKind, SeriesKey};

use crate::observer::Observer;
use crate::proc::{count_of, cpu_max_cores, parse_pressure_us};
use crate::remote::{Query, QueryResult, Remote};
pub use find::CgroupRef;
pub(crate) use find::{CONTAINER_TOOLS, inspect};

/// Watches the control group that `group` names, as part of the target named `target`, once a second. It is looked for
/// when it is first watched, and again when it is gone: a container that is started again has another.
///
/// # Errors
/// When the system gives no thread.
pub fn cgroup(target: &str, group: CgroupRef) -> io::Result<Box<dyn Observer>> {
    let query = CgroupQuery { target: target.to_owned(), group, watched: None, was: None, resets: 0 };
    // Finding a container may mean asking its daemon, which may take its time.
    Ok(Box::new(Remote::start(&format!("{target} cgroup"), Duration::from_secs(1), query)?))
}

struct CgroupQuery {
    target: String,
    group: CgroupRef,
    watched: Option<Watched>,
    /// The folder that was watched before it was gone.
    was: Option<PathBuf>,
    resets: usize,
}

struct Watched {
    folder: PathBuf,
    base: (Instant, Counters),
}

/// What only grows; files that a group does not have are absent.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Counters {
    /// Distinguishes the group from another that has its name later.
    inode: u64,
    usage_us: u64,
    periods: Option<u64>,
    throttled: Option<u64>,
    throttled_us: Option<u64>,
    oom_kills: Option<u64>,
    pressures_us: [Option<u64>; 3],
}

/// Files of pressure, and the series of each.
const PRESSURES: [(&str, &str); 3] = [
    ("cpu.pressure", "cgroup_pressure_cpu"),
    ("memory.pressure", "cgroup_pressure_memory"),
    ("io.pressure", "cgroup_pressure_io"),
];

/// Name, unit and value.
type Value = (&'static str, &'static str, f64);

impl Query for CgroupQuery {
    fn query(&mut self) -> Result<QueryResult, String> {
        let mut remarks = Vec::new();
        if self.watched.is_none() {
            self.watched = Some(self.begin(&mut remarks)?);
        }
        let Some(watched) = &mut self.watched else { return Ok(QueryResult::default()) };
        let at = Instant::now();
        let Some(counters) = Counters::read(&watched.folder) else {
            let folder = watched.folder.clone();
            self.watched = None;
            let gone = format!("the control group {} is gone", folder.display());
            self.was = Some(folder);
            return Err(gone);
        };
        let (base_at, base) = std::mem::replace(&mut watched.base, (at, counters));
        let mut values = levels(&watched.folder);
        match rates(&base, &counters, at.duration_since(base_at)) {
            Some(rates) => values.extend(rates),
            None => {
                self.resets += 1;
                // Numbered, so that each is reported.
                let text = format!("reset {}: its counters began anew; their rates have a gap", self.resets);
                remarks.push((NoticeKind::Restarted, text));
            }
        }
        if counters.oom_kills > base.oom_kills {
            let text = format!(
                "the kernel killed {} of its processes because it was out of memory, so far",
                counters.oom_kills.unwrap_or(0)
            );
            remarks.push((NoticeKind::Remark, text));
        }
        let key = |(name, unit, value)| (SeriesKey::new(name, &self.target, unit), value);
        Ok(QueryResult { values: values.into_iter().map(key).collect(), remarks })
    }
}

impl CgroupQuery {
    fn begin(&mut self, remarks: &mut Vec<(NoticeKind, String)>) -> Result<Watched, String> {
        let folder = self.group.find()?;
        let at = Instant::now();
        let read = Counters::read(&folder);
        let counters = read.ok_or_else(|| format!("{}/cpu.stat cannot be read", folder.display()))?;
        if let Some(was) = self.was.take().filter(|was| *was != folder) {
            let text = format!(
                "its control group was {} and is {} now: it was restarted",
                was.display(),
                folder.display()
            );
            remarks.push((NoticeKind::Restarted, text));
        }
        if counters.periods.is_none() || !folder.join("memory.current").exists() {
            let text = "the group lacks controllers (cpu, memory): some of its series are missing".to_owned();
            remarks.push((NoticeKind::Unreadable, text));
        }
        Ok(Watched { folder, base: (at, counters) })
    }
}

impl Counters {
    /// All of them; 0 where there is none.
    fn counts(&self) -> impl Iterator<Item = u64> {
        let others = [self.periods, self.throttled, self.throttled_us, self.oom_kills];
        let all = others.into_iter().chain(self.pressures_us).map(Option::unwrap_or_default);
        std::iter::once(self.usage_us).chain(all)
    }

    /// None when the group is gone.
    fn read(folder: &Path) -> Option<Counters> {
        let text = |file: &str| fs::read_to_string(folder.join(file));
        let cpu = text("cpu.stat").ok()?;
        let memory = text("memory.events").unwrap_or_default();
        Some(Counters {
            inode: fs::metadata(folder).ok()?.ino(),
            usage_us: count_of(&cpu, "usage_usec")?,
            periods: count_of(&cpu, "nr_periods"),
            throttled: count_of(&cpu, "nr_throttled"),
            throttled_us: count_of(&cpu, "throttled_usec"),
            oom_kills: count_of(&memory, "oom_kill"),
            pressures_us: PRESSURES.map(|(file, _)| parse_pressure_us(&text(file).ok()?)),
        })
    }
}

fn levels(folder: &Path) -> Vec<Value> {
    let text = |file: &str| fs::read_to_string(folder.join(file)).ok();
    let bytes = |file: &str| text(file)?.trim().parse::<u64>().ok().map(|bytes| bytes as f64);
    let levels = [
        bytes("memory.current").map(|value| ("cgroup_memory", "bytes", value)),
        // `max` is not a number: there is no limit.
        bytes("memory.max").map(|value| ("cgroup_memory_limit", "bytes", value)),
        text("cpu.max")
            .and_then(|text| cpu_max_cores(&text))
            .map(|cores| ("cgroup_cpu_limit", "cores", cores)),
    ];
    levels.into_iter().flatten().collect()
}

/// None when it is another group of the same name, or a counter fell: then no other can be compared, either.
fn rates(base: &Counters, now: &Counters, interval: Duration) -> Option<Vec<Value>> {
    if now.inode != base.inode || base.counts().zip(now.counts()).any(|(before, now)| now < before) {
        return None;
    }
    let mut values = Vec::new();
    if interval.is_zero() {
        return Some(values);
    }
    let used = Duration::from_micros(now.usage_us.saturating_sub(base.usage_us));
    values.push(("cgroup_cpu", "cores", used.div_duration_f64(interval)));
    if let Some(periods) = grown(base.periods, now.periods).filter(|periods| *periods > 0)
        && let Some(throttled) = grown(base.throttled, now.throttled)
    {
        // The kernel writes the two one after the other.
        values.push(("cgroup_throttled", "1", throttled.min(periods) as f64 / periods as f64));
    }
    let share = |grown_us: u64| Duration::from_micros(grown_us).div_duration_f64(interval);
    if let Some(throttled_us) = grown(base.throttled_us, now.throttled_us) {
        values.push(("cgroup_throttled_time", "s/s", share(throttled_us)));
    }
    if let Some(kills) = grown(base.oom_kills, now.oom_kills) {
        values.push(("cgroup_oom_kills", "1/s", kills as f64 / interval.as_secs_f64()));
    }
    for ((_, name), (before, after)) in PRESSURES.iter().zip(base.pressures_us.iter().zip(now.pressures_us)) {
        // The files are read a little later than the clock.
        values.extend(grown(*before, after).map(|waited_us| (*name, "1", share(waited_us).min(1.0))));
    }
    Some(values)
}

fn grown(before: Option<u64>, after: Option<u64>) -> Option<u64> {
    after?.checked_sub(before?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn throttling_is_that_of_the_interval() {
        let base = Counters {
            usage_us: 5_000_000,
            periods: Some(100),
            throttled: Some(50),
            throttled_us: Some(900),
            ..Counters::default()
        };
        let now = Counters {
            usage_us: 6_000_000,
            periods: Some(120),
            throttled: Some(55),
            throttled_us: Some(500_900),
            ..Counters::default()
        };
        let expect = vec![
            ("cgroup_cpu", "cores", 0.5),
            ("cgroup_throttled", "1", 0.25),
            ("cgroup_throttled_time", "s/s", 0.25),
        ];
        assert_eq!(rates(&base, &now, Duration::from_secs(2)), Some(expect));
        assert_eq!(rates(&now, &base, Duration::from_secs(2)), None, "its counters fell");
        // It used more than the former group, and was throttled more than that in fewer periods.
        let other = Counters { throttled: Some(150), periods: Some(130), inode: 7, ..now };
        assert_eq!(rates(&base, &other, Duration::from_micros(2_000_142)), None, "another group of its name");
        let mixed = Counters { periods: Some(99), ..now };
        assert_eq!(rates(&base, &mixed, Duration::from_micros(2_000_142)), None, "one of its counters fell");
    }

    proptest! {
        #[test]
        fn no_rate_is_negative(before in any::<[u32; 4]>(), after in any::<[u32; 4]>(), millis in 0..5_000_u64) {
            let of = |n: [u32; 4]| Counters {
                usage_us: n[0].into(),
                periods: Some(n[1].into()),
                throttled: Some(n[2].into()),
                throttled_us: Some(n[3].into()),
                oom_kills: Some(n[1].into()),
                pressures_us: [Some(n[2].into()), None, Some(n[3].into())],
                ..Counters::default()
            };
            for (name, unit, value) in rates(&of(before), &of(after), Duration::from_millis(millis)).into_iter().flatten() {
                prop_assert!(value >= 0.0 && value.is_finite(), "{}", name);
                prop_assert!(value <= 1.0 || unit != "1", "{} is {}", name, value);
            }
        }
    }
}
