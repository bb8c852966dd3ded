//! The verdict on the whole.

use evidence::Verdict;

/// What the process returns for a verdict: 0 PASS or MEASURED, 3 FAIL, 4 INCONCLUSIVE, 5 INVALID.
pub fn exit_code(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Pass | Verdict::Measured => 0,
        Verdict::Fail => 3,
        Verdict::Inconclusive => 4,
        Verdict::Invalid => 5,
    }
}
