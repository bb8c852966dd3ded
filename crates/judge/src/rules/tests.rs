use super::*;

#[test]
fn a_rule_is_found_by_either_name_in_any_case() {
    assert_eq!(explain(" l1 ").map(|r| r.title), Some("offered-load-not-reached"));
    assert_eq!(explain("Dropped-Or-Late").map(|r| r.id), Some(RuleId::L2));
    assert!(explain("L99").is_none());
}

#[test]
fn rules_are_in_the_order_of_their_ids() {
    let ids: Vec<RuleId> = RULES.iter().map(|rule| rule.id).collect();
    assert!(ids.is_sorted() && ids.iter().all(|id| by_id(*id).id == *id), "{ids:?}");
}

#[test]
fn a_misspelt_rule_has_a_nearest() {
    assert_eq!(nearest_rule("censored-quantiles").map(|rule| rule.id), Some(RuleId::Q2));
    assert!(nearest_rule("?").is_none());
}

#[test]
fn a_rule_is_explained_in_full() {
    insta::assert_snapshot!(explain("Q3").unwrap(), @r"
    Q3 survivors-only (inconclusive)

    What it tests
      An objective on a mean, lowest or highest time covers successes only. It is inconclusive where it would have another result if the failed and dropped arrivals had taken no time, or their whole time limit; otherwise more than 0.1 % of them are a caution. Quantiles count them as infinitely slow instead. A script's threshold on the times of requests counts failed requests as k6 does, with the time until they failed, which is 0 where nothing was sent: it is invalid where it would have another result if they were infinitely slow.

    What it affects
      objectives on `avg`, `min` and `max` of times, and thresholds on the times of requests

    Why it matters
      A number about successes contains nothing about failures, and the time until a request failed is not a response time.

    What to do
      State a quantile, which counts failures, and a bound on `error_rate` beside it.
    ");
}

#[test]
fn the_texts_state_the_thresholds_that_are_used() {
    use crate::backlog::{LEAST_GROWTH, LEAST_SECONDS, LEAST_SHARE};
    use crate::facts::CLOCK_MS;
    use crate::facts::NEAR_LIMIT;
    use crate::facts::STALL_MS;
    use crate::facts::WINDOW_S;
    use crate::facts::carry_over::CARRIED_SHARE;
    use crate::facts::concurrency::LEAST_RUN_S;
    use crate::facts::steady_state::{BURST, BURST_BATCH_S, STEADY_MIN_RATE, STEADY_P95_MIN_RATE};
    use crate::rules::accounting_identity::PLAN_GAP;
    use crate::rules::carry_over::{CARRIED, CARRIED_INVALID};
    use crate::rules::censored_quantile::NEAR_TIMEOUT;
    use crate::rules::closed_loop_or_capped::{AT_VU_LIMIT, VU_LIMIT_USE};
    use crate::rules::dropped_or_late::LATE_CAUTION;
    use crate::rules::end_of_run_cutoff::{CUTOFF_FAILURES, CUTOFF_NEAR};
    use crate::rules::error_rates_differ::{ERRORS_APART, ERRORS_CHANCE};
    use crate::rules::functional_failure_phase::MIN_SUCCESS;
    use crate::rules::generator_saturated::{LOOP_CPU, STALLED};
    use crate::rules::impossible_or_bimodal::BIMODAL_SAMPLES;
    use crate::rules::little_mismatch::{LITTLE_CAUTION, LITTLE_INVALID};
    use crate::rules::noisy_host::{FREQUENCY_APART, OTHERS_CORES, PRESSURE, STEAL_MEAN, STEAL_WINDOW};
    use crate::rules::offered_load_not_reached::{DELIVERED_IN_WINDOW, DELIVERED_INVALID};
    use crate::rules::pooled_phases::{POOLED_FAILURES, POOLED_GROUP, POOLED_MEDIANS};
    use crate::rules::sent_again::SENT_AGAIN;
    use crate::rules::state_not_reset::STATE_APART;
    use crate::rules::survivors_only::SURVIVORS_CAUTION;
    use crate::rules::waited_for_connection::WAITED_INVALID;
    use crate::rules::warm_up_included::WARM_UP_MOVES;
    use crate::rules::worker_unlike_others::{LEAST_OFFERED, MANY_TIMES};
    use crate::rules::workload_mismatch::{BYTES_APART, MIX_APART, MIX_CHANCE};
    use crate::shares::{BATCH_S, CONFIDENCE, LEAST_BATCHES};
    use figures::number::brief::{count, ms, percent, significant};
    let expected = [
        ("L1", [DELIVERED_INVALID, DELIVERED_IN_WINDOW].map(percent).to_vec()),
        ("L1", vec![format!("{} s", WINDOW_S)]),
        ("L2", [LATE_CAUTION, NEAR_LIMIT].map(percent).to_vec()),
        ("L3", vec![percent(LOOP_CPU), format!("{} s", WINDOW_S)]),
        ("L4", vec![percent(AT_VU_LIMIT), percent(VU_LIMIT_USE)]),
        ("L6", vec![format!("within {}", PLAN_GAP)]),
        ("L7", vec![percent(CUTOFF_NEAR), significant(CUTOFF_FAILURES as f64)]),
        ("L8", vec![percent(WAITED_INVALID)]),
        ("L9", vec![percent(SENT_AGAIN)]),
        ("W2", vec![ms(CLOCK_MS)]),
        ("W4", vec![percent(LEAST_OFFERED), significant(MANY_TIMES)]),
        ("C1", vec![significant(ERRORS_APART * 100.0), significant(ERRORS_CHANCE)]),
        ("C2", vec![percent(MIX_APART), significant(MIX_CHANCE), percent(BYTES_APART)]),
        ("C6", vec![percent(STATE_APART)]),
        ("L5", [LITTLE_CAUTION, LITTLE_INVALID].map(percent).to_vec()),
        ("L5", vec![format!("{} s or longer", LEAST_RUN_S)]),
        ("S9", [STEAL_MEAN, STEAL_WINDOW, FREQUENCY_APART, PRESSURE].map(percent).to_vec()),
        ("S9", vec![percent(LOOP_CPU), percent(STALLED), ms(STALL_MS)]),
        ("S9", vec![format!("{} cores", significant(OTHERS_CORES))]),
        ("T5", vec![percent(CARRIED_SHARE), significant(CARRIED as f64), percent(CARRIED_INVALID)]),
        ("T7", vec![format!("{LEAST_SECONDS} whole seconds"), percent(CONFIDENCE)]),
        ("T7", vec![format!("{} requests", significant(LEAST_GROWTH)), percent(LEAST_SHARE)]),
        ("Q1", vec![count(POOLED_GROUP), significant(POOLED_FAILURES * 100.0), significant(POOLED_MEDIANS)]),
        ("Q2", vec![percent(NEAR_TIMEOUT)]),
        ("Q3", vec![percent(SURVIVORS_CAUTION)]),
        ("Q4", vec![count(BIMODAL_SAMPLES)]),
        ("S4", vec![percent(CONFIDENCE), format!("{BATCH_S} s"), format!("{LEAST_BATCHES} batches")]),
        ("T1", vec![significant(STEADY_MIN_RATE), significant(STEADY_P95_MIN_RATE), percent(WARM_UP_MOVES)]),
        ("T2", vec![significant(BURST * 100.0), format!("{} s", BURST_BATCH_S)]),
        ("T4", vec![percent(MIN_SUCCESS)]),
    ];
    for (rule, texts) in expected {
        let tests = explain(rule).unwrap().tests;
        assert!(texts.iter().all(|text| tests.contains(text)), "{rule}: {texts:?}");
    }
}

/// The page of the manual, generated from the table of rules.
fn manual() -> String {
    let mut text = include_str!("manual_head.md").to_owned();
    for rule in RULES {
        text += &format!("\n## {} {}\n\n", rule.id, rule.title);
        text += &format!("Gravest severity: {}.\n\n", rule.severity);
        text += &format!("**Tests.** {}\n\n", rule.tests);
        text += &format!("**Affects** {}.\n\n", rule.affects);
        text += &format!("**Why.** {}\n\n**Next.** {}\n", rule.why, rule.next);
    }
    text
}

#[test]
fn the_manual_is_generated_from_the_rules() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules.md");
    let page = std::fs::read_to_string(page).unwrap();
    assert_eq!(page, manual(), "docs/rules.md differs from the table of rules");
}
