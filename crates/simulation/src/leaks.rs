//! Series of memory, a value each 10 s, for the analysis of leaks.

use std::collections::BTreeMap;
use std::time::Duration;

use evidence::memory::MemoryRun;
use evidence::{Key, Metric, SeriesKey};
use judge::leaks::{Leak, LeakMargin};
use workload::{Phase, Workload};

use crate::Simulation;
use crate::question::{GivenVerdict, Limits, Question, Truth};
use crate::random::Random;
use crate::recording::manifest;
use crate::steady::Noise;

const MIB: f64 = 1_048_576.0;
const SAMPLE_S: u32 = 10;
/// A load cycle, and the idle phase at its end.
const CYCLE_S: u32 = 720;
const IDLE_S: u32 = 120;
const CYCLES: u32 = 5;
/// What a target has in use under load.
const LOADED_MIB: f64 = 400.0;
/// The series of each of two targets: fourteen, as many as a run can have.
const SERIES: [&str; 7] = [
    "rss",
    "threads",
    "fds",
    "cgroup_memory",
    "process_resident_memory_bytes",
    "process_open_fds",
    "redis_memory",
];
const TARGETS: [&str; 2] = ["web", "store"];

/// Series of one kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeakShape {
    pub(crate) name: &'static str,
    /// What it is, in one line.
    pub(crate) description: &'static str,
    pub(crate) trend: SeriesTrend,
    pub(crate) truth: Truth,
    pub(crate) limits: Limits,
}

/// How a series goes on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SeriesTrend {
    /// One series of 1,000 MiB that grows by so many an hour under noise of 2 MiB, for two hours.
    Growth { mib_per_hour: f64, correlation: f64 },
    /// The same, in steps of this size that come at random, for so many hours; steps are asked to be excluded, or not.
    Steps { mib_per_hour: f64, step_mib: f64, hours: u32, asked: Steps },
    /// Fourteen series whose idle floors of 100 MiB scatter by this share from cycle to cycle.
    ScatteredFloors { deviation: f64 },
    /// Fourteen series whose idle floors rise from 100 to 160 MiB, slower and slower.
    SaturatingFloors { minutes: f64 },
}

/// Whether an answer without a leak has to exclude the steps of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Steps {
    /// By `--step SIZE`.
    Excluded,
    /// The answer says which steps it does not exclude.
    NotExcluded,
}

impl LeakShape {
    pub(crate) fn prepare(self) -> Simulation {
        let text = match self.trend {
            SeriesTrend::Growth { .. } | SeriesTrend::Steps { .. } => {
                "it grows by less than 1 % an hour".to_owned()
            }
            _ => "no series leaks".to_owned(),
        };
        let question = Question { text, truth: self.truth, limits: self.limits };
        Simulation { questions: vec![question], simulate: Box::new(move |seed| vec![self.answer(seed)]) }
    }

    fn answer(&self, seed: u64) -> GivenVerdict {
        let random = Random::new(seed);
        let mut run = MemoryRun::new(manifest("leaks", seed));
        let mut workload = Workload::named("leaks");
        let mut margin = LeakMargin::default();
        match self.trend {
            SeriesTrend::Growth { mib_per_hour, correlation } => {
                let level = |second| mib_per_hour * f64::from(second) / 3_600.0;
                grow(&mut run, 2, &level, Noise::new(random, correlation));
            }
            SeriesTrend::Steps { mib_per_hour, step_mib, hours, asked } => {
                let instants = steps(mib_per_hour / step_mib, hours, random.fork(0));
                let level =
                    |second| step_mib * instants.partition_point(|at| *at <= f64::from(second)) as f64;
                grow(&mut run, hours, &level, Noise::new(random, 0.0));
                margin.step_bytes = (asked == Steps::Excluded).then_some(step_mib * MIB);
            }
            SeriesTrend::ScatteredFloors { deviation } => {
                let floor = |_, random: &mut Random| 100.0 * (1.0 + deviation * random.normal());
                cycle(&mut run, &mut workload, random, &floor);
            }
            SeriesTrend::SaturatingFloors { minutes } => {
                let floor = |ends_s, random: &mut Random| {
                    100.0 + 60.0 * (1.0 - (-f64::from(ends_s) / 60.0 / minutes).exp()) + 0.3 * random.normal()
                };
                cycle(&mut run, &mut workload, random, &floor);
            }
        }
        let answers = judge::leaks::of(&run, &workload, margin).expect("memory can be read");
        if answers.iter().any(|series| series.answer == Leak::Leak) {
            GivenVerdict::Fail
        } else if answers.iter().all(|series| series.answer == Leak::NoLeak) {
            GivenVerdict::Pass
        } else {
            GivenVerdict::Undecided
        }
    }
}

/// Memory of 1,000 MiB and what `level` adds at each second, under noise.
fn grow(run: &mut MemoryRun, hours: u32, level: &dyn Fn(u32) -> f64, mut noise: Noise) {
    let rss = SeriesKey::new("rss", "web", "bytes");
    for second in (0..hours * 3_600).step_by(SAMPLE_S as usize) {
        run.observe(&rss, second, (1_000.0 + level(second) + 2.0 * noise.next()) * MIB);
    }
}

/// When steps come, in seconds, so many an hour at random.
fn steps(per_hour: f64, hours: u32, mut random: Random) -> Vec<f64> {
    let mut at = 0.0;
    let gaps = std::iter::from_fn(|| {
        at += random.exponential(3_600.0 / per_hour);
        Some(at)
    });
    gaps.take_while(|at| *at < f64::from(hours) * 3_600.0).collect()
}

/// Load cycles, at whose end nothing is due and each series falls to its floor, which is a function of the cycle's end.
fn cycle(
    run: &mut MemoryRun,
    workload: &mut Workload,
    random: Random,
    floor: &dyn Fn(u32, &mut Random) -> f64,
) {
    let seconds = |second: u32| Duration::from_secs(u64::from(second));
    workload.phases.clear();
    for number in 0..CYCLES {
        let (begin, end) = (number * CYCLE_S, (number + 1) * CYCLE_S);
        let bounds = [("load", begin, end - IDLE_S), ("idle", end - IDLE_S, end)];
        workload.phases.extend(bounds.map(|(name, start, end)| Phase {
            name: format!("{name} {number}"),
            start: seconds(start),
            end: seconds(end),
        }));
        run.add(&Key::of(Metric::Scheduled).scenario("load").phase(&format!("load {number}")), begin, 1);
    }
    let mut floors: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
    let mut random = random;
    for target in TARGETS {
        for series in SERIES {
            let of_cycle = |number| floor((number + 1) * CYCLE_S, &mut random);
            floors.insert((target, series), (0..CYCLES).map(of_cycle).collect());
        }
    }
    for ((target, series), floors) in floors {
        let key = SeriesKey::new(series, target, "bytes");
        for second in (0..CYCLES * CYCLE_S).step_by(SAMPLE_S as usize) {
            let is_idle = second % CYCLE_S >= CYCLE_S - IDLE_S;
            let value = if is_idle { floors[(second / CYCLE_S) as usize] } else { LOADED_MIB };
            run.observe(&key, second, value * MIB);
        }
    }
}
