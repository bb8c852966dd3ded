//! Arms whose breaks are known, probed and judged.

use evidence::capacity::ProbeStage;
use evidence::diagnosis::ResourceUse;

use super::*;

const BREAKS: f64 = 200.0;

fn line(resource: &str, standing: LedgerStanding, capacity: f64) -> LedgerLine {
    LedgerLine {
        resource: resource.to_owned(),
        series: "db_in_use".to_owned(),
        limit: Some(4.0),
        used_at_break: None,
        demand_s: None,
        capacity_per_s: Some(CapacityInterval { low: 0.97 * capacity, high: Some(1.03 * capacity) }),
        wait_growth: None,
        wait_s: None,
        standing,
    }
}

/// A pool of 4 that limits at 200 a second, and processors that suffice for `next`.
fn rules(next: f64, hardest: f64) -> ConfirmationRules {
    let ledger = vec![
        line("db of web", LedgerStanding::Limits, BREAKS),
        line("CPU of web", LedgerStanding::Suffices, next),
    ];
    let diagnosis = Diagnosis { ledger, range_per_s: Some([0.9 * BREAKS, BREAKS]), ..Diagnosis::default() };
    let levels = SearchedLevels { breaks: BREAKS, hardest, unit: "arrivals/s", seed: 7 };
    ConfirmationRules::new(&diagnosis, "POOL=8", levels).unwrap()
}

fn probe(level: f64, passes: bool, size: Option<f64>) -> CapacityProbe {
    let db = |size| ResourceUse {
        name: "db of web".to_owned(),
        series: "db_in_use".to_owned(),
        used: 1.0,
        limit: Some(size),
        wait_s: None,
    };
    CapacityProbe {
        margins: vec![if passes { 0.1 } else { -0.1 }],
        uses: size.map(db).into_iter().collect(),
        ..CapacityProbe::unmeasured(ProbeStage::Spread, level)
    }
}

/// Every probe that is asked for, made by `make`.
fn made(
    rules: &ConfirmationRules,
    mut make: impl FnMut(ConfirmationArm, f64) -> CapacityProbe,
) -> Vec<ArmProbe> {
    let mut all = Vec::new();
    while let Some((arm, level)) = rules.next(&all) {
        all.push(ArmProbe { arm, probe: make(arm, level) });
        assert!(all.len() <= 2 * ConfirmationRules::most_probes(), "it ends");
    }
    all
}

/// Arms that break at these loads, and the size of the raised one.
fn judged(rules: &ConfirmationRules, [unchanged, raised]: [f64; 2], size: Option<f64>) -> Confirmation {
    let all = made(rules, |arm, level| match arm {
        ConfirmationArm::Unchanged => probe(level, level < unchanged, Some(4.0)),
        ConfirmationArm::Raised => probe(level, level < raised, size),
    });
    rules.judge(&all)
}

#[test]
fn a_limit_whose_break_moves_as_predicted_is_confirmed() {
    let found = judged(&rules(3_000.0, 9_000.0), [195.0, 390.0], Some(8.0));
    assert_eq!(found.answer, ConfirmationAnswer::Confirmed, "{found:#?}");
    insta::assert_snapshot!(found.because, @"with POOL=8 it holds at 320 and breaks at 448.0 arrivals/s; unchanged it holds at 180 and breaks at 200 arrivals/s. That is 1.6 to 2.49 times the load, and 2 times were predicted.");
    assert_eq!((found.sizes, found.predicted), ((4.0, Some(8.0)), Some(2.0)));
    assert_eq!((found.unchanged.probes, found.raised.probes), (8, 10), "every level twice");
}

#[test]
fn an_arm_that_carries_no_more_is_not_confirmed() {
    let found = judged(&rules(3_000.0, 9_000.0), [195.0, 195.0], Some(8.0));
    assert_eq!(found.answer, ConfirmationAnswer::NotConfirmed, "{found:#?}");
    insta::assert_snapshot!(found.because, @"with POOL=8 it holds at 180 and breaks at 224.0 arrivals/s; unchanged it holds at 180 and breaks at 200 arrivals/s. That is 0.9 to 1.24 times the load, and 2 times were predicted.");
    // Nor is one that carries less.
    let less = judged(&rules(3_000.0, 9_000.0), [195.0, 100.0], Some(8.0));
    assert_eq!(less.answer, ConfirmationAnswer::NotConfirmed, "{less:#?}");
}

