//! Whether a target leaks: memory, goroutines, threads, descriptors, connections over time.
//!
//! A trend alone is never a leak, because everything that saturates rises too: it is `GROWING`. A leak is shown by idle
//! floors that rise from load cycle to load cycle. The absence of a leak is shown only by a series that is long enough,
//! with the growth that it excludes. Start reading at [`of`].

mod blocks;
mod collections;
mod idle_floors;

use std::collections::BTreeMap;
use std::fmt;

use evidence::run::{ReadError, select};
use evidence::{Coverage, Instant, Metric, Run, Sample, SeriesKey, Window};
use workload::Workload;

use crate::numbers;

use blocks::{Blocks, MIN_BLOCKS};
use collections::Collections;
use idle_floors::IdlePhase;

/// A shorter series, in seconds, cannot exclude a leak.
const MIN_LENGTH_S: f64 = 1_800.0;
/// A series of collected memory with fewer garbage collections cannot exclude one either.
const MIN_COLLECTIONS: u64 = 30;
/// One-sided level of the trend test.
const ALPHA: f64 = 0.005;
/// Memory must rise by more than this share and these bytes over the window.
const MEMORY_SHARE: f64 = 0.02;
const MEMORY_BYTES: f64 = 1_048_576.0;
/// Counts must rise by more than this share and this number.
const COUNT_SHARE: f64 = 0.01;
const COUNT: f64 = 5.0;
/// What the name of an objective about a leak contains.
const LEAK_WORD: &str = "leak";

/// The series that are analysed, by name.
const ANALYSED: [&str; 14] = [
    "rss",
    "threads",
    "fds",
    "cgroup_memory",
    "go_goroutines",
    "go_memstats_heap_alloc_bytes",
    "go_memstats_heap_inuse_bytes",
    "go_memstats_next_gc_bytes",
    "go_gc_heap_live_bytes",
    "process_resident_memory_bytes",
    "process_open_fds",
    "pg_connections",
    "redis_clients",
    "redis_memory",
];

/// The result of the leak analysis of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leak {
    /// Idle floors rise from load cycle to load cycle.
    Leak,
    /// It rises, and whether it would stop is not known.
    Growing,
    /// Too little evidence.
    Undetermined,
    /// It does not rise by more than the stated growth.
    NoLeak,
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Leak::Leak => "LEAK",
            Leak::Growing => "GROWING",
            Leak::Undetermined => "UNDETERMINED",
            Leak::NoLeak => "NO_LEAK",
        })
    }
}

/// The answer for one series.
#[derive(Debug, Clone, PartialEq)]
pub struct LeakAnswer {
    /// Which series.
    pub series: SeriesKey,
    /// The result.
    pub answer: Leak,
    /// One sentence with the numbers.
    pub because: String,
}

/// Whether an objective of this name is about a leak.
pub(crate) fn is_leak_objective(name: &str) -> bool {
    name.to_lowercase().contains(LEAK_WORD)
}

/// The answer for each series of a target that could show a leak, the gravest first. Empty when none was observed.
///
/// # Errors
/// [`ReadError`] when the evidence cannot be read.
pub fn of(run: &dyn Run, workload: &Workload) -> Result<Vec<LeakAnswer>, ReadError> {
    let idle = idle_phases(run, workload)?;
    let mut answers = Vec::new();
    for series in run.series().iter().filter(|series| is_analysed(series)) {
        let samples = run.samples(series, 0..u32::MAX)?;
        let collections = Collections::of(run, &series.target)?;
        let (answer, because) = analyse(series, &samples, &idle, &collections);
        answers.push(LeakAnswer { series: series.clone(), answer, because });
    }
    answers.sort_by(|a, b| (a.answer, &a.series).cmp(&(b.answer, &b.series)));
    Ok(answers)
}

fn is_analysed(series: &SeriesKey) -> bool {
    &*series.target != SeriesKey::GENERATOR && ANALYSED.iter().any(|name| *series.name == **name)
}

