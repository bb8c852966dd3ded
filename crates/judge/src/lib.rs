//! From evidence to findings and verdicts: the same run and the same workload give the same judgement,
//! whenever they are judged.
//!
//! Pure: no clock, no files, no randomness, and nothing of the live run; all it sees is a [`Run`]. The
//! order is: [`facts`] are drawn up once, each objective is measured ([`measure`]), every rule in
//! [`rules`] states its findings, findings void or doubt the claims they guard ([`claims`]), and
//! [`verdict`] sums up. Start reading at [`judge()`].

mod claims;
mod compare;
mod facts;
pub mod leaks;
mod measure;
mod rule;
mod rules;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod thresholds;
mod verdict;
mod words;

use evidence::run::ReadError;
use evidence::{Judgement, Run};
use workload::Workload;

pub use compare::{Expectation, ExpectationError, Expected, Provenance, Side, compare};
pub use rule::{RULES, RULES_VERSION, Rule, explain, nearest_rule, unknown_rule};
pub use verdict::exit_code;

/// Why a run could not be judged.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// The evidence could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// What `run`, which offered `workload`, shows of what it was asked.
///
/// # Errors
/// [`JudgeError::Read`] when the evidence cannot be read. A run that shows nothing is no error.
pub fn judge(run: &dyn Run, workload: &Workload) -> Result<Judgement, JudgeError> {
    let facts = facts::Facts::of(run, workload)?;
    let mut findings = rules::findings(&facts);
    let claims = claims::of(&facts, &findings);
    findings.extend(rules::m6::rule(&claims));
    Ok(verdict::judgement(&facts, claims, findings))
}
