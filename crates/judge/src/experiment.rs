//! Experiments: pairs of runs of two arms, and whether the second is worse.
//!
//! The observation is the pair. [`slot`] measures each run, after both are cut where the later of them is steady
//! ([`cut`]); [`decide`] answers each metric from the differences of all pairs at each look; [`conditions`] reports what was
//! not equal in the two arms, [`carried`] what one run leaves to the next, [`costs`] in what the time of a request moved; the
//! verdict is made here. Nothing is left out for what happened after it began.

mod answers;
mod bad_starts;
mod blocks;
mod by_second;
mod carry_over;
mod conditions;
mod confirmation;
mod costs;
pub mod decide;
mod demand;
mod detectable;
mod differences;
mod futility;
mod invalidating;
mod noise;
mod probe_rounds;
mod reference_probe;
mod signs;
mod slot;
#[cfg(test)]
mod tests;
mod together;
mod verdict;
pub(crate) mod warm_up;

use evidence::run::ReadError;
use evidence::{ExperimentEnd, ExperimentFinding, ExperimentJudgement, MetricAnswer, PairOrder, Severity};
use workload::experiment::{BadStarts, GateMetric};

use crate::compare::Side;
use crate::rules::RULES_VERSION;

pub use bad_starts::fewest_good_starts;
pub use blocks::{MetricBlocks, blocks};
pub use conditions::Conditions;
pub use confirmation::{Confirmation, can_be_confirmed};
pub use costs::Cost;
pub use decide::{Bounds, Compared, Decision, Levels, decisions};
pub use detectable::{KnownDeviation, UnclearableShare, pairs_in, unclearable_shares};
pub use differences::{Differences, NoDifferences};
pub use futility::{Futility, futility};
pub use noise::{RunBlocks, noise};
pub use reference_probe::{FEWEST_PROBED_PAIRS, probe_gain};
pub use slot::SlotValue;
pub use stats::looks::FEWEST_PAIRS;
pub use stats::{Looks, UnknownLooks};
pub use together::Together;

/// The two runs of a pair, measured.
#[derive(Debug, Clone)]
pub struct JudgedPair {
    /// Its number, from 1.
    pub number: u32,
    /// Which arm ran first.
    pub order: PairOrder,
    /// The values of each metric, A's and B's, in the order of the metrics.
    pub values: Vec<[SlotValue; 2]>,
    /// How B differs from A in each metric in the median of all seconds, of logarithms, where both ran at the same moment and it
    /// is a quantile of times. Empty: nothing is known of any.
    pub by_second: Vec<Option<f64>>,
    /// How much slower the reference probe was in B's run than in A's in the seconds of each metric, as logarithms. Empty: nothing is
    /// known of any.
    pub probe: Vec<Option<f64>>,
    /// What is compared and decides nothing: names with values of A and B.
    pub others: Vec<(String, [f64; 2])>,
    /// In what its requests spent time, where that was observed.
    pub costs: Vec<Cost>,
    /// Under which conditions each arm ran.
    pub conditions: [Conditions; 2],
    /// B's share of the load of both, 0 to 1, where both ran at the same moment; none where they ran in turn.
    pub share_of_b: Option<f64>,
    /// Its load as a share of what is usual in the experiment, of arms at the same moment.
    pub load: Option<f64>,
    /// What the rules found, with the pair's number.
    pub findings: Vec<ExperimentFinding>,
}

impl JudgedPair {
    /// Whether its runs were made at the same moment.
    fn is_together(&self) -> bool {
        self.share_of_b.is_some()
    }
}

/// How an experiment is decided.
#[derive(Debug, Clone)]
pub struct Rulebook<'a> {
    /// What decides it.
    pub metrics: &'a [GateMetric],
    pub looks: &'a Looks,
    /// The chances of being wrong.
    pub levels: Levels,
    /// Rules whose findings do not invalidate it.
    pub accept: &'a [String],
    /// How many starts of B may be bad.
    pub bad_starts: Option<BadStarts>,
    /// Of arms that ran at the same moment: what they had in common.
    pub together: Together,
}

impl<'a> Rulebook<'a> {
    /// The same without what bad starts take of the level: as much as each metric.
    fn without_bad_starts(&self) -> Rulebook<'a> {
        let metrics = self.metrics.len() as f64;
        let share = if self.bad_starts.is_some() { metrics / (metrics + 1.0) } else { 1.0 };
        let levels = Levels { alarm: self.levels.alarm * share, ..self.levels };
        Rulebook { levels, bad_starts: None, ..self.clone() }
    }
}

