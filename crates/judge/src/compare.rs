//! Several runs compared: which statements about their differences are allowed, and which are not.
//!
//! The first run is the baseline, and every other is compared with it. Each is judged by itself first: a finding that
//! invalidates its numbers invalidates their differences. Rules of pairs come on top ([`rules`]). The rest is
//! description: a single run of each decides nothing about a difference, so there are no claims. A comparison with
//! evidence that was changed is invalid.

mod conclusion;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use evidence::run::select;
use evidence::{
    ComparisonJudgement, Finding, Metric, Provenance, Refusal, RuleId, Run, Scope, Severity, SidedFinding,
};
use figures::RowKey;
use workload::Workload;

use crate::JudgeError;
use crate::expectation::Expectation;
use crate::facts::Facts;
use crate::pair::{JudgedRun, Pair};
use crate::rule::AffectedClaims;
use crate::rules::generator_saturated::LOOP_CPU_FIGURE;
use crate::rules::{self, RULES_VERSION, noisy_host, prediction_as_result};

/// One run of a comparison.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// The name shown to the reader: its file.
    pub name: &'a str,
    /// Its evidence.
    pub run: &'a dyn Run,
    /// The load it offered.
    pub workload: &'a Workload,
    /// Whether its evidence is unchanged since it was sealed.
    pub provenance: Provenance,
}

/// Compares `sides`, of which the first is the baseline, and reports what was `expected` beside what was measured.
///
/// # Errors
/// [`JudgeError::Read`] when the evidence of one cannot be read.
pub fn compare(sides: &[Side<'_>], expected: &[Expectation]) -> Result<ComparisonJudgement, JudgeError> {
    let runs: Vec<JudgedRun<'_>> = sides.iter().map(judged).collect::<Result<_, _>>()?;
    let pairs = || pairs(&runs);
    let of_pair = |pair: &Pair<'_, '_>, finding| SidedFinding { sides: vec![0, pair.side], finding };
    let mut findings: Vec<SidedFinding> = Vec::new();
    for (side, run) in runs.iter().enumerate() {
        findings.extend(own_findings(run).map(|finding| SidedFinding { sides: vec![side], finding }));
    }
    for pair in pairs() {
        findings.extend(rules::on_pair(&pair).into_iter().map(|finding| of_pair(&pair, finding)));
    }
    sort(&mut findings);
    let mut findings = conclusion::joined(findings);
    let refusals = refusals(&findings);
    for pair in pairs() {
        let found = prediction_as_result::check(&pair, expected, &refusals);
        findings.extend(found.into_iter().map(|finding| of_pair(&pair, finding)));
    }
    sort(&mut findings);
    let conclusion = conclusion::of(&runs, &findings, &refusals);
    Ok(ComparisonJudgement {
        rules_version: RULES_VERSION,
        verdict: conclusion.verdict,
        because: conclusion.because,
        claims: Vec::new(),
        objectives: runs.iter().map(|run| run.judgement.claims.clone()).collect(),
        findings,
        refusals,
        supports: conclusion.supports,
        does_not_support: conclusion.does_not_support,
        would_settle: conclusion.next_runs,
    })
}

/// The baseline with every other run.
fn pairs<'p, 'a>(runs: &'p [JudgedRun<'a>]) -> impl Iterator<Item = Pair<'p, 'a>> {
    (1..runs.len()).map(|side| Pair { base: &runs[0], new: &runs[side], side })
}

fn judged<'a>(side: &Side<'a>) -> Result<JudgedRun<'a>, JudgeError> {
    let mut bytes_in: BTreeMap<RowKey, u64> = BTreeMap::new();
    for (id, key) in select(side.run.keys(), Metric::BytesIn, |_| true) {
        *bytes_in.entry(key.into()).or_default() += side.run.total(id)?;
    }
    let facts = Facts::read(side.run, side.workload, side.provenance)?;
    let judgement = crate::judgement(&facts);
    let Side { name, run, workload, provenance } = *side;
    Ok(JudgedRun { name, run, workload, provenance, facts, judgement, bytes_in })
}

/// The gravest first; of one severity in the order of the rules, then of the runs.
fn sort(findings: &mut [SidedFinding]) {
    findings.sort_by_key(|f| (f.finding.severity, f.finding.rule, f.sides.clone()));
}

/// The findings about a run by itself, except those about its own objectives alone. What its objectives were decided in
/// spite of may still be the whole difference from another run.
fn own_findings<'k>(run: &'k JudgedRun<'_>) -> impl Iterator<Item = Finding> + 'k {
    let is_of_the_run = |f: &&Finding| f.scope.objective.is_none();
    run.judgement.findings.iter().filter(is_of_the_run).cloned().map(|finding| {
        match refused_scope(run, &finding) {
            Some(scope) => Finding { severity: Severity::Invalid, scope, ..finding },
            None => finding,
        }
    })
}

/// Where a finding that decides no objective refuses differences; none where it refuses none.
fn refused_scope(run: &JudgedRun<'_>, finding: &Finding) -> Option<Scope> {
    let has_figure = |name: &str| finding.figures.iter().any(|figure| figure.name == name);
    let refuses = match finding.rule {
        RuleId::L3 => run.is_open(&finding.scope),
        RuleId::S9 => has_figure(LOOP_CPU_FIGURE) && run.is_open(&finding.scope),
        RuleId::L4 | RuleId::T4 => true,
        _ => false,
    };
    let scope = match (finding.rule, noisy_host::busy_phases(&run.facts).as_slice()) {
        (RuleId::S9, [phase]) => Scope { phase: Some((*phase).to_owned()), ..Scope::default() },
        _ => finding.scope.clone(),
    };
    (refuses && has_figure("threshold")).then_some(scope)
}

/// Where no difference of times may be formed, and by which rule.
fn refusals(findings: &[SidedFinding]) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    for SidedFinding { sides, finding } in findings.iter().filter(|f| f.finding.severity == Severity::Invalid)
    {
        let is_refusing = rules::by_id(finding.rule).affected != AffectedClaims::Named;
        let of = |side: &usize| Refusal { side: *side, rule: finding.rule, scope: finding.scope.clone() };
        if is_refusing {
            // Of a pair it is the run that is compared with the baseline.
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
