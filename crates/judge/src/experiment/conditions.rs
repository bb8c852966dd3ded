//! Whether both arms ran under the same conditions, and what moved besides the metrics.
//!
//! How late the generator was, what neighbours took and how long tasks waited for a processor are outcomes of their own. No pair is left out for them: an arm that
//! keeps the generator from running would hide behind that.

use evidence::run::{ReadError, select};
use evidence::{ExperimentFinding, Histogram, Metric, MetricAnswer, MetricVerdict, Mover, Run, Severity};
use figures::Figures;
use stats::Paired;

use super::JudgedPair;
use super::carry_over::differences;
use crate::compare::Side;
use crate::facts::Host;

/// The level of each of these tests.
const LEVEL: f64 = 0.01;
/// The smallest difference of start lag that matters, in milliseconds.
const LAG_MS: f64 = 1.0;
/// The same of arms at the same moment, whose neighbours were the same: what differs is the generator's.
const LAG_TOGETHER_MS: f64 = 0.5;
/// The smallest difference of stolen processor time that matters, as a share.
const STEAL: f64 = 0.01;
/// The smallest difference of the time in which a task waited for a processor that matters, as a share.
const PRESSURE: f64 = 0.05;
/// The smallest difference of what other programs use that matters, in processors.
const OTHERS_CORES: f64 = 0.1;
/// Of what also moved: how many of those listed may be luck.
const FALSE_DISCOVERIES: f64 = 0.05;
/// The most that is listed.
const MOST_MOVERS: usize = 10;

/// Under which conditions a run was made.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Conditions {
    /// The 99th percentile of how late arrivals started, in milliseconds.
    pub lag_ms: Option<f64>,
    /// The share of processor time that neighbours took, 0 to 1.
    pub steal: Option<f64>,
    /// The share of the time in which a task of the machine waited for a processor, 0 to 1.
    pub pressure: Option<f64>,
    /// How many processors others used: neither the generator nor an observed target.
    pub others_cores: Option<f64>,
}

impl Conditions {
    pub(super) fn read(side: &Side<'_>, figures: &Figures) -> Result<Conditions, ReadError> {
        let seconds = figures.phases.iter().map(|phase| phase.seconds());
        let whole = seconds.reduce(|one, other| one.start.min(other.start)..one.end.max(other.end));
        let host = crate::facts::host_of(side.run)?;
        let steal = |host: &Host| host.steal(&whole.clone()?).map(|steal| steal.mean);
        let pressure = |host: &Host| host.cpu_pressure(&whole.clone()?);
        let others = |host: &Host| {
            let cores: Vec<f64> = host.others(&whole.clone()?).map(|others| others.cores).collect();
            stats::mean(&cores)
        };
        Ok(Conditions {
            lag_ms: quantile_ms(side.run, Metric::StartLag, 0.99)?,
            steal: host.as_ref().and_then(steal),
            pressure: host.as_ref().and_then(pressure),
            others_cores: host.as_ref().and_then(others),
        })
    }
}

/// The quantile of all values of a histogram, in milliseconds.
fn quantile_ms(run: &dyn Run, metric: Metric, q: f64) -> Result<Option<f64>, ReadError> {
    let mut all = Histogram::new();
    for (id, _) in select(run.keys(), metric, |_| true) {
        all.merge(&run.histogram(id, run.whole())?);
    }
    Ok(all.quantile(q).finite_us().map(|us| us / 1_000.0))
}

/// Take back what conditions that differ could have caused, and report them.
pub(super) fn apply(
    pairs: &[JudgedPair],
    metrics: &mut [MetricAnswer],
    findings: &mut Vec<ExperimentFinding>,
) {
    let is_together = pairs.iter().any(JudgedPair::is_together);
    let lag = Condition {
        name: "start-lag-differs",
        what: "the 99th percentile of start lag",
        unit: " ms",
        least: if is_together { LAG_TOGETHER_MS } else { LAG_MS },
        of: |conditions| conditions.lag_ms,
    };
    // At the same moment each arm is a neighbour of the other, and everything else is the same.
    let of_machine = [
        Condition {
            name: "steal-differs",
            what: "the share that neighbours took",
            unit: "",
            least: STEAL,
            of: |conditions| conditions.steal,
        },
        Condition {
            name: "pressure-differs",
            what: "the share of the time in which a task waited for a processor",
            unit: "",
            least: PRESSURE,
            of: |conditions| conditions.pressure,
        },
        Condition {
            name: "others-differ",
            what: "the use of processors by other programs",
            unit: " cores",
            least: OTHERS_CORES,
            of: |conditions| conditions.others_cores,
        },
    ];
    let of_machine = of_machine.into_iter().filter(|_| !is_together);
    for finding in [lag].into_iter().chain(of_machine).filter_map(|condition| condition.unequal(pairs)) {
        for metric in metrics.iter_mut() {
            if metric.verdict.excludes_a_change() {
                metric.verdict = MetricVerdict::Inconclusive;
                metric.decided_at = None;
                metric.because = format!("The arms ran under different conditions ({}).", finding.name);
            }
        }
        findings.push(finding);
    }
    findings.extend(metrics.iter().filter_map(one_pair_decides));
}

