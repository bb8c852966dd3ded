use evidence::{ExperimentJudgement, Verdict};
use stats::Looks;

use super::super::tests::{NOISE, known, metric, pairs};
use super::super::{Conditions, Levels, SlotValue, judge_experiment};
use super::*;

/// How the windows of an experiment are split: as often in favour of either arm.
const SHARES: [f64; 16] = [0.5, 0.5, 0.4, 0.6, 0.5, 0.5, 0.6, 0.4, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.4, 0.6];

/// Windows of both arms in which B's p50 and CPU per request are so many times A's.
fn windows(count: usize, p50: f64, cpu: f64) -> Vec<JudgedPair> {
    varying_windows(count, [p50, cpu], [0.01, 0.01])
}

/// The same where each varies by its own deviation.
fn varying_windows(count: usize, ratios: [f64; 2], deviations: [f64; 2]) -> Vec<JudgedPair> {
    let sides =
        |of: usize, i: usize| [known(20.0), known(20.0 * ratios[of] * (deviations[of] * NOISE[i]).exp())];
    let share = SlotValue::Known { value: 0.0, error: 0.0001, lag: 0.0 };
    let values = (0..count).map(|i| vec![sides(0, i), sides(1, 15 - i), [share.clone(), share.clone()]]);
    let pair = |(i, pair): (usize, JudgedPair)| JudgedPair { share_of_b: Some(SHARES[i]), ..pair };
    pairs(values.collect()).into_iter().enumerate().map(pair).collect()
}

fn judged(together: Together, pairs: &[JudgedPair], end: ExperimentEnd) -> ExperimentJudgement {
    let metrics = ["p50(list)", "cpu_per_request(target = web)", "error_rate(all)"].map(metric);
    let (looks, levels) = (Looks::default(), Levels::for_alarm(0.005));
    let rules =
        Rulebook { metrics: &metrics, looks: &looks, levels, accept: &[], bad_starts: None, together };
    judge_experiment(&rules, pairs, end)
}

fn usual(pairs: &[JudgedPair]) -> ExperimentJudgement {
    judged(Together::default(), pairs, ExperimentEnd::LastLook)
}

fn verdicts(judgement: &ExperimentJudgement) -> [MetricVerdict; 3] {
    [0, 1, 2].map(|at| judgement.metrics[at].verdict)
}

#[test]
fn equal_times_are_not_shown_and_the_cost_of_a_request_decides() {
    use MetricVerdict::{Equivalent, NotShown, Regressed};
    let equal = usual(&windows(10, 1.0, 1.0));
    assert_eq!(verdicts(&equal), [NotShown, Equivalent, Equivalent]);
    assert_eq!(equal.verdict, Verdict::Pass);
    assert_eq!(
        equal.because,
        "No regression in 1 of 3 metrics; not shown: p50(list). Two versions that share processors at the same moment hide \
         queueing: that the time does not change cannot be shown by it."
    );
    let dearer = usual(&windows(10, 1.0, 1.1));
    assert_eq!(verdicts(&dearer), [NotShown, Regressed, Equivalent]);
    assert_eq!(dearer.verdict, Verdict::Fail);
}

#[test]
fn a_difference_of_times_stands_and_is_at_least_as_large() {
    let slower = usual(&windows(10, 1.2, 1.0));
    assert_eq!(slower.metrics[0].verdict, MetricVerdict::Regressed);
    assert!(
        slower.metrics[0].because.ends_with("Alone it is at least as large."),
        "{}",
        slower.metrics[0].because
    );
    assert_eq!(slower.verdict, Verdict::Fail);
    assert_eq!(usual(&windows(10, 0.8, 1.0)).metrics[0].verdict, MetricVerdict::Improved);
}

#[test]
fn an_experiment_by_times_alone_is_not_passed_by_their_equality() {
    let metrics = ["p50(list)", "error_rate(all)"].map(metric);
    let mut pairs = windows(10, 1.0, 1.0);
    pairs.iter_mut().for_each(|pair| drop(pair.values.remove(1)));
    let (looks, levels) = (Looks::default(), Levels::for_alarm(0.005));
    let rules = Rulebook {
        metrics: &metrics,
        looks: &looks,
        levels,
        accept: &[],
        bad_starts: None,
        together: Together::default(),
    };
    let judgement = judge_experiment(&rules, &pairs, ExperimentEnd::Decided);
    assert_eq!(judgement.verdict, Verdict::Inconclusive);
    assert!(
        judgement.because.starts_with("No difference is shown, and nothing excludes one: p50(list)."),
        "{}",
        judgement.because
    );
    let futility = super::super::futility(&rules, &judgement.metrics);
    assert_eq!(futility, super::super::Futility::Futile, "more windows change nothing");
}