/// The phases in which nothing was due, between the load cycles of a plan.
fn idle_phases(run: &dyn Run, workload: &Workload) -> Result<Vec<IdlePhase>, ReadError> {
    let mut due: BTreeMap<&str, u64> = BTreeMap::new();
    for (id, key) in select(run.keys(), Metric::Scheduled, |_| true) {
        *due.entry(&key.phase).or_default() += run.total(id)?;
    }
    let is_idle =
        |phase: &&workload::Phase| !due.is_empty() && due.get(phase.name.as_str()).is_none_or(|n| *n == 0);
    let idle = |phase: &workload::Phase| IdlePhase {
        window: Window { begin: Instant::at(phase.start), end: Instant::at(phase.end) },
    };
    Ok(workload.phases.iter().filter(is_idle).map(idle).collect())
}

fn analyse(
    series: &SeriesKey,
    samples: &[Sample],
    idle: &[IdlePhase],
    collections: &Collections,
) -> (Leak, String) {
    let covered = Coverage::of_samples(series.kind(), samples);
    let floors =
        idle_floors::floors(&covered, idle, is_collected(series, collections).then_some(collections));
    if let Some(because) = floors.and_then(|floors| idle_floors::sustained_rise(&floors, idle)) {
        return (Leak::Leak, because);
    }
    let Some(blocks) = Blocks::of(samples) else {
        return (Leak::Undetermined, "A single sample cannot show growth.".to_owned());
    };
    let length = numbers::ms(blocks.length_s * 1e3);
    if blocks.medians.len() < MIN_BLOCKS {
        let because = format!(
            "{length} of it act like {} independent values; {MIN_BLOCKS} are needed.",
            blocks.medians.len()
        );
        return (Leak::Undetermined, because);
    }
    let (Some(slope), Some(trend)) =
        (stats::theil_sen(&blocks.medians), stats::mann_kendall(&blocks.medians))
    else {
        return (Leak::Undetermined, "It has values that are not finite.".to_owned());
    };
    let steps = (blocks.medians.len() - 1) as f64;
    let growth = slope.per_step * steps;
    let per_hour = 3_600.0 / blocks.block_s();
    let unit = &*series.unit;
    if trend.p_rising <= ALPHA && is_large(unit, growth, blocks.medians[0]) {
        let because = format!(
            "It rose by {} in {length}, {} an hour. A trend alone does not distinguish a leak from a warm-up: run \
             longer, or in load cycles with idle phases between.",
            numbers::quantity(growth, unit),
            numbers::quantity(slope.per_step * per_hour, unit)
        );
        return (Leak::Growing, because);
    }
    if blocks.length_s < MIN_LENGTH_S {
        let needed = numbers::significant(MIN_LENGTH_S / 60.0);
        let because = format!("No growth was seen in {length}; {needed} min are needed to exclude a leak.");
        return (Leak::Undetermined, because);
    }
    if let Some(missing) = missing_collections(series, samples, collections) {
        return (Leak::Undetermined, format!("No growth was seen in {length}; {missing}"));
    }
    let bound = numbers::quantity(slope.upper.max(0.0) * per_hour, unit);
    (Leak::NoLeak, format!("No growth was seen in {length}; more than {bound} an hour is excluded at 95 %."))
}

/// Whether the series contains garbage until the next collection: memory of a target that collects garbage.
fn is_collected(series: &SeriesKey, collections: &Collections) -> bool {
    &*series.unit == "bytes" && (collections.are_known() || series.name.starts_with("go_"))
}

/// Why garbage collections are too few to exclude a leak; none if they are not.
fn missing_collections(series: &SeriesKey, samples: &[Sample], collections: &Collections) -> Option<String> {
    if !is_collected(series, collections) {
        return None;
    }
    match collections.within(Window { begin: samples.first()?.at, end: samples.last()?.at }) {
        None => {
            Some("garbage collections were not observed: keep `go_gc_duration_seconds*` of it.".to_owned())
        }
        Some(count) if count < MIN_COLLECTIONS => Some(format!(
            "{MIN_COLLECTIONS} garbage collections are needed to exclude a leak, and there were {count}."
        )),
        Some(_) => None,
    }
}

/// Whether a rise is large enough to matter.
fn is_large(unit: &str, growth: f64, start: f64) -> bool {
    let (share, least) = if unit == "bytes" { (MEMORY_SHARE, MEMORY_BYTES) } else { (COUNT_SHARE, COUNT) };
    growth > least && growth > share * start.abs()
}

#[cfg(test)]
mod tests;
