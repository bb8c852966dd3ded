//! What the judge says of a capacity search: the highest load at which objectives hold, and what happens beyond it.

use serde::{Deserialize, Serialize};

use crate::diagnosis::{Diagnosis, ResourceUse};
use crate::experiment::{ExperimentEnd, ExperimentFinding};
use crate::judgement::Verdict;

/// What a probe is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProbeStage {
    /// Steps of half until one breaks.
    Bracket,
    /// Bisection between the highest that held and the lowest that broke.
    Coarse,
    /// Repeated levels in random order, from which the interval comes.
    Grid,
    /// Levels up to where it breaks, from which the demands of resources come.
    Spread,
    /// The answer, held for long.
    Hold,
    /// Beyond the capacity, and back.
    Overload,
    /// The easiest level of the grid once more: what was harder may have left something.
    Again,
}

/// What the probes of a level show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LevelVerdict {
    /// Every objective is shown to be met.
    Holds,
    /// One is shown to be violated.
    Breaks,
    /// Neither.
    Open,
}

/// One probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacityProbe {
    /// Its number, from 1.
    pub number: u32,
    /// What it was for.
    pub stage: ProbeStage,
    /// Its level.
    pub level: f64,
    /// How long it was measured.
    pub seconds: f64,
    /// The value of each objective; none where it is infinite or was not measured.
    pub values: Vec<Option<f64>>,
    /// The margin of each objective: positive where it is met, in units of the logarithm (of the odds, for shares).
    pub margins: Vec<f64>,
    /// The deviation of each margin by counting alone: below that no two probes can be distinguished.
    pub errors: Vec<f64>,
    /// Whether it was ended because the target was far beyond.
    pub has_collapsed: bool,
    /// Whether an objective is violated that delays of the generator alone may have violated.
    pub is_doubtful: bool,
    /// Why it says nothing; none: it counts.
    pub unusable: Option<String>,
    /// Requests that were answered correctly, a second.
    pub goodput: f64,
    /// Requests that were offered, a second.
    pub offered: f64,
    /// The share of requests that failed, 0 to 1.
    pub failed: f64,
    /// Mean response time of the requests that were answered correctly, in ms.
    #[serde(default)]
    pub mean_ms: Option<f64>,
    /// Median response time of what the first objective is about, in ms.
    pub p50_ms: Option<f64>,
    /// 99th percentile of the same.
    pub p99_ms: Option<f64>,
    /// What the target used, as far as it was observed.
    pub uses: Vec<ResourceUse>,
}

impl CapacityProbe {
    /// A probe that counts, of which nothing was measured yet.
    pub fn unmeasured(stage: ProbeStage, level: f64) -> CapacityProbe {
        CapacityProbe {
            number: 0,
            stage,
            level,
            seconds: 0.0,
            values: Vec::new(),
            margins: Vec::new(),
            errors: Vec::new(),
            has_collapsed: false,
            is_doubtful: false,
            unusable: None,
            goodput: 0.0,
            offered: 0.0,
            failed: 0.0,
            mean_ms: None,
            p50_ms: None,
            p99_ms: None,
            uses: Vec::new(),
        }
    }
}

/// What is known of one level of the grid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacityLevel {
    /// The level.
    pub level: f64,
    /// How many probes count.
    pub probes: u32,
    /// What they show.
    pub verdict: LevelVerdict,
    /// The median of each objective's values; none where that is infinite.
    pub medians: Vec<Option<f64>>,
    /// Mean margin of each objective with its lower and upper limit.
    pub margins: Vec<(f64, f64, f64)>,
    /// Mean goodput, a second.
    pub goodput: f64,
}

/// An objective of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacitySlo {
    /// Its name.
    pub name: String,
    /// Its text.
    pub of: String,
    /// The unit of its values.
    pub unit: String,
    /// Its bound, in that unit.
    pub bound: f64,
    /// The deviation of its margin between probes of a level.
    pub deviation: Option<f64>,
    /// Whether it is the one that breaks at the lowest level that breaks.
    pub breaks_first: bool,
}

