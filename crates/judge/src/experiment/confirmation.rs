//! A confirming experiment: what two versions at the same moment do not show is measured in turn, too.
//!
//! It is about those metrics alone, and has half of the level of false alarms. What it says of them replaces that they are not shown.

use evidence::{ExperimentEnd, ExperimentJudgement, MetricAnswer, MetricVerdict, Verdict};
use workload::experiment::GateMetric;

use super::futility::{Futility, futility};
use super::{JudgedPair, Rulebook, judge_experiment, verdict};

/// The metrics that runs at the same moment left open because they cannot show that nothing changed.
fn not_shown(of: &ExperimentJudgement) -> Vec<usize> {
    let is_open = |metric: &MetricAnswer| metric.verdict == MetricVerdict::NotShown;
    (0..of.metrics.len()).filter(|at| is_open(&of.metrics[*at])).collect()
}

/// Whether it decides the whole: something is not shown, and nothing else is worse, open or cannot be compared.
pub fn can_be_confirmed(of: &ExperimentJudgement) -> bool {
    let is_as_good = |metric: &MetricAnswer| {
        matches!(metric.verdict.verdict(), Verdict::Pass) || metric.verdict == MetricVerdict::NotShown
    };
    of.verdict != Verdict::Invalid && of.metrics.iter().all(is_as_good) && !not_shown(of).is_empty()
}

/// What pairs in turn say of what an experiment at the same moment does not show.
pub struct Confirmation {
    /// Where its metrics are among those of the whole.
    places: Vec<usize>,
    metrics: Vec<GateMetric>,
    judgement: ExperimentJudgement,
}

impl Confirmation {
    /// Judges the pairs in turn so far. `rules` are those of an experiment that has all metrics.
    pub fn judge(
        rules: &Rulebook<'_>,
        first: &ExperimentJudgement,
        pairs: &[JudgedPair],
        end: ExperimentEnd,
    ) -> Confirmation {
        let mut places = not_shown(first);
        // Times are compared only where error rates are equal, so these are measured too, after the metrics in question.
        let is_error_rate = |at: &usize| verdict::is_error_rate(&rules.metrics[*at].quantity);
        places.extend(
            (0..rules.metrics.len()).filter(is_error_rate).filter(|at| !not_shown(first).contains(at)),
        );
        let metrics: Vec<GateMetric> = places.iter().map(|at| rules.metrics[*at].clone()).collect();
        let of_these = |pair: &JudgedPair| JudgedPair {
            values: places.iter().filter_map(|at| pair.values.get(*at).cloned()).collect(),
            by_second: Vec::new(),
            ..pair.clone()
        };
        let pairs: Vec<JudgedPair> = pairs.iter().map(of_these).collect();
        let judgement =
            judge_experiment(&Rulebook { metrics: &metrics, bad_starts: None, ..rules.clone() }, &pairs, end);
        Confirmation { places, metrics, judgement }
    }

    /// Its metrics that are asked, without the error rate beside them.
    fn asked(&self, first: &ExperimentJudgement) -> usize {
        not_shown(first).len()
    }

    /// Whether all that it is about is answered.
    pub fn is_decided(&self, first: &ExperimentJudgement) -> bool {
        let asked = &self.judgement.metrics[..self.asked(first)];
        asked.iter().all(|metric| metric.verdict != MetricVerdict::Inconclusive)
    }

    /// Whether more pairs are likely to answer what is open.
    pub fn futility(&self, rules: &Rulebook<'_>, first: &ExperimentJudgement) -> Futility {
        let asked = self.asked(first);
        let rules = Rulebook { metrics: &self.metrics[..asked], bad_starts: None, ..rules.clone() };
        futility(&rules, &self.judgement.metrics[..asked])
    }

    pub fn metrics(&self) -> &[MetricAnswer] {
        &self.judgement.metrics
    }

