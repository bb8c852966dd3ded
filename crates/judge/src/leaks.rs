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
use evidence::{Coverage, Instant, Metric, NoticeKind, Run, Sample, SeriesKey, Window};
use workload::Workload;

use figures::number::brief;

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

/// The growth an hour that must be excluded for the absence of a leak.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LeakMargin {
    /// As a share of the series' level; never less than 1 MiB of memory and 5 of anything else.
    pub share: f64,
    /// Memory that grows by the margin in steps of so many bytes must be excluded, too: the run lasts so long that it
    /// would have had such a step with a probability of 95 %.
    pub step_bytes: Option<f64>,
}

impl Default for LeakMargin {
    /// 1 % an hour.
    fn default() -> LeakMargin {
        LeakMargin { share: 0.01, step_bytes: None }
    }
}

impl LeakMargin {
    /// The plan's, else 1 % an hour.
    pub fn for_workload(workload: &Workload) -> LeakMargin {
        let share = workload.leak_margin.unwrap_or(LeakMargin::default().share);
        LeakMargin { share, ..LeakMargin::default() }
    }

    fn per_hour(self, unit: &str, level: f64) -> f64 {
        let least = if unit == "bytes" { MEMORY_BYTES } else { COUNT };
        (self.share * level.abs()).max(least)
    }
}

/// The answer for one series.
#[derive(Debug, Clone, PartialEq)]
pub struct LeakAnswer {
    pub series: SeriesKey,
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
pub fn of(run: &dyn Run, workload: &Workload, margin: LeakMargin) -> Result<Vec<LeakAnswer>, ReadError> {
    let idle = idle_phases(run, workload)?;
    let restarts = restarts(run)?;
    let analysed: Vec<&SeriesKey> = run.series().iter().filter(|series| is_analysed(series)).collect();
    let mut answers = Vec::new();
    for series in &analysed {
        let samples = run.samples(series, 0..u32::MAX)?;
        let analysis = Analysis {
            series,
            lives: lives(&samples, restarts.iter().filter(|restart| restart.is_of(&series.target))),
            idle: &idle,
            collections: &Collections::of(run, &series.target)?,
            analysed: analysed.len(),
            margin,
        };
        let (answer, because) = analysis.answer();
        answers.push(LeakAnswer { series: (*series).clone(), answer, because });
    }
    answers.sort_by(|a, b| (a.answer, &a.series).cmp(&(b.answer, &b.series)));
    Ok(answers)
}

/// A process began anew.
struct Restart {
    at: Instant,
    /// The observer that noticed it: the target's name, and the part of it that was observed.
    observer: String,
}

impl Restart {
    fn is_of(&self, target: &str) -> bool {
        let rest = self.observer.strip_prefix(target);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    }
}

fn restarts(run: &dyn Run) -> Result<Vec<Restart>, ReadError> {
    let restarted = run.notices()?.into_iter().filter(|notice| notice.kind == NoticeKind::Restarted);
    let mut restarts: Vec<Restart> =
        restarted.map(|notice| Restart { at: notice.at, observer: notice.observer }).collect();
    restarts.sort_by_key(|restart| restart.at);
    Ok(restarts)
}

/// The samples between restarts. A process that restarts frees what it leaked, which ends no leak.
fn lives<'s>(samples: &'s [Sample], restarts: impl Iterator<Item = &'s Restart>) -> Vec<&'s [Sample]> {
    let (mut lives, mut rest) = (Vec::new(), samples);
    for restart in restarts {
        let (life, after) = rest.split_at(rest.partition_point(|sample| sample.at < restart.at));
        lives.push(life);
        rest = after;
    }
    lives.push(rest);
    lives.retain(|life| !life.is_empty());
    lives
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

/// One series, and what its analysis needs.
struct Analysis<'a> {
    series: &'a SeriesKey,
    /// Its samples, by life of its process.
    lives: Vec<&'a [Sample]>,
    idle: &'a [IdlePhase],
    collections: &'a Collections,
    /// How many series of the run are analysed.
    analysed: usize,
    margin: LeakMargin,
}

impl Analysis<'_> {
    fn answer(&self) -> (Leak, String) {
        if let Some(because) = self.leak() {
            return (Leak::Leak, because);
        }
        let Some(blocks) = Blocks::of(&self.lives) else {
            return (Leak::Undetermined, "A single sample cannot show growth.".to_owned());
        };
        let length = brief::length(blocks.length_s);
        if blocks.count() < MIN_BLOCKS {
            let needed_s = (blocks.block_s() * MIN_BLOCKS as f64).max(MIN_LENGTH_S);
            let because = format!(
                "{} independent values in {length} are too few, {MIN_BLOCKS} are needed: {}.",
                blocks.count(),
                longer(needed_s - blocks.length_s)
            );
            return (Leak::Undetermined, because);
        }
        let medians: Vec<&[f64]> = blocks.lives.iter().map(Vec::as_slice).collect();
        let (Some(slope), Some(trend)) =
            (stats::theil_sen_within(&medians), stats::mann_kendall_within(&medians))
        else {
            return (Leak::Undetermined, "Some of its values are not finite numbers.".to_owned());
        };
        let growth = slope.per_step * blocks.steps() as f64;
        let per_hour = 3_600.0 / blocks.block_s();
        let unit = &*self.series.unit;
        if trend.p_rising <= ALPHA && is_large(unit, growth, blocks.level()) {
            let because = format!(
                "It rose by {} in {length}, {} an hour{}. A trend alone does not distinguish a leak from a warm-up: run \
                 longer, or in load cycles with idle phases between.",
                brief::quantity(growth, unit),
                brief::quantity(slope.per_step * per_hour, unit),
                if medians.len() > 1 { ", between its restarts" } else { "" }
            );
            return (Leak::Growing, because);
        }
        self.no_growth(&blocks, slope.upper.max(0.0) * per_hour)
    }

