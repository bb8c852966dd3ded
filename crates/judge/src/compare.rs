//! Several runs side by side: what may be said of their differences, and what may not.
//!
//! The first run is the baseline and every other is held against it. Each is judged by itself first: what voids its
//! numbers voids their differences. Rules of pairs come on top ([`rules`]). What remains is description: one run each
//! carries no verdict on a difference, so there are no claims.

mod closing;
mod expectation;
mod known;
mod rules;
#[cfg(test)]
mod tests;

use evidence::{ComparisonJudgement, Finding, Refusal, Run, Severity, SidedFinding, Verdict};
use workload::Workload;

use crate::JudgeError;
use crate::rule::{Guard, RULES, RULES_VERSION, named};
pub use expectation::{Expectation, ExpectationError, Expected};
use known::{Known, Pair};

/// Whether the evidence of a run is as it was sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provenance {
    /// It is.
    Intact,
    /// It was changed since.
    Changed,
    /// It never was: the run was killed.
    Unsealed,
}

/// One run of a comparison.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// What a reader knows it by: its file.
    pub name: &'a str,
    /// What was recorded.
    pub run: &'a dyn Run,
    /// What it offered.
    pub workload: &'a Workload,
    /// Whether its evidence is as it was sealed.
    pub provenance: Provenance,
}

/// What `sides`, of which the first is the baseline, show of each other, and beside it what was `expected`.
///
/// # Errors
/// [`JudgeError::Read`] when the evidence of one cannot be read.
pub fn compare(sides: &[Side<'_>], expected: &[Expectation]) -> Result<ComparisonJudgement, JudgeError> {
    let known: Vec<Known<'_>> = sides.iter().map(Known::of).collect::<Result<_, _>>()?;
    let mut findings: Vec<SidedFinding> = Vec::new();
    for (side, known) in known.iter().enumerate() {
        findings.extend(own_findings(known).map(|finding| SidedFinding { sides: vec![side], finding }));
    }
    for side in 1..known.len() {
        let pair = Pair { base: &known[0], new: &known[side] };
        findings.extend(
            rules::findings(&pair).into_iter().map(|finding| SidedFinding { sides: vec![0, side], finding }),
        );
    }
    let place = |rule: &str| RULES.iter().position(|known| known.id == rule);
    findings.sort_by_key(|f| (f.finding.severity, place(&f.finding.rule), f.sides.clone()));
    let mut findings = closing::joined(findings);
    let refusals = refusals(&known, &findings);
    for side in 1..known.len() {
        let pair = Pair { base: &known[0], new: &known[side] };
        let told = rules::m5::rule(&pair, (expected, &refusals), side);
        findings.extend(told.into_iter().map(|finding| SidedFinding { sides: vec![0, side], finding }));
    }
    findings.sort_by_key(|f| (f.finding.severity, place(&f.finding.rule), f.sides.clone()));
    let closing = closing::of(&known, (&findings, &refusals));
    Ok(ComparisonJudgement {
        rules_version: RULES_VERSION,
        verdict: Verdict::Measured,
        because: closing.because,
        claims: Vec::new(),
        findings,
        refusals,
        supports: closing.supports,
        does_not_support: closing.does_not_support,
        would_settle: closing.would_settle,
    })
}

/// What the rules say of a run by itself, but for what concerns its own objectives alone.
fn own_findings<'k>(known: &'k Known<'_>) -> impl Iterator<Item = Finding> + 'k {
    let is_of_the_run = |f: &&Finding| f.scope.objective.is_none() && f.rule != "M6";
    known.judgement.findings.iter().filter(is_of_the_run).cloned()
}

/// What no difference of times may be formed of, by which rule.
fn refusals(known: &[Known<'_>], findings: &[SidedFinding]) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    for SidedFinding { sides, finding } in findings.iter().filter(|f| f.finding.severity == Severity::Invalid)
    {
        let is_refusing = match named(&finding.rule).guard {
            Guard::Named => false,
            // A busy generator voids what speaks of a rate; of a closed model nothing does.
            Guard::OfferedLoad => sides.iter().any(|side| known[*side].is_open(&finding.scope)),
            _ => true,
        };
        let of =
            |side: &usize| Refusal { side: *side, rule: finding.rule.clone(), scope: finding.scope.clone() };
        if is_refusing {
            // Of a pair, the run that is held against the baseline.
            refusals.extend(if sides.len() > 1 {
                sides.iter().skip(1).map(of).collect::<Vec<_>>()
            } else {
                sides.iter().map(of).collect()
            });
        }
    }
    refusals.dedup();
    refusals
}