    /// The judgement on both. Metrics have their values at the places of their pairs.
    pub fn joined(self, rules: &Rulebook<'_>, first: ExperimentJudgement) -> ExperimentJudgement {
        let (before, asked) = (first.pairs as usize, self.asked(&first));
        let mut joined = first;
        let ExperimentJudgement { metrics, findings, pairs, end, level, .. } = self.judgement;
        for (number, (at, answer)) in self.places.into_iter().zip(metrics).enumerate() {
            // The error rate is decided before, unless it differs now.
            if number >= asked && answer.verdict != MetricVerdict::Regressed {
                continue;
            }
            let values = std::iter::repeat_n([None; 2], before).chain(answer.values).collect();
            let because = format!("In turn: {}", answer.because);
            joined.metrics[at] = MetricAnswer { values, because, ..answer };
        }
        joined.findings.extend(findings);
        joined.findings.sort_by_key(|finding| finding.severity);
        joined.pairs += pairs;
        joined.level += level;
        joined.end = end;
        (joined.verdict, joined.because) =
            verdict::whole(rules, &joined.metrics, &joined.findings, &joined.end);
        joined
    }
}

#[cfg(test)]
mod tests {
    use stats::Looks;

    use super::super::tests::{NOISE, known, metric, pairs};
    use super::super::{Levels, SlotValue, Together};
    use super::*;

    /// Pairs in which B's p50 and CPU per request are so many times A's.
    fn made(count: usize, p50: f64, cpu: f64, failed: f64) -> Vec<JudgedPair> {
        let share = |value| SlotValue::Known { value, error: 0.000_1, lag: 0.0 };
        let values = (0..count).map(|i| {
            let noise = |of: usize| (0.01 * NOISE[of]).exp();
            vec![
                [known(20.0), known(20.0 * p50 * noise(i))],
                [known(3.0), known(3.0 * cpu * noise(15 - i))],
                [share(0.0), share(failed)],
            ]
        });
        pairs(values.collect())
    }

    fn together(pairs: Vec<JudgedPair>) -> Vec<JudgedPair> {
        pairs.into_iter().map(|pair| JudgedPair { share_of_b: Some(0.5), ..pair }).collect()
    }

    fn confirmed(first: &[JudgedPair], then: &[JudgedPair]) -> ExperimentJudgement {
        let metrics = ["p50(list)", "cpu_per_request(target = web)", "error_rate(all)"].map(metric);
        let looks = Looks::default();
        let levels = Levels::for_alarm(0.002_5);
        let rules = Rulebook {
            metrics: &metrics,
            looks: &looks,
            levels,
            accept: &[],
            bad_starts: None,
            together: Together::default(),
        };
        let first = judge_experiment(&rules, first, ExperimentEnd::LastLook);
        assert!(can_be_confirmed(&first), "{first:?}");
        let then = Confirmation::judge(&rules, &first, then, ExperimentEnd::LastLook);
        then.joined(&rules, first)
    }

    #[test]
    fn times_that_are_not_shown_are_answered_by_pairs_in_turn() {
        use MetricVerdict::{Equivalent, Inconclusive, Regressed};
        let first = || together(made(10, 1.0, 1.0, 0.0));
        let verdicts = |of: &ExperimentJudgement| [0, 1, 2].map(|at| of.metrics[at].verdict);
        let equal = confirmed(&first(), &made(10, 1.0, 1.3, 0.0));
        assert_eq!(verdicts(&equal), [Equivalent; 3], "CPU is decided by the windows");
        assert_eq!((equal.verdict, equal.pairs, equal.level), (Verdict::Pass, 20, 0.005));
        assert_eq!(equal.because, "No regression in any of 3 metrics.");
        let values = &equal.metrics[0].values;
        assert_eq!((values.len(), values[9], values[10][0]), (20, [None; 2], Some(20.0)));
        assert!(equal.metrics[0].because.starts_with("In turn: "), "{}", equal.metrics[0].because);
        // What queueing hides at the same moment.
        let slower = confirmed(&first(), &made(10, 1.4, 1.0, 0.0));
        assert_eq!((verdicts(&slower)[0], slower.verdict), (Regressed, Verdict::Fail));
        let none = confirmed(&first(), &[]);
        assert_eq!((verdicts(&none)[0], none.verdict), (Inconclusive, Verdict::Inconclusive));
        let failing = confirmed(&first(), &made(10, 1.0, 1.0, 0.2));
        assert_eq!(verdicts(&failing)[2], Regressed);
        assert_eq!(failing.verdict, Verdict::Fail);
    }
}
