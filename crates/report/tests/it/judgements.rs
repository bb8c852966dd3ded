//! Judgements without objectives and findings.

use evidence::memory::MemoryRun;
use evidence::{ComparisonJudgement, Judgement, Verdict};
use report::summary::{Comparison, Side};
use workload::Workload;

/// The judgement of a run without objectives.
pub(crate) fn measured() -> Judgement {
    Judgement {
        rules_version: 1,
        verdict: Verdict::Measured,
        because: "No objective was set.".to_owned(),
        assumes: None,
        claims: Vec::new(),
        findings: Vec::new(),
    }
}

/// `a.plimsoll` and `b.plimsoll`, which offered `workload`, compared without findings.
pub(crate) fn compared(runs: [&MemoryRun; 2], workload: &Workload) -> Comparison {
    let judgement = ComparisonJudgement {
        rules_version: 2,
        verdict: Verdict::Measured,
        because: String::new(),
        claims: Vec::new(),
        objectives: Vec::new(),
        findings: Vec::new(),
        refusals: Vec::new(),
        supports: Vec::new(),
        does_not_support: Vec::new(),
        would_settle: Vec::new(),
    };
    let side = |name, run| Side { name, run, workload };
    Comparison::of(&[side("a.plimsoll", runs[0]), side("b.plimsoll", runs[1])], &judgement).expect("memory")
}
