//! From evidence to findings and verdicts: the same run and the same workload give the same judgement, whenever they are
//! judged.
//!
//! Pure: no clock, no files, no randomness, and no access to the live run; the input is a [`Run`], and whether it is as it
//! was sealed. The order is: counts and times are folded into [`figures::Figures`], each objective is measured ([`measure`]) and, where
//! it is about a share of arrivals, decided by its limits ([`shares`]); [`facts`] are derived once, every rule in [`rules`]
//! returns its findings, [`effects`] states what each does to which claim, the [`claims`] are answered after all of them,
//! and [`verdict`] is the verdict on the whole. Start reading at [`judge()`].

mod backlog;
pub mod capacity;
mod claims;
mod compare;
pub mod diagnosis;
mod effects;
mod expectation;
pub mod experiment;
mod facts;
mod gaps;
pub mod leaks;
mod measure;
mod pair;
mod rule;
mod rules;
pub mod shares;
pub mod so_far;
mod sufficiency;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod verdict;

use evidence::run::ReadError;
use evidence::{Claim, Finding, Judgement, Provenance, Run, Verdict};
use workload::Workload;

pub use compare::{Side, compare};
pub use expectation::{Expectation, ExpectationError, ExpectedStatistic};
pub use rule::Rule;
pub use rules::{RULES, RULES_VERSION, explain, nearest_rule};
pub use sufficiency::{ExpectedObservations, expected_observations};
pub use verdict::exit_code;

/// Why a run could not be judged.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// The evidence could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Judges `run`, which offered `workload` and whose evidence has this `provenance`.
///
/// # Errors
/// [`JudgeError::Read`] when the evidence cannot be read. A run without any evidence is not an error.
pub fn judge(run: &dyn Run, workload: &Workload, provenance: Provenance) -> Result<Judgement, JudgeError> {
    Ok(judgement(&facts::Facts::read(run, workload, provenance)?))
}

/// Whether a run whose verdict is FAIL would be so whatever was asked: no request of its load succeeded, none of its script could be
/// sent, or every iteration threw.
///
/// # Errors
/// [`JudgeError::Read`] when the evidence cannot be read.
pub fn has_no_success(run: &dyn Run, workload: &Workload) -> Result<bool, JudgeError> {
    let figures = figures::Figures::fold(run, workload)?;
    Ok(verdict::nothing_succeeded(&figures).is_some() || measure::unsent_requests(run, &figures)?.is_some())
}

/// What there is so far of a run under way does to its objectives, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Look {
    /// Shown to be violated.
    pub violated: Vec<String>,
    /// Neither shown to be met nor to be violated.
    pub undecided: Vec<String>,
}

/// Judges what there is so far of a `run` under way. Its requests in flight may end in either way. Where the evidence
/// invalidates the run as a whole, no objective is decided.
///
/// # Errors
/// [`JudgeError::Read`] when the evidence cannot be read.
pub fn look(run: &dyn Run, workload: &Workload) -> Result<Look, JudgeError> {
    let Judgement { verdict, claims, .. } = judgement_so_far(run, workload)?;
    let mut look = Look::default();
    for Claim { name, verdict: of_claim, .. } in claims {
        match of_claim {
            Verdict::Pass | Verdict::Fail if verdict == Verdict::Invalid => look.undecided.push(name),
            Verdict::Pass => {}
            Verdict::Fail => look.violated.push(name),
            _ => look.undecided.push(name),
        }
    }
    Ok(look)
}

/// The judgement that a run would have if what there is were all of it, while it is under way. More may change every verdict in
/// it.
///
/// # Errors
/// [`JudgeError::Read`] when the evidence cannot be read.
pub fn judgement_so_far(run: &dyn Run, workload: &Workload) -> Result<Judgement, JudgeError> {
    let mut facts = facts::Facts::read(run, workload, Provenance::Unsealed)?;
    facts.is_looked_at = true;
    Ok(judgement(&facts))
}

fn judgement(facts: &facts::Facts<'_>) -> Judgement {
    let mut findings = rules::on_run(facts);
    for finding in &mut findings {
        finding.affects = effects::of(facts, finding);
    }
    let findings = rules::too_few_tail_samples::without_superseded(rules::joined(facts, findings));
    let claims = claims::of(facts, &findings);
    verdict::judgement(facts, claims, findings)
}

/// The finding that evidence of this `provenance` was changed after it was sealed, if it was: for answers that are not
/// claims.
pub fn changed_evidence(provenance: Provenance) -> Option<Finding> {
    rules::evidence_changed::finding(provenance)
}