#[test]
fn a_break_that_moves_by_less_than_predicted_is_not_confirmed() {
    let found = judged(&rules(3_000.0, 9_000.0), [195.0, 400.0], Some(12.0));
    assert_eq!(found.answer, ConfirmationAnswer::NotConfirmed, "{found:#?}");
    assert!(found.because.ends_with("Something else limits soon after it."), "{}", found.because);
}

#[test]
fn an_arm_whose_size_is_the_same_confirms_nothing_and_is_not_probed_on() {
    for (size, expected) in [(Some(4.0), "its size is 4 with POOL=8 too"), (None, "was not observed")] {
        let rules = rules(3_000.0, 9_000.0);
        let found = judged(&rules, [195.0, 390.0], size);
        assert_eq!(found.answer, ConfirmationAnswer::Inconclusive, "{found:#?}");
        assert!(found.because.contains(expected), "{}", found.because);
        assert_eq!((found.unchanged.probes, found.raised.probes), (0, 1));
    }
}

#[test]
fn what_cannot_be_seen_is_said_before_it_is_probed() {
    let because = |rules: ConfirmationRules, size| judged(&rules, [195.0, 390.0], Some(size)).because;
    assert!(because(rules(210.0, 9_000.0), 8.0).starts_with("CPU of web would be used up at 1.02 times"));
    assert!(because(rules(3_000.0, 9_000.0), 4.4).starts_with("from 4 to 4.4 moves the break too little"));
    assert!(
        because(rules(3_000.0, 220.0), 8.0).starts_with("220 arrivals/s is the most that can be offered")
    );
}

#[test]
fn what_is_used_up_next_bounds_the_prediction() {
    let found = judged(&rules(300.0, 9_000.0), [195.0, 290.0], Some(16.0));
    assert_eq!(found.answer, ConfirmationAnswer::Confirmed, "{found:#?}");
    assert!((found.predicted.unwrap() - 1.455).abs() < 1e-9, "{found:#?}");
}

#[test]
fn probes_that_say_nothing_are_repeated_once_and_do_not_count() {
    let mut number = 0;
    let rules = rules(3_000.0, 9_000.0);
    let all = made(&rules, |arm, level| {
        number += 1;
        let unusable = (number % 2 == 1).then(|| "the generator was late".to_owned());
        let breaks = if arm == ConfirmationArm::Raised { 390.0 } else { 195.0 };
        CapacityProbe { unusable, ..probe(level, level < breaks, Some(8.0)) }
    });
    let found = rules.judge(&all);
    assert_eq!(found.answer, ConfirmationAnswer::Confirmed, "{found:#?}");
    assert_eq!((all.len(), found.raised.probes), (36, 10));
}

/// Both arms have the same break, and near it chance decides: as if the size were raised and that changed nothing.
#[test]
fn chance_confirms_next_to_nothing_where_the_break_stays() {
    let uniform = |at: u64| mix(at) as f64 / u64::MAX as f64;
    let rules = rules(3_000.0, 9_000.0);
    let mut draw = 0;
    let mut is_confirmed = |spread: f64| {
        let all = made(&rules, |_, level| {
            draw += 1;
            // The chance to pass falls from 1 to 0 within `spread` of the break.
            let chance = (0.5 - (level / BREAKS).ln() / (2.0 * spread)).clamp(0.0, 1.0);
            probe(level, uniform(draw) < chance, Some(8.0))
        });
        rules.judge(&all).answer == ConfirmationAnswer::Confirmed
    };
    let confirmed = (0..2_000).filter(|at| is_confirmed([0.1, 0.3, 0.6, 1.2][at % 4])).count();
    assert!(confirmed <= 10, "{confirmed} of 2,000");
}
