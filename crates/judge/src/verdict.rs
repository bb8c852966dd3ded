//! The verdict on the whole, and what the process returns for it.

use evidence::{Claim, Finding, Judgement, Severity, Verdict};

use crate::claims;
use crate::facts::Facts;
use crate::rule::{RULES, RULES_VERSION};

/// Rules that say the generator was at its limit. One of them voids the whole run where it voids a claim.
const GENERATOR_RULES: [&str; 2] = ["L1", "L3"];

/// What the process returns for a verdict: 0 PASS or MEASURED, 3 FAIL, 4 INCONCLUSIVE, 5 INVALID.
pub fn exit_code(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Pass | Verdict::Measured => 0,
        Verdict::Fail => 3,
        Verdict::Inconclusive => 4,
        Verdict::Invalid => 5,
    }
}

/// Sum up: the verdict on the whole, the claims in the plan's order, the findings with the gravest first.
pub(crate) fn judgement(facts: &Facts<'_>, claims: Vec<Claim>, mut findings: Vec<Finding>) -> Judgement {
    let place = |finding: &Finding| RULES.iter().position(|rule| rule.id == finding.rule);
    findings.sort_by_key(|finding| (finding.severity, place(finding)));
    let (verdict, because) = whole(facts, &claims, &findings);
    Judgement { rules_version: RULES_VERSION, verdict, because, claims, findings }
}

fn whole(facts: &Facts<'_>, claims: &[Claim], findings: &[Finding]) -> (Verdict, String) {
    if let Some(void) = void(facts, findings) {
        return (Verdict::Invalid, format!("{} {}: {}", void.rule, void.title, void.what));
    }
    if !facts.is_complete() && claims.is_empty() {
        return (Verdict::Inconclusive, format!("Nothing was asked. {}", claims::cut_short(facts)));
    }
    if claims.is_empty() {
        return (Verdict::Measured, "Nothing was asked: numbers and doubts, no verdict.".to_owned());
    }
    for (verdict, what) in [
        (Verdict::Fail, "missed"),
        (Verdict::Invalid, "not answered by this evidence"),
        (Verdict::Inconclusive, "not decided by this evidence"),
    ] {
        let such: Vec<&str> =
            claims.iter().filter(|c| c.verdict == verdict).map(|c| c.name.as_str()).collect();
        if verdict == Verdict::Inconclusive && !such.is_empty() && !facts.is_complete() {
            return (verdict, claims::cut_short(facts));
        }
        if !such.is_empty() {
            return (verdict, format!("{} {what}: {}.", count(such.len(), claims.len()), such.join(", ")));
        }
    }
    if !facts.is_complete() {
        return (Verdict::Inconclusive, claims::cut_short(facts));
    }
    (Verdict::Pass, format!("{} kept.", count(claims.len(), claims.len())))
}

fn count(some: usize, all: usize) -> String {
    match (some, all) {
        (1, 1) => "The objective is".to_owned(),
        (some, all) if some == all => format!("All {all} objectives are"),
        (1, all) => format!("1 of {all} objectives is"),
        (some, all) => format!("{some} of {all} objectives are"),
    }
}

/// The finding that voids the whole run: books that do not balance, or a generator at its limit that voids
/// at least one claim.
fn void<'f>(facts: &Facts<'_>, findings: &'f [Finding]) -> Option<&'f Finding> {
    let voids_a_claim =
        |f: &Finding| facts.asked.iter().any(|a| claims::weight(facts, a, f) == Some(Severity::Invalid));
    let mut invalid = findings.iter().filter(|f| f.severity == Severity::Invalid);
    let books = invalid.clone().find(|f| f.rule == "L6");
    books.or_else(|| invalid.find(|f| GENERATOR_RULES.contains(&f.rule.as_str()) && voids_a_claim(f)))
}
