use super::*;

#[test]
fn a_rule_is_found_by_either_name_in_any_case() {
    assert_eq!(explain(" l1 ").map(|r| r.title), Some("offered-load-not-reached"));
    assert_eq!(explain("Dropped-Or-Late").map(|r| r.id), Some("L2"));
    assert_eq!(explain("L9"), None);
}

#[test]
fn an_unknown_rule_is_answered_with_the_nearest() {
    insta::assert_snapshot!(unknown_rule("censored-quantiles"), @"there is no rule `censored-quantiles`. Did you mean `Q2` (censored-quantile)? Known are L1, L2, L3, L4, L5, L6, L7, C1, C2, C3, C4, C5, C6, C7, C8, S1, Q1, Q2, Q3, Q4, Q5, Q7, Q8, Q9, S4, S9, T1, T2, T4, T5, O1, M4, M5, M6.");
    insta::assert_snapshot!(unknown_rule("?"), @"there is no rule `?`. Known are L1, L2, L3, L4, L5, L6, L7, C1, C2, C3, C4, C5, C6, C7, C8, S1, Q1, Q2, Q3, Q4, Q5, Q7, Q8, Q9, S4, S9, T1, T2, T4, T5, O1, M4, M5, M6.");
}

#[test]
fn a_rule_explains_itself() {
    insta::assert_snapshot!(explain("Q3").unwrap(), @r#"
    Q3 survivors-only (invalid)

    What it tests
      A mean, a lowest or a highest time is of successes only; failed or dropped arrivals above 1 % are invalid for it, above 0.1 % a caution. Quantiles count them as infinitely slow instead.

    What it guards
      objectives on `avg`, `min` and `max` of times

    Why it matters
      A number about those that got through says nothing of those that did not.

    What to do
      Ask for a quantile, which counts failures, and bound `error_rate` beside it.
    "#);
}

#[test]
fn the_words_name_the_thresholds_that_are_used() {
    use crate::thresholds as t;
    use crate::words::{ms, number, percent, whole};
    let named = [
        ("L1", [t::KEPT_INVALID, t::KEPT_CAUTION, t::KEPT_IN_WINDOW].map(percent).to_vec()),
        ("L1", vec![format!("{} s", t::WINDOW_S)]),
        ("L2", [t::LATE_INVALID, t::LATE_CAUTION, t::LAG_SHARE].map(percent).to_vec()),
        ("L2", vec![ms(t::LAG_FLOOR_MS)]),
        ("L3", vec![percent(t::LOOP_CPU), ms(t::STALL_MS), format!("{} s", t::WINDOW_S)]),
        ("L4", vec![percent(t::AT_CAP), percent(t::CAP_USE)]),
        ("L6", vec![format!("within {}", t::PLAN_GAP)]),
        ("L7", vec![percent(t::CUTOFF_NEAR), number(t::CUTOFF_FAILURES as f64)]),
        ("C1", vec![number(t::ERRORS_APART * 100.0), number(t::ERRORS_CHANCE)]),
        ("C2", vec![percent(t::MIX_APART), number(t::MIX_CHANCE), percent(t::BYTES_APART)]),
        ("C6", vec![percent(t::STATE_APART)]),
        ("L5", [t::LITTLE_CAUTION, t::LITTLE_INVALID].map(percent).to_vec()),
        ("L5", vec![format!("{} at least", t::LEAST_WINDOW_S)]),
        ("S9", [t::STEAL_MEAN, t::STEAL_WINDOW, t::FREQUENCY_APART, t::PRESSURE].map(percent).to_vec()),
        ("S9", vec![format!("{} cores", number(t::OTHERS_CORES))]),
        ("T5", vec![percent(t::CARRIED_SHARE), number(t::CARRIED as f64), percent(t::CARRIED_INVALID)]),
        ("Q1", vec![whole(t::POOLED_GROUP), number(t::POOLED_FAILURES * 100.0), number(t::POOLED_MEDIANS)]),
        ("Q2", vec![percent(t::NEAR_TIMEOUT)]),
        ("Q3", vec![percent(t::SURVIVORS_INVALID), percent(t::SURVIVORS_CAUTION)]),
        ("Q4", vec![whole(t::BIMODAL_SAMPLES)]),
        ("S4", vec![number(t::TAIL_GATED), number(t::TAIL_SHOWN), format!("{} s", t::BATCH_S)]),
        ("T1", vec![number(t::COURSE_RATE), number(t::COURSE_P95_RATE), percent(t::WARM_UP_MOVES)]),
        ("T2", vec![number(t::BURST * 100.0), format!("{} s", t::BURST_BATCH_S)]),
        ("T4", vec![percent(t::WORKING)]),
    ];
    for (rule, words) in named {
        let tests = explain(rule).unwrap().tests;
        assert!(words.iter().all(|word| tests.contains(word)), "{rule}: {words:?}");
    }
}

/// The manual's page, as the table of rules makes it.
fn manual() -> String {
    let mut text = include_str!("manual_head.md").to_owned();
    for rule in RULES {
        text += &format!("\n## {} {}\n\n", rule.id, rule.title);
        text += &format!("Gravest severity: {}.\n\n", rule.severity);
        text += &format!("**Tests.** {}\n\n", rule.tests);
        text += &format!("**Guards** {}.\n\n", rule.guards);
        text += &format!("**Why.** {}\n\n**Next.** {}\n", rule.why, rule.next);
    }
    text
}

#[test]
fn the_manual_says_what_the_rules_do() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules.md");
    let page = std::fs::read_to_string(page).unwrap();
    assert_eq!(page, manual(), "docs/rules.md and the table of rules have come apart");
}
