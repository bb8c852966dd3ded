//! What the judge says of an experiment: pairs of runs of two arms, and whether the second is worse.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::judgement::{Severity, Verdict};

/// The answer to one metric of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MetricVerdict {
    /// B is worse, and not shown to be within the margin.
    Regressed,
    /// B is better.
    Improved,
    /// B is not worse by the margin.
    NoRegression,
    /// B differs by less than the margin in either direction.
    Equivalent,
    /// No difference is shown, and this way to compare cannot show that there is none.
    NotShown,
    /// The pairs are sound but too few, or vary too much.
    Inconclusive,
    /// The pairs cannot bear on it.
    Invalid,
}

impl MetricVerdict {
    /// Whether it says that a change beyond the margin is excluded.
    pub fn excludes_a_change(self) -> bool {
        matches!(self, MetricVerdict::NoRegression | MetricVerdict::Equivalent)
    }

    /// What it is for the experiment as a whole.
    pub fn verdict(self) -> Verdict {
        match self {
            MetricVerdict::Regressed => Verdict::Fail,
            MetricVerdict::Improved | MetricVerdict::NoRegression | MetricVerdict::Equivalent => {
                Verdict::Pass
            }
            MetricVerdict::NotShown => Verdict::Measured,
            MetricVerdict::Inconclusive => Verdict::Inconclusive,
            MetricVerdict::Invalid => Verdict::Invalid,
        }
    }
}

impl fmt::Display for MetricVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MetricVerdict::Regressed => "REGRESSED",
            MetricVerdict::Improved => "IMPROVED",
            MetricVerdict::NoRegression => "NO_REGRESSION",
            MetricVerdict::Equivalent => "EQUIVALENT",
            MetricVerdict::NotShown => "NOT_SHOWN",
            MetricVerdict::Inconclusive => "INCONCLUSIVE",
            MetricVerdict::Invalid => "INVALID",
        })
    }
}

/// How the two sides of a metric are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectScale {
    /// The change as a share of A's value: 0.05 is 5 % more.
    Relative,
    /// The difference of shares: 0.001 is 0.1 percentage points.
    Points,
}

/// The effect on one metric, with everything that it rests on. Effects are on the metric's scale; positive is more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricAnswer {
    /// The metric's name.
    pub name: String,
    /// Its text, such as `p95(list)`.
    pub of: String,
    /// The unit of its values.
    pub unit: String,
    /// How the sides are compared.
    pub scale: EffectScale,
    /// Whether more is better.
    pub is_better_higher: bool,
    /// The change for the worse that is accepted.
    pub margin: f64,
    /// The answer.
    pub verdict: MetricVerdict,
    /// Why, in a sentence.
    pub because: String,
    /// The pair after which it was decided; none where it is not.
    pub decided_at: Option<u32>,
    /// How many pairs there are.
    pub pairs: u32,
    /// The median of A and of B; none where it was not measured or is infinite.
    pub medians: [Option<f64>; 2],
    /// The mean effect: of the pairs up to the look that decided, or up to the last look.
    pub effect: Option<f64>,
    /// The interval that decides, of the same pairs. If a change beyond the margin is excluded, it lies on that side of the margin; if a
    /// difference is shown, it excludes 0; if neither, it contains 0 and reaches beyond the margin. None before the first look.
    pub interval: Option<(f64, f64)>,
    /// The highest probability that a given end of the interval is wrong, over all looks. None without an interval, and in records of
    /// earlier versions, whose intervals are at 95 %.
    #[serde(default)]
    pub interval_end_error: Option<f64>,
    /// The chance of a mean effect as far from none, adjusted for looks and for the number of metrics.
    pub p: Option<f64>,
    /// The chance by flipping signs, of all pairs, not adjusted: a check of the one before without its assumptions.
    pub sign_flip: Option<f64>,
    /// The standard deviation of the differences within pairs: of logarithms where effects are relative.
    pub deviation: Option<f64>,
    /// The smallest effect that is found with 95 % at the last look.
    pub smallest_visible: Option<f64>,
    /// In how many pairs A and B have no value: it is infinite, or was not measured.
    #[serde(default)]
    pub without_value: [u32; 2],
    /// The value of each pair, A and B, in order; infinite and missing ones are none.
    pub values: Vec<[Option<f64>; 2]>,
    /// Of times of versions at the same moment: what the differences of the single seconds show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_second: Option<BySecond>,
    /// What the reference probe took out of the differences; none where it corrects nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbeCorrection>,
}

/// What the reference probe, whose work is constant, took out of the differences of a metric: how fast the machine was in each run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbeCorrection {
    /// How much of the probe's change each pair's difference is corrected by, fixed before the experiment.
    pub slope: f64,
    /// How much slower the probe was in B's run than in A's, as a logarithm, by pair in order.
    pub by_pair: Vec<f64>,
    /// The mean effect without the correction, of all pairs; none where a pair has no difference.
    pub uncorrected_effect: Option<f64>,
    /// The standard deviation of the differences without the correction.
    pub uncorrected_deviation: Option<f64>,
}

/// How B differs from A in the median of the seconds that both were there.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BySecond {
    /// The mean of the pairs, as a share of A's value.
    pub effect: f64,
    /// The standard deviation of the pairs: of logarithms.
    pub deviation: f64,
    /// Whether it alone shows a difference: then effect and interval of the metric are of seconds, too.
    pub decides: bool,
}

