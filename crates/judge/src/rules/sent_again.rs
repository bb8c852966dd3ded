//! L9: requests that were sent again, because the target had not processed them or closed the connection.

use evidence::{Finding, RuleId, Severity};
use figures::Row;

use crate::facts::Facts;
use crate::rule::{AffectedClaims, Check, Rule, with_figures};
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::L9,
    title: "sent-again",
    severity: Severity::Caution,
    tests: "For each endpoint and phase: requests that were sent a second time, because the target refused them \
            unprocessed or closed an idle connection instead of answering. Above 1 % of the requests that is a caution.",
    affects: "every objective on requests of that endpoint and phase",
    why: "A request that was sent again counts once, with the outcome of the last attempt and the time of \
          both. The first attempt failed: a client without retries would have reported an error.",
    next: "Let the target keep idle connections open for longer than its clients use them, and announce a shutdown \
           before it closes connections; or set `retry = \"never\"` for the target, which counts first attempts as they \
           end.",
    affected: AffectedClaims::Load,
    check: Check::Run(check),
};

/// A larger share of requests that were sent again is a caution.
pub(crate) const SENT_AGAIN: f64 = 0.01;

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    facts.figures.endpoints().filter_map(finding).collect()
}

fn finding(endpoint: &Row) -> Option<Finding> {
    let share = endpoint.retried as f64 / endpoint.begun().max(1) as f64;
    if share <= SENT_AGAIN {
        return None;
    }
    let what = format!(
        "{} of {} of {} ({}) {} sent again.",
        brief::count(endpoint.retried),
        brief::counted(endpoint.begun(), "request"),
        endpoint.key.describe(),
        brief::percent(share),
        brief::were(endpoint.retried),
    );
    let figures = [
        ("sent again", endpoint.retried as f64, "1"),
        ("sent again share", share * 100.0, "%"),
        ("threshold", SENT_AGAIN * 100.0, "%"),
    ];
    Some(with_figures(RULE.finding(Severity::Caution, endpoint.key.scope(), what), &figures))
}

#[cfg(test)]
mod tests {
    use evidence::Metric;

    use crate::testing::{Load, TestRun};

    /// A run of 6,000 requests of which so many were sent again.
    fn sent_again(n: u64) -> TestRun {
        let mut test_run =
            TestRun::new().offer("steady", "list", Load::ok(100)).with_objective("fast", "p95(list) < 50ms");
        test_run.count(Metric::Retried, "steady", "list", n);
        test_run
    }

    #[test]
    fn more_than_one_percent_sent_again_is_a_caution() {
        insta::assert_snapshot!(sent_again(61).findings(super::check), @r"
        caution [steady/play/list] 61 of 6,000 requests of `list` in `steady` (1.02 %) were sent again.
          sent again Some(61.0) 1, sent again share Some(1.0166666666666666) %, threshold Some(1.0) %
        ");
        insta::assert_snapshot!(sent_again(60).findings(super::check), @"nothing");
        assert!(sent_again(61).verdict().contains("PASS fast"), "{}", sent_again(61).verdict());
    }
}