    /// The answer for a series that showed no growth, of which more than `bound` an hour is excluded.
    fn no_growth(&self, blocks: &Blocks, bound: f64) -> (Leak, String) {
        let length = brief::length(blocks.length_s);
        if blocks.length_s < MIN_LENGTH_S {
            let needed = brief::significant(MIN_LENGTH_S / 60.0);
            let because = format!(
                "No growth was seen in {length}; {needed} min are needed to exclude a leak: {}.",
                longer(MIN_LENGTH_S - blocks.length_s)
            );
            return (Leak::Undetermined, because);
        }
        let whole =
            self.lives.first().and_then(|life| life.first()).zip(self.lives.last().and_then(|l| l.last()));
        let window = whole.map(|(first, last)| Window { begin: first.at, end: last.at });
        if let Some(missing) = window.and_then(|w| missing_collections(self.series, w, self.collections)) {
            return (Leak::Undetermined, format!("No growth was seen in {length}; {missing}"));
        }
        let unit = &*self.series.unit;
        let margin = self.margin.per_hour(unit, blocks.level());
        let shown = |value| brief::quantity(value, unit);
        if bound > margin {
            // The error of a slope falls with the power 3/2 of the time.
            let needed_s = blocks.length_s * (bound / margin).powf(2.0 / 3.0);
            let because = format!(
                "No growth was seen in {length}, and up to {} an hour is not excluded at 95 %; {} is the margin: {}.",
                shown(bound),
                shown(margin),
                longer(needed_s - blocks.length_s)
            );
            return (Leak::Undetermined, because);
        }
        let steps = UnseenSteps::of(margin, blocks.length_s);
        if let Some(size) = self.margin.step_bytes.filter(|size| unit == "bytes" && *size > steps.larger_than)
        {
            let because = format!(
                "No growth was seen in {length}; steps of {} that grow by {} an hour may come too seldom to be seen: {}.",
                shown(size),
                shown(margin),
                longer(UnseenSteps::length_for(size, margin) - blocks.length_s)
            );
            return (Leak::Undetermined, because);
        }
        let because = format!(
            "No growth was seen in {length}; more than {} an hour is excluded at 95 %. Not excluded: steps larger than {} \
             that come less than once in {}.",
            shown(bound),
            shown(steps.larger_than),
            brief::length(steps.rarer_than_s)
        );
        (Leak::NoLeak, because)
    }

    /// Why the idle floors of the last life show a leak.
    fn leak(&self) -> Option<String> {
        let begin = self.lives.last()?.first()?.at;
        let first = self.idle.partition_point(|phase| self.lives.len() > 1 && phase.window.begin < begin);
        let idle = &self.idle[first..];
        let covered = Coverage::of_samples(self.series.kind(), self.lives.last()?);
        let collections = is_collected(self.series, self.collections).then_some(self.collections);
        let floors = idle_floors::floors(&covered, idle, collections)?;
        idle_floors::sustained_rise(&floors, idle, self.analysed)
    }
}

/// Steps that a series is likely to have missed, and that make it grow by more than its margin. Of one step in a third of its
/// length it has none with a probability of 5 % (e⁻³).
struct UnseenSteps {
    larger_than: f64,
    rarer_than_s: f64,
}

impl UnseenSteps {
    /// With this margin an hour, in a series of this length.
    fn of(margin: f64, length_s: f64) -> UnseenSteps {
        let rarer_than_s = length_s / 3.0;
        UnseenSteps { larger_than: margin * rarer_than_s / 3_600.0, rarer_than_s }
    }

    /// How long a series must be, in seconds, to miss none of this size.
    fn length_for(size: f64, margin: f64) -> f64 {
        3.0 * size / margin * 3_600.0
    }
}

/// `observe it for about 12 min longer`.
fn longer(seconds: f64) -> String {
    format!("observe it for about {} min longer", brief::count((seconds / 60.0).ceil().max(1.0) as u64))
}

/// Whether the series contains garbage until the next collection: memory of a target that collects garbage.
fn is_collected(series: &SeriesKey, collections: &Collections) -> bool {
    &*series.unit == "bytes" && (collections.are_known() || series.name.starts_with("go_"))
}

/// Why garbage collections are too few to exclude a leak; none if they are not.
fn missing_collections(series: &SeriesKey, window: Window, collections: &Collections) -> Option<String> {
    if !is_collected(series, collections) {
        return None;
    }
    match collections.within(window) {
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