/// Something that limits what the experiment shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentFinding {
    /// Its name, such as `C2 workload-mismatch` or `order-effect`.
    pub name: String,
    /// How much it weighs.
    pub severity: Severity,
    /// The numbers of the pairs that it is about; empty: all.
    pub pairs: Vec<u32>,
    /// One sentence with the numbers in it.
    pub what: String,
    /// What to do next.
    pub next: String,
}

/// Which arm ran first in a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PairOrder {
    /// A, then B.
    Ab,
    /// B, then A.
    Ba,
}

/// Something that moved and decides nothing: one of many numbers that were looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mover {
    /// What it is.
    pub name: String,
    /// The change as a share of A's value.
    pub effect: f64,
    /// The chance of a mean effect as far from none; of those listed one in twenty is expected to be luck.
    pub p: f64,
}

/// What time is spent in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostPlace {
    /// A function: processor time of its own, without what it calls.
    Function,
    /// A statement of a database: its time there.
    Statement,
}

impl fmt::Display for CostPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CostPlace::Function => "function",
            CostPlace::Statement => "statement",
        })
    }
}

/// A function or statement in which B spends another time on a request than A.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MovedCost {
    /// What it is.
    pub place: CostPlace,
    /// Its name, or the text of the statement.
    pub name: String,
    /// Milliseconds of a request in A and in B, in the mean of the pairs.
    pub ms: [f64; 2],
    /// In how many pairs it was observed.
    pub pairs: u32,
    /// The chance of a mean difference as far from none; of those listed one in twenty is expected to be luck.
    pub p: f64,
}

/// Why an experiment has no more pairs, or a capacity search no more probes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "how", content = "why")]
pub enum ExperimentEnd {
    /// It was decided.
    Decided,
    /// It came to its last look.
    LastLook,
    /// More pairs were not likely to decide it.
    Futile,
    /// A search is complete.
    Complete,
    /// The budget does not allow another pair or probe.
    Budget,
    /// It was interrupted; it can be resumed.
    Interrupted,
    /// It could not go on.
    Broken(String),
    /// The runs were made elsewhere.
    Given,
}

/// Everything the judge says of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentJudgement {
    /// Version of the rules that judged.
    pub rules_version: u32,
    /// The verdict on the whole.
    pub verdict: Verdict,
    /// Why, in a sentence.
    pub because: String,
    /// The chance of any false alarm among all metrics and looks, 0 to 1.
    pub level: f64,
    /// After how many pairs it was, or would be, looked at.
    pub looks: Vec<u32>,
    /// How many pairs there are.
    pub pairs: u32,
    /// Why there are no more.
    pub end: ExperimentEnd,
    /// What decides it.
    pub metrics: Vec<MetricAnswer>,
    /// What limits it, the gravest first.
    pub findings: Vec<ExperimentFinding>,
    /// In what the time of a request moved, the largest differences first.
    #[serde(default)]
    pub moved_most: Vec<MovedCost>,
    /// What also moved, the surest first.
    pub also_moved: Vec<Mover>,
}

/// How much a metric varies between runs of the same program: what pairs of A against A show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricNoise {
    /// The metric's name.
    pub name: String,
    /// Its text, by which it is recognised.
    pub of: String,
    /// The unit of its values.
    pub unit: String,
    /// On which scale the deviations are: of logarithms where it is relative, of shares otherwise.
    pub scale: EffectScale,
    /// The median of all runs.
    pub median: f64,
    /// The standard deviation of the differences within pairs: the noise floor.
    pub deviation: f64,
    /// The standard deviation of a run's value by what varies within the run; none where its parts were too short.
    pub within_run: Option<f64>,
    /// The standard deviation of a run's value by what varies between starts; none where the one above is.
    pub between_starts: Option<f64>,
    /// The standard deviation of the means of pairs, which pairs remove from a comparison.
    pub between_pairs: f64,
    /// What the reference probe would take out of the differences; none where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbeGain>,
}

impl MetricNoise {
    /// The standard deviation of the differences within pairs of an experiment, which the probe may correct.
    pub fn deviation_of_pairs(&self, may_be_corrected: bool) -> f64 {
        let corrected = self.probe.filter(|gain| may_be_corrected && gain.is_enough);
        corrected.map_or(self.deviation, |gain| gain.deviation)
    }
}

/// What the reference probe takes out of the differences within pairs of the same program.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ProbeGain {
    /// By how much a difference changes with the probe's.
    pub slope: f64,
    /// The standard deviation of the corrected differences, each by the slope of the others.
    pub deviation: f64,
    /// The upper limit of this deviation as a share of the one without the probe.
    pub ratio_limit: f64,
    /// Whether the probe lowers the deviation by more than chance would.
    pub is_enough: bool,
}

/// Pairs of runs of the same program on one machine under one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The version of this format.
    pub version: u32,
    /// The name of the plan or experiment.
    pub name: String,
    /// When it was made, in RFC 3339.
    pub made_at: String,
    /// The machine.
    pub host: std::collections::BTreeMap<String, String>,
    /// A digest of the load.
    pub workload: String,
    /// How many pairs it is made of.
    pub pairs: u32,
    /// The time under load of each run, in seconds.
    pub slot_s: f64,
    /// What a pair takes with its resets and starts, in seconds.
    pub pair_s: f64,
    /// Its metrics.
    pub metrics: Vec<MetricNoise>,
}

impl Calibration {
    /// The version that this crate writes.
    pub const VERSION: u32 = 1;
}
