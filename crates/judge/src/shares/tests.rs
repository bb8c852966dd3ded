use proptest::prelude::*;

use super::*;

/// So many arrivals a second, and how many of them are beyond, by second.
fn seconds(count: usize, a_second: u64, beyond: impl Fn(usize) -> u64) -> Vec<Proportion> {
    (0..count).map(|second| Proportion { part: beyond(second), whole: a_second }).collect()
}

/// A question whose observed times are all there is.
fn question(allowed: f64, seconds: Vec<Proportion>) -> ShareQuestion {
    let part = seconds.iter().map(|second| second.part).sum();
    let whole = seconds.iter().map(|second| second.whole).sum();
    let observed = Proportion { part, whole };
    ShareQuestion {
        counts: BeyondCounts { arrivals: whole, least: part, most: part, observed, at_bound: 0 },
        at_bound: Cut { place: CutPlace::NearBound, seconds },
        other_cuts: Vec::new(),
        allowed,
        confidence: CONFIDENCE,
        assumed_effect: stats::UNKNOWN_DESIGN_EFFECT,
    }
}

fn answer(allowed: f64, seconds: Vec<Proportion>) -> ShareAnswer {
    question(allowed, seconds).decide().answer
}

#[test]
fn a_few_requests_without_a_failure_do_not_show_a_low_error_rate() {
    assert_eq!(answer(0.001, seconds(50, 1, |_| 0)), ShareAnswer::UndecidedBySample);
    assert_eq!(answer(0.001, seconds(60, 499, |_| 0)), ShareAnswer::UndecidedBySample, "29,940 of 29,950");
    assert_eq!(answer(0.001, seconds(60, 500, |_| 0)), ShareAnswer::Pass);
}

#[test]
fn none_of_851_is_enough_for_a_p95() {
    assert_eq!(answer(0.05, seconds(30, 29, |_| 0)), ShareAnswer::Pass);
    assert_eq!(answer(0.05, seconds(20, 29, |_| 0)), ShareAnswer::UndecidedBySample, "580 of 590");
}

/// 900 of 30,000 are 3 %, but in one cluster: the next run may have two of them.
#[test]
fn an_outage_counts_as_one_cluster() {
    let outage = |second: usize| if (100..109).contains(&second) { 100 } else { 0 };
    let decision = question(0.04, seconds(300, 100, outage)).decide();
    assert_eq!(decision.answer, ShareAnswer::UndecidedBySample, "{decision:?}");
    assert!(decision.effective_sample < 60.0 && decision.limits.upper > 0.04, "{decision:?}");
    assert_eq!(answer(0.04, seconds(300, 100, |_| 3)), ShareAnswer::Pass, "the same share, evenly");
    assert_eq!(answer(0.02, seconds(300, 100, |_| 3)), ShareAnswer::Fail);
}

/// Half a minute of each level, in a run of a minute and in one of ten.
#[test]
fn changes_that_take_half_of_a_run_are_too_slow_for_it() {
    let slow = |count| {
        let beyond = |second: usize| [2, 2, 9, 9, 9, 2][(second / 10) % 6];
        question(0.05, seconds(count, 100, beyond)).slow_changes_s()
    };
    assert!(slow(60).is_some_and(|slow| (4.0..12.0).contains(&slow)), "{:?}", slow(60));
    assert_eq!(slow(600), None);
    assert_eq!(question(0.05, seconds(60, 100, |second| second as u64 % 2 * 10)).slow_changes_s(), None);
}

/// However much the seconds of such a run depend on each other.
#[test]
fn a_target_that_died_half_way_has_violated_its_error_rate() {
    let dead = |second: usize| if second == 0 { 31 } else { 50 };
    let decision = question(0.01, seconds(3, 50, dead)).decide();
    assert_eq!(decision.answer, ShareAnswer::Fail, "{decision:?}");
    assert_eq!(decision.effective_sample, 3.0, "at worst each second is one observation");
    let last_tenth = |second: usize| if second >= 540 { 20 } else { 0 };
    assert_eq!(answer(0.01, seconds(600, 20, last_tenth)), ShareAnswer::Fail);
    let one_failure_a_minute = |second: usize| u64::from(second.is_multiple_of(60));
    assert_eq!(answer(0.01, seconds(180, 1, one_failure_a_minute)), ShareAnswer::UndecidedBySample);
}

