//! Properties of every judgement.

use evidence::{Outcome, Severity, Verdict};
use proptest::prelude::*;

use crate::testing::{Load, TestRun};

fn any_load() -> impl Strategy<Value = Load> {
    let outcome = prop_oneof![Just(Outcome::Http5xx), Just(Outcome::Timeout), Just(Outcome::Refused)];
    let numbers = (0..200u64, prop_oneof![3 => Just(0u64), 1 => 0..40u64], 0..5u64, 0..3u64);
    let times = (1_000..80_000u64, 10..4_000u64);
    (numbers, times, outcome).prop_map(|((ok, failed, vu_limit, late), (us, lag_us), outcome)| Load {
        failed,
        outcome,
        dropped_vu_limit: vu_limit,
        dropped_generator_late: late,
        us,
        lag_us,
        ..Load::ok(ok)
    })
}

fn any_run() -> impl Strategy<Value = TestRun> {
    let ending = 0..4u8;
    (any_load(), any_load(), ending, prop::option::of(1_000..4_000u64)).prop_map(
        |(first, second, ending, stall)| {
            let mut test_run = TestRun::new()
                .offer("warm-up", "list", first)
                .offer("steady", "list", second)
                .with_objective("fast", "p95(list, phase = steady) < 50ms")
                .with_objective("all", "p50(all) < 50ms")
                .with_objective("few_errors", "error_rate(all) < 1%")
                .with_objective("rate", "goodput(phase = steady) >= 50/s");
            if let Some(us) = stall {
                test_run.stall(10..70, us);
            }
            match ending {
                0 => test_run.interrupted(),
                1 => test_run.killed(),
                2 => test_run.closed(5),
                _ => test_run,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_run_passes_only_if_every_claim_does(test_run in any_run()) {
        let judgement = test_run.judge();
        let all_pass = judgement.claims.iter().all(|c| c.verdict == Verdict::Pass);
        prop_assert!(judgement.verdict != Verdict::Pass || all_pass);
        prop_assert!(judgement.claims.iter().all(|c| c.verdict != Verdict::Measured && !c.reasons.is_empty()));
    }

    #[test]
    fn counts_that_add_up_never_give_a_finding(test_run in any_run()) {
        let findings = test_run.judge().findings;
        prop_assert!(findings.iter().all(|f| f.rule != evidence::RuleId::L6 || f.severity == Severity::Info));
    }

    #[test]
    fn the_same_run_is_judged_the_same(test_run in any_run()) {
        prop_assert_eq!(test_run.judge(), test_run.clone().judge());
    }

    #[test]
    fn turning_successes_into_failures_never_improves_a_quantile(
        load in any_load(), share in 0.0..1.0f64, q in 1u32..100,
    ) {
        let objective = format!("p{q}(list, phase = steady) < 50ms");
        let turned = (load.ok as f64 * share) as u64;
        let worse = Load { ok: load.ok - turned, failed: load.failed + turned, ..load };
        let judged = |load| {
            let test_run = TestRun::new().offer("steady", "list", load).with_objective("tail", &objective);
            test_run.judge().claims.remove(0)
        };
        let (before, after) = (judged(load), judged(worse));
        let value = |claim: &evidence::Claim| claim.observed.value.unwrap_or(f64::INFINITY);
        prop_assert!(value(&after) >= value(&before) * 0.999 || before.samples == 0);
        prop_assert!(after.verdict != Verdict::Pass || before.verdict == Verdict::Pass);
    }

    #[test]
    fn further_failures_never_turn_a_violation_into_a_pass(load in any_load(), more in 1..100u64) {
        let judged = |load| {
            let test_run = TestRun::new().offer("steady", "list", load).with_objective("tail", "p90(list) < 40ms");
            test_run.judge().claims.remove(0).verdict
        };
        let after = judged(Load { failed: load.failed + more, ..load });
        prop_assert!(judged(load) != Verdict::Fail || after != Verdict::Pass);
    }
}