/// Which pair, and which of its runs came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairPlace {
    /// Its number, from 1.
    pub number: u32,
    /// Which arm ran first.
    pub order: PairOrder,
}

/// Measures the two runs of a pair, A's first.
///
/// # Errors
/// [`ReadError`] when the evidence of one cannot be read.
pub fn judge_pair(
    metrics: &[GateMetric],
    place: PairPlace,
    sides: [&Side<'_>; 2],
) -> Result<JudgedPair, ReadError> {
    let PairPlace { number, order } = place;
    let cuts = warm_up::cuts(sides)?;
    let [a, b] = sides.map(|side| slot::Slot::measure(side, &cuts, metrics));
    let (a, b) = (a?, b?);
    let probe = reference_probe::changes([a.probe, b.probe]);
    let values = a.values.into_iter().zip(b.values).map(|(a, b)| [a, b]).collect();
    let others = a.others.into_iter().filter_map(|(name, a)| {
        let (_, b) = b.others.iter().find(|(other, _)| *other == name)?;
        Some((name, [a, *b]))
    });
    let costs = costs::paired(a.statements, b.statements);
    let share_of_b = together::share_of_b(sides);
    let by_second = match share_of_b {
        Some(_) => by_second::differences(sides, &cuts, metrics)?,
        None => Vec::new(),
    };
    let mut findings = invalidating::findings(number, sides)?;
    findings.extend(warm_up::finding(number, &cuts));
    Ok(JudgedPair {
        number,
        order,
        values,
        by_second,
        probe,
        others: others.collect(),
        costs,
        conditions: [a.conditions, b.conditions],
        share_of_b,
        load: together::load(sides),
        findings,
    })
}

/// Judges the pairs so far, which are in the order in which they were made.
pub fn judge_experiment(
    rules: &Rulebook<'_>,
    pairs: &[JudgedPair],
    end: ExperimentEnd,
) -> ExperimentJudgement {
    let mut findings = invalidating::joined(pairs, rules.accept);
    let is_invalid = findings.iter().any(|finding| finding.severity == Severity::Invalid);
    let of_metric =
        |at: usize| pairs.iter().filter_map(move |pair| pair.values.get(at).cloned()).collect::<Vec<_>>();
    let values: Vec<Vec<[SlotValue; 2]>> = (0..rules.metrics.len()).map(of_metric).collect();
    let by_second: Vec<Option<Vec<f64>>> =
        (0..rules.metrics.len()).map(|at| by_second::of_pairs(pairs, at)).collect();
    let probe: Vec<Option<Vec<f64>>> =
        (0..rules.metrics.len()).map(|at| reference_probe::of_pairs(pairs, at)).collect();
    let mut metrics = answers::answers(&rules.without_bad_starts(), &values, &by_second, &probe);
    conditions::apply(pairs, &mut metrics, &mut findings);
    carry_over::apply(pairs, &mut metrics, &mut findings);
    reference_probe::apply(rules.metrics, &mut metrics, &mut findings);
    together::apply(rules, pairs, &mut metrics, &mut findings, &end);
    verdict::refuse_times_beside_errors(rules, &mut metrics, &mut findings);
    metrics.extend(rules.bad_starts.map(|asked| bad_starts::answer(rules, asked, &values)));
    findings.sort_by_key(|finding| finding.severity);
    let (verdict, because) = verdict::whole(rules, &metrics, &findings, &end);
    if is_invalid {
        metrics.iter_mut().for_each(invalidate);
    }
    ExperimentJudgement {
        rules_version: RULES_VERSION,
        verdict,
        because,
        level: rules.levels.alarm,
        looks: rules.looks.at().to_vec(),
        pairs: pairs.len() as u32,
        end,
        metrics,
        findings,
        moved_most: costs::moved_most(pairs),
        also_moved: conditions::also_moved(pairs),
    }
}

/// The metric has no answer, because the whole has none.
fn invalidate(metric: &mut MetricAnswer) {
    metric.verdict = evidence::MetricVerdict::Invalid;
    metric.decided_at = None;
    "The experiment as a whole cannot be compared.".clone_into(&mut metric.because);
}