/// How the answer was held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HoldAnswer {
    /// At which level.
    pub level: f64,
    /// How long, in seconds.
    pub seconds: f64,
    /// Whether every objective was met.
    pub verdict: Verdict,
    /// The values, as in [`CapacityProbe::values`].
    pub values: Vec<Option<f64>>,
}

/// One load of the overload run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverloadPart {
    /// As a multiple of the capacity.
    pub factor: f64,
    /// Requests offered, a second.
    pub offered: f64,
    /// Correct answers, a second, whenever they were asked for.
    pub goodput: f64,
    /// Of the goodput at the capacity, the share that is kept.
    pub kept: f64,
    /// Of the correct answers, the share that is within the objectives on times; none without one.
    pub in_time: Option<f64>,
    /// Of what was not answered correctly, the share that was refused within 100 ms.
    pub refused_quickly: Option<f64>,
    /// 99th percentile of the correct answers, in ms.
    pub p99_ms: Option<f64>,
    /// By how many the requests in flight grow, a second.
    pub in_flight_growth: f64,
}

/// Whether a target comes back after an overload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// It is as before.
    Recovered,
    /// It is as before, and slower by more than a tenth for the rest of the run.
    Slower,
    /// It had longer than its backlog explains, and is not as before.
    NotRecovered,
    /// The run was too short for its backlog.
    TooShort,
    /// There was nothing to compare with.
    Unknown,
}

/// What happens beyond the capacity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverloadAnswer {
    /// Each load, in order.
    pub parts: Vec<OverloadPart>,
    /// Whether it comes back.
    pub recovery: Recovery,
    /// After how long, in seconds.
    pub recovered_after_s: Option<f64>,
    /// How long its backlog takes by itself, in seconds.
    pub drain_s: Option<f64>,
    /// 95th percentile before and after, in ms.
    pub p95_ms: [Option<f64>; 2],
}

/// Why the load was not raised further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ceiling {
    /// It was asked for no more.
    Asked,
    /// The generator cannot sustain more on this machine.
    Generator,
}

/// Everything the judge says of a capacity search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacityJudgement {
    /// Version of the rules that judged.
    pub rules_version: u32,
    /// The verdict.
    pub verdict: Verdict,
    /// Why, in a sentence.
    pub because: String,
    /// The unit of levels; empty for a number.
    pub unit: String,
    /// Whether a higher level is easier, as of threads: then it is the lowest that holds.
    pub is_more_better: bool,
    /// The furthest level that holds, as all before it do.
    pub holds: Option<f64>,
    /// The nearest level that breaks, as all beyond it do.
    pub breaks: Option<f64>,
    /// The furthest level at which nine of ten probes are shown to meet every objective, as at all before it.
    #[serde(default)]
    pub nine_of_ten: Option<f64>,
    /// Where about half of the probes pass: between both.
    pub estimate: Option<f64>,
    /// The level that was to hold.
    pub at_least: Option<f64>,
    /// The highest level that could be tried, and why.
    pub ceiling: Option<(f64, Ceiling)>,
    /// What must hold.
    pub slos: Vec<CapacitySlo>,
    /// The levels of the grid, the easiest first.
    pub levels: Vec<CapacityLevel>,
    /// Every probe, in the order in which they were made.
    pub probes: Vec<CapacityProbe>,
    /// How the answer was held; the last, if several levels were tried.
    pub hold: Option<HoldAnswer>,
    /// What happens beyond it.
    pub overload: Option<OverloadAnswer>,
    /// What limits the service; none where no level breaks.
    #[serde(default)]
    pub diagnosis: Option<Diagnosis>,
    /// What limits the answer, the gravest first.
    pub findings: Vec<ExperimentFinding>,
    /// Why there are no more probes.
    pub end: ExperimentEnd,
}

/// A level with its unit: whole numbers as they are, others with four digits.
pub fn shown_level(level: f64, unit: &str) -> String {
    let number = match level {
        whole if whole.fract() == 0.0 || whole >= 1_000.0 => format!("{whole:.0}"),
        large if large >= 100.0 => format!("{large:.1}"),
        middle if middle >= 10.0 => format!("{middle:.2}"),
        small => format!("{small:.3}"),
    };
    if unit.is_empty() { number } else { format!("{number} {unit}") }
}
