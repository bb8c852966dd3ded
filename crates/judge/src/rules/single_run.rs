//! S1: one run each. A run compared with itself is reported by C8.

use evidence::{Finding, RuleId, Scope, Severity};

use crate::pair::Pair;
use crate::rule::{AffectedClaims, Check, DIFFERENCES, Rule};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::S1,
    title: "single-run",
    severity: Severity::Inconclusive,
    tests: "Runs are compared, and there is one of each.",
    affects: DIFFERENCES,
    why: "Starts of the same program differ, often by more than the change under test; the requests within a \
          run, however many, do not show that.",
    next: "Repeat both in random order, restarted each time; and one against itself, to measure the spread.",
    affected: AffectedClaims::Differences,
    check: Check::Pair(check),
};

fn check(_: &Pair<'_, '_>) -> Vec<Finding> {
    let what = "One run each cannot show more than this host's run-to-run spread, and that was not measured: any \
                difference here may be the difference between two starts of one program.";
    vec![RULE.finding(Severity::Inconclusive, Scope::default(), what.to_owned())]
}
