//! M6: a run with some objectives passed does not pass.

use evidence::{Claim, RuleId, Severity, Verdict};

use crate::rule::{AffectedClaims, Check, Rule};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::M6,
    title: "partial-pass",
    severity: Severity::Info,
    tests: "Some objectives pass, and at least one other does not: the sentence beside the verdict names those that \
            do not, and counts those that pass. It is not a finding.",
    affects: "the whole run",
    why: "Four of five is not a pass: every objective must be met.",
    next: "Report the verdict on each objective; fix what violates one.",
    affected: AffectedClaims::Named,
    check: Check::Elsewhere,
};

/// What became of the objectives beside those of the run's `verdict`: `1 is not decided: cpu. 4 are met.`; none where all
/// are like it.
pub(crate) fn sentence(claims: &[Claim], verdict: Verdict) -> Option<String> {
    let others = [
        (Verdict::Invalid, ["has", "have"], "no valid result"),
        (Verdict::Inconclusive, ["is", "are"], "not decided"),
        (Verdict::Pass, ["is", "are"], "met"),
    ];
    let sentence = |(other, [one, many], result): (Verdict, [&str; 2], &str)| {
        let its = claims.iter().filter(|claim| claim.verdict == other);
        let names: Vec<&str> = its.map(|claim| claim.name.as_str()).collect();
        let verb = match names.len() {
            0 => return None,
            1 => one,
            _ => many,
        };
        let list = if other == Verdict::Pass { String::new() } else { format!(": {}", names.join(", ")) };
        Some(format!("{} {verb} {result}{list}.", names.len()))
    };
    let sentences: Vec<String> =
        others.into_iter().filter(|(other, ..)| *other != verdict).filter_map(sentence).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Load, TestRun};

    /// The sentence beside the verdict; no rule has a finding.
    fn because(test_run: &TestRun) -> String {
        assert_eq!(test_run.findings_of("M6"), "nothing");
        test_run.judge().because
    }

    /// 5 % of a third of the 70 s of the run.
    const NOT_EXCLUDED: &str =
        "The run is too short to rule out outages longer than 1.17 s that occur less than once in 23.3 s.";

    fn one_met_objective() -> TestRun {
        TestRun::new()
            .offer("steady", "list", Load { failed: 1, ..Load::ok(99) })
            .with_objective("fast", "p95(list) < 50ms")
    }

    #[test]
    fn the_verdict_counts_what_is_met_beside_what_is_violated() {
        let violated = one_met_objective().with_objective("few_errors", "error_rate(list) < 0.1%");
        assert_eq!(
            because(&violated),
            format!(
                "1 of 2 objectives is violated: few_errors (error_rate(list) < 0.1%, measured 1 %). 1 is met. {NOT_EXCLUDED}"
            )
        );
    }

    #[test]
    fn the_verdict_counts_what_is_met_beside_what_is_undecided() {
        let undecided = one_met_objective().with_objective("cpu", "mean(cpu, target = web) < 0.85");
        let expected = "1 of 2 objectives is not decided: cpu. 1 is met.";
        assert_eq!(because(&undecided), format!("{expected} {NOT_EXCLUDED}"));
    }

    #[test]
    fn the_verdict_names_what_is_undecided_beside_what_is_violated() {
        let mixed = one_met_objective()
            .with_objective("few_errors", "error_rate(list) < 0.1%")
            .with_objective("cpu", "mean(cpu, target = web) < 0.85");
        let expected = "1 of 3 objectives is violated: few_errors (error_rate(list) < 0.1%, measured 1 %). 1 is not decided: cpu. 1 is met.";
        assert_eq!(because(&mixed), format!("{expected} {NOT_EXCLUDED}"));
    }

    #[test]
    fn all_met_or_none_met_counts_nothing_beside_the_verdict() {
        assert_eq!(because(&one_met_objective()), format!("The objective is met. {NOT_EXCLUDED}"));
        let violated = TestRun::new().offer("steady", "list", Load { failed: 1, ..Load::ok(99) });
        let violated = violated.with_objective("few_errors", "error_rate(list) < 0.1%");
        assert_eq!(
            because(&violated),
            "The objective is violated: few_errors (error_rate(list) < 0.1%, measured 1 %)."
        );
    }
}
