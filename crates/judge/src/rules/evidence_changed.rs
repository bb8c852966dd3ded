//! A1: the evidence was changed after it was sealed.

use evidence::{Finding, Provenance, RuleId, Scope, Severity};

use crate::facts::Facts;
use crate::rule::{AffectedClaims, Check, Rule};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::A1,
    title: "evidence-changed",
    severity: Severity::Invalid,
    tests: "The SHA-256 digest of the evidence is not the one that its seal contains, or the seal of a run that \
            ended is missing. A run that was killed was never sealed: it has no digest, and is judged without.",
    affects: "everything: changed evidence invalidates the run, with or without objectives, and differences from \
              other runs",
    why: "Where one number was changed, any other may have been: what the run measured is not known.",
    next: "Use the file as the run left it, or run again. A deliberate change can renew the digest as well: keep \
           the digest of a run elsewhere, and compare.",
    affected: AffectedClaims::Everything,
    check: Check::Run(check),
};

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    finding(facts.provenance).into_iter().collect()
}

/// The finding about evidence of this provenance.
pub(crate) fn finding(provenance: Provenance) -> Option<Finding> {
    let what = "The evidence was changed after it was sealed: it does not have the digest of its seal.";
    (provenance == Provenance::Changed)
        .then(|| RULE.finding(Severity::Invalid, Scope::default(), what.to_owned()))
}

#[cfg(test)]
mod tests {
    use evidence::Metric;

    use super::*;
    use crate::testing::{Load, TestRun};

    /// A run with an objective that is met and one that is violated, judged.
    fn judged(provenance: Provenance) -> String {
        let test_run = TestRun::new()
            .offer("steady", "list", Load { failed: 7, ..Load::ok(93) })
            .with_objective("few", "error_rate(all) < 1%")
            .with_objective("fast", "throughput(phase = steady) > 1/s");
        let judgement = crate::judge(&test_run.run, &test_run.workload, provenance).unwrap();
        let claims = judgement.claims.iter().map(|claim| format!("\n{} {}", claim.verdict, claim.name));
        let claims: String = claims.collect();
        let found = judgement.findings.iter().filter(|finding| finding.rule == RuleId::A1).count();
        format!("{}: {}{claims}\nfindings: {found}", judgement.verdict, judgement.because)
    }

    #[test]
    fn changed_evidence_decides_nothing_and_any_other_is_judged() {
        insta::assert_snapshot!(judged(Provenance::Changed), @r"
        INVALID: A1 evidence-changed: The evidence was changed after it was sealed: it does not have the digest of its seal.
        INVALID few
        INVALID fast
        findings: 1
        ");
        insta::assert_snapshot!(judged(Provenance::Intact), @r"
        FAIL: 1 of 2 objectives is violated: few (error_rate(all) < 1%, measured 7 %). 1 is met.
        FAIL few
        PASS fast
        findings: 0
        ");
        assert_eq!(judged(Provenance::Unsealed), judged(Provenance::Intact));
    }

    #[test]
    fn it_is_the_first_reason_where_the_counts_do_not_add_up_either() {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(100));
        test_run.count(Metric::Scheduled, "steady", "", 7);
        let because =
            |provenance| crate::judge(&test_run.run, &test_run.workload, provenance).unwrap().because;
        assert!(because(Provenance::Intact).starts_with("L6 "), "{}", because(Provenance::Intact));
        assert!(because(Provenance::Changed).starts_with("A1 "), "{}", because(Provenance::Changed));
    }
}