#[test]
fn a_share_at_the_allowed_one_is_undecided() {
    let near = |second: usize| if second.is_multiple_of(20) { 6 } else { 5 };
    assert_eq!(answer(0.05, seconds(60, 100, near)), ShareAnswer::UndecidedBySample);
    assert_eq!(answer(0.05, seconds(60, 100, |_| 5)), ShareAnswer::UndecidedBySample);
}

#[test]
fn what_the_generator_may_have_caused_or_hidden_stays_open() {
    let mut caused = question(0.05, seconds(60, 100, |_| 8));
    assert_eq!(caused.decide().answer, ShareAnswer::Fail);
    caused.counts.least = 60;
    assert_eq!(caused.decide().answer, ShareAnswer::UndecidedByGenerator);
    let mut hidden = question(0.05, seconds(60, 100, |_| 1));
    hidden.counts.most = 600;
    assert_eq!(hidden.decide().answer, ShareAnswer::UndecidedByGenerator);
    hidden.counts.most = 120;
    assert_eq!(hidden.decide().answer, ShareAnswer::Pass, "all unknown arrivals beyond it are allowed");
}

#[test]
fn rounded_times_at_the_bound_are_no_fault_of_the_generator() {
    let mut rounded = question(0.05, seconds(60, 100, |_| 8));
    (rounded.counts.least, rounded.counts.at_bound) = (0, 480);
    assert_eq!(rounded.decide().answer, ShareAnswer::UndecidedBySample);
}

#[test]
fn nothing_allowed_is_a_question_about_this_run() {
    assert_eq!(answer(0.0, seconds(5, 10, |_| 0)), ShareAnswer::Pass);
    assert_eq!(answer(0.0, seconds(5, 10, |second| u64::from(second == 3))), ShareAnswer::Fail);
    assert_eq!(answer(-0.1, seconds(5, 10, |_| 0)), ShareAnswer::Fail, "less than none is impossible");
    assert_eq!(answer(0.05, Vec::new()), ShareAnswer::UndecidedBySample);
    let mut unknown = question(0.0, seconds(5, 10, |_| 0));
    unknown.counts.most = 1;
    assert_eq!(unknown.decide().answer, ShareAnswer::UndecidedByGenerator);
}

/// All slow arrivals are in the first 10 s, and none reaches half of the bound.
#[test]
fn a_level_that_moves_far_from_the_bound_leaves_nothing_open() {
    let level = seconds(60, 100, |second| if second < 10 { 30 } else { 0 });
    let mut calm = question(0.05, seconds(60, 100, |_| 0));
    calm.other_cuts = vec![Cut { place: CutPlace::FarFromBound, seconds: level.clone() }];
    assert_eq!(calm.decide().design_effect, stats::UNKNOWN_DESIGN_EFFECT);
    assert_eq!(calm.decide().answer, ShareAnswer::Pass);
    calm.other_cuts = vec![Cut { place: CutPlace::NearBound, seconds: level }];
    assert_eq!(calm.decide().answer, ShareAnswer::UndecidedBySample);
}

#[test]
fn one_failure_is_no_better_than_none() {
    let with = |failures: u64| {
        question(0.001, seconds(60, 300, |second| if second == 31 { failures } else { 0 })).decide()
    };
    assert!(with(1).limits.upper >= with(0).limits.upper, "{:?} {:?}", with(1), with(0));
    assert_eq!(with(1).answer, ShareAnswer::UndecidedBySample);
}

#[test]
fn levels_within_a_factor_of_one_and_a_half_are_near_the_bound() {
    use CutPlace::{FarFromBound, NearBound};
    let cuts = |quantile| {
        let cuts = other_cuts(quantile, 150.0);
        cuts.iter().map(|cut| (cut.place, cut.time)).collect::<Vec<_>>()
    };
    assert_eq!(cuts(3.0), [(FarFromBound, 3.0), (NearBound, 100.0)]);
    assert_eq!(cuts(101.0), [(NearBound, 101.0)]);
    assert_eq!(cuts(224.0), [(NearBound, 224.0)]);
    assert_eq!(cuts(f64::INFINITY), [(FarFromBound, f64::INFINITY), (NearBound, 225.0)]);
}