#[test]
fn an_open_time_is_looked_for_until_the_last_look() {
    let open = |count, end| judged(Together::default(), &varying_windows(count, [1.0; 2], [0.1, 0.01]), end);
    assert_eq!(open(10, ExperimentEnd::Decided).metrics[0].verdict, MetricVerdict::Inconclusive);
    assert_eq!(open(10, ExperimentEnd::Decided).verdict, Verdict::Inconclusive);
    assert_eq!(open(10, ExperimentEnd::Budget).metrics[0].verdict, MetricVerdict::NotShown);
    assert_eq!(open(10, ExperimentEnd::Budget).verdict, Verdict::Pass);
}

#[test]
fn a_time_that_is_not_shown_names_the_pair_without_a_value() {
    let mut pairs = varying_windows(16, [1.0; 2], [0.1, 0.01]);
    pairs[1].values[0][1] = SlotValue::Missing("the generator did not run.".to_owned());
    let p50 = &usual(&pairs).metrics[0];
    assert_eq!((p50.verdict, p50.without_value), (MetricVerdict::NotShown, [0, 1]));
    assert!(p50.because.contains("in pair 2 B has none: the generator did not run"), "{}", p50.because);
}

#[test]
fn what_shares_a_store_or_was_not_started_anew_shows_differences_only() {
    use MetricVerdict::{Improved, NotShown, Regressed};
    let store = Together { have_shared_store: true, ..Together::default() };
    let of =
        |together, p50, cpu| verdicts(&judged(together, &windows(10, p50, cpu), ExperimentEnd::LastLook));
    assert_eq!(of(store, 1.2, 0.8), [Regressed, NotShown, NotShown]);
    let these = Together { are_restarted: false, ..Together::default() };
    assert_eq!(of(these, 0.8, 1.2), [Improved, Regressed, NotShown]);
    let equal = judged(these, &windows(10, 1.0, 1.0), ExperimentEnd::LastLook);
    assert_eq!(verdicts(&equal), [NotShown; 3]);
    assert_eq!(equal.verdict, Verdict::Inconclusive);
    assert!(equal.because.contains("The claim is about these two processes"), "{}", equal.because);
}

#[test]
fn the_other_version_is_no_neighbour_and_the_generator_must_be_alike() {
    let with = |a: Conditions, b: Conditions| {
        let mut pairs = windows(10, 1.0, 1.0);
        for (pair, noise) in pairs.iter_mut().zip(NOISE) {
            let lag =
                |side: Conditions| Conditions { lag_ms: side.lag_ms.map(|ms| ms + 0.01 * noise), ..side };
            pair.conditions = [a, lag(b)];
        }
        usual(&pairs)
    };
    let of = |others_cores, lag_ms| Conditions { others_cores, lag_ms, ..Conditions::default() };
    let neighbours = with(of(Some(0.5), Some(0.2)), of(Some(1.5), Some(0.2)));
    assert_eq!(neighbours.findings, []);
    let lag = with(of(None, Some(0.2)), of(None, Some(0.8)));
    assert_eq!(lag.findings[0].name, "start-lag-differs");
    assert_eq!(lag.metrics[1].verdict, MetricVerdict::Inconclusive);
    assert_eq!(with(of(None, Some(0.2)), of(None, Some(0.6))).findings, []);
}

/// Windows in which A's p50 is so many times as long where B has 60 % of the load as where it has 40 %, and B's so many times as
/// short.
fn disturbed(by: f64) -> Vec<JudgedPair> {
    let mut all = windows(10, 1.0, 1.0);
    for pair in &mut all {
        let shift = (pair.share_of_b.unwrap() - 0.5) / 0.2 * f64::ln(by);
        let [a, b] = [&pair.values[0][0], &pair.values[0][1]].map(|side| side.known().unwrap());
        pair.values[0] = [known(a * shift.exp()), known(b * (-shift).exp())];
    }
    all
}

#[test]
fn versions_that_disturb_each_other_have_no_times() {
    let found = usual(&disturbed(1.15));
    assert_eq!(found.metrics[0].verdict, MetricVerdict::Invalid);
    assert_eq!(found.metrics[1].verdict, MetricVerdict::Equivalent, "what a request costs stands");
    let finding = found.findings.iter().find(|finding| finding.name == "interference").unwrap();
    assert!(finding.what.contains("slower by +15."), "{}", finding.what);
    let is_disturbed =
        |by| usual(&disturbed(by)).findings.iter().any(|finding| finding.name == "interference");
    assert!(!is_disturbed(1.0));
    assert!(!is_disturbed(0.87), "each waits for itself");
}

#[test]
fn times_are_equivalent_where_the_versions_are_apart_and_do_not_disturb_each_other() {
    let apart = Together { are_pinned_apart: true, ..Together::default() };
    let of = |pairs: &[JudgedPair]| judged(apart, pairs, ExperimentEnd::LastLook).metrics[0].verdict;
    let (mut calm, steady) = (windows(16, 1.0, 1.0), disturbed(1.018));
    for (pair, noise) in calm.iter_mut().zip(NOISE) {
        pair.values[0][1] = known(20.0 * (0.005 * noise).exp());
    }
    assert_eq!(of(&calm), MetricVerdict::Equivalent);
    assert_eq!(of(&steady), MetricVerdict::NotShown, "interference of half of the margin is not excluded");
}