/// Something that must be equal in both arms.
struct Condition {
    name: &'static str,
    what: &'static str,
    unit: &'static str,
    /// The smallest difference that matters.
    least: f64,
    of: fn(&Conditions) -> Option<f64>,
}

impl Condition {
    fn unequal(&self, pairs: &[JudgedPair]) -> Option<ExperimentFinding> {
        let Condition { what, unit, .. } = self;
        let sides: Vec<[f64; 2]> = pairs
            .iter()
            .filter_map(|pair| Some([(self.of)(&pair.conditions[0])?, (self.of)(&pair.conditions[1])?]))
            .collect();
        let differences: Vec<f64> = sides.iter().map(|[a, b]| b - a).collect();
        let paired =
            Paired::from_differences(&differences, 0.0).filter(|p| p.pairs >= stats::looks::FEWEST_PAIRS)?;
        let mean = |side: usize| stats::mean(&sides.iter().map(|pair| pair[side]).collect::<Vec<_>>());
        (paired.p() < LEVEL && paired.mean.abs() >= self.least).then(|| ExperimentFinding {
            name: self.name.to_owned(),
            severity: Severity::Inconclusive,
            pairs: Vec::new(),
            what: format!(
                "The arms ran under different conditions: {what} is {:.3}{unit} in A and {:.3}{unit} in B.",
                mean(0).unwrap_or_default(),
                mean(1).unwrap_or_default()
            ),
            next: "Give the generator a dedicated core, or use a quieter machine.".to_owned(),
        })
    }
}

/// That one pair lies far from all others: whether it decides can be seen in the plot.
fn one_pair_decides(metric: &MetricAnswer) -> Option<ExperimentFinding> {
    const ROBUST: f64 = 3.5;
    // The median absolute deviation of a normal distribution is 0.6745 of its standard deviation.
    const NORMAL: f64 = 0.6745;
    let all = differences(metric)?;
    let middle = stats::quantile(&all, 0.5)?;
    let deviations: Vec<f64> = all.iter().map(|difference| (difference - middle).abs()).collect();
    let robust = stats::quantile(&deviations, 0.5)? / NORMAL;
    let far: Vec<u32> = (1..)
        .zip(&deviations)
        .filter(|(_, d)| robust > 0.0 && **d > ROBUST * robust)
        .map(|(n, _)| n)
        .collect();
    (!far.is_empty() && all.len() >= stats::looks::FEWEST_PAIRS as usize).then(|| {
        let named: Vec<String> = far.iter().map(u32::to_string).collect();
        ExperimentFinding {
            name: "noisy-run".to_owned(),
            severity: Severity::Caution,
            what: format!(
                "{}: pair {} lies more than {ROBUST} robust standard deviations from the median. It counts: a pair is never \
                 left out for what happened after it began.",
                metric.name,
                named.join(", ")
            ),
            pairs: far,
            next: "Look at the runs of this pair; more pairs weaken it.".to_owned(),
        }
    })
}

/// What else moved: of all endpoints and observed series those whose paired test passes Benjamini and Hochberg's procedure.
pub(super) fn also_moved(pairs: &[JudgedPair]) -> Vec<Mover> {
    let Some(first) = pairs.first() else { return Vec::new() };
    let tested = first.others.iter().filter_map(|(name, _)| {
        let of = |pair: &JudgedPair| {
            let (_, [a, b]) = pair.others.iter().find(|(other, _)| other == name)?;
            (*a > 0.0 && *b > 0.0).then(|| b.ln() - a.ln())
        };
        let differences: Vec<f64> = pairs.iter().map(of).collect::<Option<_>>()?;
        let paired =
            Paired::from_differences(&differences, 1e-4).filter(|p| p.pairs >= stats::looks::FEWEST_PAIRS)?;
        Some(Mover { name: name.clone(), effect: paired.mean.exp_m1(), p: paired.p() })
    });
    let tested: Vec<Mover> = tested.collect();
    let levels: Vec<f64> = tested.iter().map(|mover| mover.p).collect();
    let kept = stats::benjamini_hochberg(&levels, FALSE_DISCOVERIES);
    let mut moved: Vec<Mover> =
        tested.into_iter().zip(kept).filter(|(_, is_kept)| *is_kept).map(|(m, _)| m).collect();
    moved.sort_by(|one, other| one.p.total_cmp(&other.p));
    moved.truncate(MOST_MOVERS);
    moved
}