prop_compose! {
    fn any_question()(
        shares in prop::collection::vec((0..40u64, 1..60u64), 1..130),
        allowed in prop_oneof![Just(0.0), 0.0..0.5f64],
        unknown in (0..200u64, 0..200u64),
    ) -> ShareQuestion {
        let seconds = shares.iter().map(|(part, rest)| Proportion { part: *part, whole: part + rest });
        let mut question = question(allowed, seconds.collect());
        let counts = &mut question.counts;
        counts.least = counts.least.saturating_sub(unknown.0);
        counts.most = (counts.most + unknown.1).min(counts.arrivals);
        question
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn more_unknown_times_decide_nothing(question in any_question(), unknown in (0..50u64, 0..50u64)) {
        let before = question.decide();
        let mut wider = question.clone();
        wider.counts.least = wider.counts.least.saturating_sub(unknown.0);
        wider.counts.most = (wider.counts.most + unknown.1).min(wider.counts.arrivals);
        let after = wider.decide();
        let is_open = |answer| !matches!(answer, ShareAnswer::Pass | ShareAnswer::Fail);
        prop_assert!(after.answer == before.answer || is_open(after.answer), "{before:?} {after:?}");
        // Quantiles of the beta distribution are exact but for the rounding of their last steps.
        prop_assert!(after.limits.lower <= before.limits.lower + 1e-12);
        prop_assert!(after.limits.upper >= before.limits.upper - 1e-12);
    }

    #[test]
    fn limits_contain_the_share_and_a_higher_confidence_decides_no_more(question in any_question()) {
        let decision = question.decide();
        let at_most = question.counts.most as f64 / question.counts.arrivals as f64;
        let at_least = question.counts.least as f64 / question.counts.arrivals as f64;
        prop_assert!(decision.limits.lower <= at_least && at_most <= decision.limits.upper);
        prop_assert!(decision.design_effect >= 1.0);
        let surer = ShareQuestion { confidence: 0.99, ..question.clone() }.decide();
        let is_open = |answer| !matches!(answer, ShareAnswer::Pass | ShareAnswer::Fail);
        prop_assert!(surer.answer == decision.answer || is_open(surer.answer));
    }

    #[test]
    fn a_share_that_is_allowed_now_is_with_a_larger_allowance(question in any_question(), more in 0.0..0.3f64) {
        let larger = ShareQuestion { allowed: question.allowed + more, ..question.clone() };
        // A smaller allowance counts as none, which this run alone decides.
        prop_assume!(question.allowed > SHARE_ERROR);
        prop_assert!(question.decide().answer != ShareAnswer::Pass || larger.decide().answer == ShareAnswer::Pass);
        prop_assert!(larger.decide().answer != ShareAnswer::Fail || question.decide().answer == ShareAnswer::Fail);
    }
}

/// Six failures in 1,500 requests, each in a second of its own: the printed sizes make the printed limits.
#[test]
fn the_sample_that_makes_the_upper_limit_is_named() {
    let failing = |nth: usize| if nth.is_multiple_of(5) { 1 } else { 0 };
    let seconds = (0..30).map(|nth| Proportion { part: failing(nth), whole: 50 }).collect();
    let counts = BeyondCounts {
        arrivals: 1_500,
        least: 6,
        most: 6,
        observed: Proportion { part: 6, whole: 1_500 },
        at_bound: 0,
    };
    let question = ShareQuestion {
        counts,
        at_bound: Cut { place: CutPlace::NearBound, seconds },
        other_cuts: Vec::new(),
        allowed: 0.01,
        confidence: CONFIDENCE,
        assumed_effect: 10.0,
    };
    let decision = question.decide();
    let sample = decision.sample_without_any.unwrap();
    assert!((sample - 150.0).abs() < 1e-9, "ten count as one: {sample}");
    // None of 150: 1 − 0.05^(1/150).
    assert!((decision.limits.upper - (1.0 - 0.05_f64.powf(1.0 / 150.0))).abs() < 1e-9, "{decision:?}");
    let many = question.times_as_many(100.0).decide();
    assert_eq!(many.sample_without_any, None, "six hundred show how they cluster: {many:?}");
}
