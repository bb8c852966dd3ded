//! M6: a run with some objectives passed does not pass.

use evidence::{Claim, Finding, RuleId, Scope, Severity, Verdict};

use crate::rule::{AffectedClaims, Check, Rule, with_figures};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::M6,
    title: "partial-pass",
    severity: Severity::Fail,
    tests: "Some objectives pass, and at least one other does not: a violated one fails the run; one that \
            could not be decided is a caution here, and prevents the run from passing.",
    affects: "the whole run",
    why: "Four of five is not a pass: every objective must be met.",
    next: "Report the verdict on each objective; fix what violates one.",
    affected: AffectedClaims::Named,
    check: Check::Claims(check),
};

fn check(claims: &[Claim]) -> Vec<Finding> {
    let passed = claims.iter().filter(|c| c.verdict == Verdict::Pass).count();
    if passed == 0 || passed == claims.len() {
        return Vec::new();
    }
    let names = |is_selected: fn(Verdict) -> bool| -> Vec<&str> {
        claims.iter().filter(|c| is_selected(c.verdict)).map(|c| c.name.as_str()).collect()
    };
    let failed = names(|v| v == Verdict::Fail);
    let (severity, what) = if failed.is_empty() {
        let undecided = names(|v| v != Verdict::Pass);
        let what = format!(
            "{passed} of {} objectives are met; {} could not be decided. That is not a pass.",
            claims.len(),
            undecided.join(", ")
        );
        (Severity::Caution, what)
    } else {
        let what = format!("{passed} of {} is FAIL: {} violated.", claims.len(), failed.join(", "));
        (Severity::Fail, what)
    };
    let figures = [("objectives met", passed as f64, "1"), ("threshold", claims.len() as f64, "1")];
    vec![with_figures(RULE.finding(severity, Scope::default(), what), &figures)]
}

#[cfg(test)]
mod tests {
    use crate::testing::{Load, TestRun};

    fn one_met_objective() -> TestRun {
        TestRun::new()
            .offer("steady", "list", Load { failed: 1, ..Load::of(99) })
            .with_objective("fast", "p95(list) < 50ms")
    }

    #[test]
    fn one_violated_objective_fails_the_run() {
        insta::assert_snapshot!(one_met_objective().with_objective("few_errors", "error_rate(list) < 0.1%").findings_of("M6"), @r#"
        fail [] 1 of 2 is FAIL: few_errors violated.
          objectives met Some(1.0) 1, threshold Some(2.0) 1
        "#);
    }

    #[test]
    fn one_undecided_objective_prevents_the_run_from_passing() {
        insta::assert_snapshot!(one_met_objective().with_objective("cpu", "mean(cpu, target = web) < 0.85").findings_of("M6"), @r#"
        caution [] 1 of 2 objectives are met; cpu could not be decided. That is not a pass.
          objectives met Some(1.0) 1, threshold Some(2.0) 1
        "#);
    }

    #[test]
    fn all_met_or_none_met_gives_no_finding() {
        insta::assert_snapshot!(one_met_objective().findings_of("M6"), @"nothing");
    }
}
