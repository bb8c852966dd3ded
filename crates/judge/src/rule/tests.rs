use super::*;

#[test]
fn a_rule_is_found_by_either_name_in_any_case() {
    assert_eq!(explain(" l1 ").map(|r| r.title), Some("offered-load-not-reached"));
    assert_eq!(explain("Dropped-Or-Late").map(|r| r.id), Some("L2"));
    assert_eq!(explain("L9"), None);
}

#[test]
fn the_error_for_an_unknown_rule_names_the_nearest() {
    insta::assert_snapshot!(unknown_rule("censored-quantiles"), @"there is no rule `censored-quantiles`. Did you mean `Q2` (censored-quantile)? Known are A1, L1, L2, L3, L4, L5, L6, L7, C1, C2, C3, C4, C5, C6, C7, C8, S1, Q1, Q2, Q3, Q4, Q5, Q7, Q8, Q9, S4, S9, T1, T2, T4, T5, O1, M4, M5, M6.");
    insta::assert_snapshot!(unknown_rule("?"), @"there is no rule `?`. Known are A1, L1, L2, L3, L4, L5, L6, L7, C1, C2, C3, C4, C5, C6, C7, C8, S1, Q1, Q2, Q3, Q4, Q5, Q7, Q8, Q9, S4, S9, T1, T2, T4, T5, O1, M4, M5, M6.");
}

#[test]
fn a_rule_is_explained_in_full() {
    insta::assert_snapshot!(explain("Q3").unwrap(), @r#"
    Q3 survivors-only (invalid)

    What it tests
      A mean, a lowest or a highest time is of successes only; failed or dropped arrivals above 1 % are invalid for it, above 0.1 % a caution. Quantiles count them as infinitely slow instead.

    What it affects
      objectives on `avg`, `min` and `max` of times

    Why it matters
      A number about successes contains nothing about failures.

    What to do
      State a quantile, which counts failures, and a bound on `error_rate` beside it.
    "#);
}

#[test]
fn the_texts_state_the_thresholds_that_are_used() {
    use crate::numbers::{count, ms, percent, significant};
    use crate::thresholds as t;
    let expected = [
        ("L1", [t::DELIVERED_INVALID, t::DELIVERED_CAUTION, t::DELIVERED_IN_WINDOW].map(percent).to_vec()),
        ("L1", vec![format!("{} s", t::WINDOW_S)]),
        ("L2", [t::LATE_INVALID, t::LATE_CAUTION, t::LAG_SHARE].map(percent).to_vec()),
        ("L2", vec![ms(t::LAG_FLOOR_MS)]),
        ("L3", vec![percent(t::LOOP_CPU), ms(t::STALL_MS), format!("{} s", t::WINDOW_S)]),
        ("L4", vec![percent(t::AT_VU_LIMIT), percent(t::VU_LIMIT_USE)]),
        ("L6", vec![format!("within {}", t::PLAN_GAP)]),
        ("L7", vec![percent(t::CUTOFF_NEAR), significant(t::CUTOFF_FAILURES as f64)]),
        ("C1", vec![significant(t::ERRORS_APART * 100.0), significant(t::ERRORS_CHANCE)]),
        ("C2", vec![percent(t::MIX_APART), significant(t::MIX_CHANCE), percent(t::BYTES_APART)]),
        ("C6", vec![percent(t::STATE_APART)]),
        ("L5", [t::LITTLE_CAUTION, t::LITTLE_INVALID].map(percent).to_vec()),
        ("L5", vec![format!("{} at least", t::LEAST_WINDOW_S)]),
        ("S9", [t::STEAL_MEAN, t::STEAL_WINDOW, t::FREQUENCY_APART, t::PRESSURE].map(percent).to_vec()),
        ("S9", vec![format!("{} cores", significant(t::OTHERS_CORES))]),
        ("T5", vec![percent(t::CARRIED_SHARE), significant(t::CARRIED as f64), percent(t::CARRIED_INVALID)]),
        (
            "Q1",
            vec![
                count(t::POOLED_GROUP),
                significant(t::POOLED_FAILURES * 100.0),
                significant(t::POOLED_MEDIANS),
            ],
        ),
        ("Q2", vec![percent(t::NEAR_TIMEOUT)]),
        ("Q3", vec![percent(t::SURVIVORS_INVALID), percent(t::SURVIVORS_CAUTION)]),
        ("Q4", vec![count(t::BIMODAL_SAMPLES)]),
        ("S4", vec![significant(t::TAIL_GATED), significant(t::TAIL_SHOWN), format!("{} s", t::BATCH_S)]),
        (
            "T1",
            vec![
                significant(t::STEADY_MIN_RATE),
                significant(t::STEADY_P95_MIN_RATE),
                percent(t::WARM_UP_MOVES),
            ],
        ),
        ("T2", vec![significant(t::BURST * 100.0), format!("{} s", t::BURST_BATCH_S)]),
        ("T4", vec![percent(t::MIN_SUCCESS)]),
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
