//! From evidence to findings and verdicts: the same run and the same workload give the same judgement, whenever they are
//! judged.
//!
//! Pure: no clock, no files, no randomness, and no access to the live run; the input is a [`Run`], and whether it is as it
//! was sealed. The order is: counts and times are put into [`tables`], each objective is measured ([`measure`]) and, where
//! it is about a share of arrivals, decided by its limits ([`shares`]); [`facts`] are derived once, every rule in [`rules`]
//! returns its findings, [`effects`] states what each does to which claim, the [`claims`] are answered after all of them,
//! and [`verdict`] is the verdict on the whole. Start reading at [`judge()`].

mod claims;
mod compare;
mod effects;
mod expectation;
mod facts;
mod gaps;
pub mod leaks;
mod measure;
mod numbers;
mod pair;
mod rule;
mod rules;
pub mod shares;
mod sufficiency;
mod tables;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod verdict;

use evidence::run::ReadError;
use evidence::{Finding, Judgement, Provenance, Run};
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
/// [`JudgeError::Read`] when the evidence cannot be read. A run without any evidence is no error.
pub fn judge(run: &dyn Run, workload: &Workload, provenance: Provenance) -> Result<Judgement, JudgeError> {
    Ok(judgement(&facts::Facts::of(run, workload, provenance)?))
}

fn judgement(facts: &facts::Facts<'_>) -> Judgement {
    let mut findings = rules::on_run(facts);
    for finding in &mut findings {
        finding.affects = effects::of(facts, finding);
    }
    let findings = rules::joined(facts, findings);
    let claims = claims::of(facts, &findings);
    verdict::judgement(facts, claims, findings)
}

/// The finding that evidence of this `provenance` was changed after it was sealed, if it was: for answers that are not
/// claims.
pub fn changed_evidence(provenance: Provenance) -> Option<Finding> {
    rules::evidence_changed::finding(provenance)
}
