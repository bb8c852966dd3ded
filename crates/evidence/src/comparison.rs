//! What the judge says of several runs laid side by side.

use serde::{Deserialize, Serialize};

use crate::judgement::{Claim, Finding, Scope, Verdict};
use crate::rule_id::RuleId;

/// A finding, and the runs it is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SidedFinding {
    /// The places of the runs it is about, from 0, ascending; 0 is the baseline.
    pub sides: Vec<usize>,
    /// What was found.
    #[serde(flatten)]
    pub finding: Finding,
}

/// Numbers of a run that must not be compared with the baseline's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The run's place; 0 is the baseline, whose refusals are those of every comparison with it.
    pub side: usize,
    /// The rule that refuses.
    pub rule: RuleId,
    /// Where: nothing set is everywhere.
    pub scope: Scope,
}

impl Refusal {
    /// Whether it touches a comparison of the run `side` with the baseline in this phase, scenario and endpoint.
    pub fn applies_to(&self, side: usize, place: (&str, &str, &str)) -> bool {
        let same = |scope: &Option<String>, name: &str| scope.as_deref().is_none_or(|w| w == name);
        let (phase, scenario, endpoint) = place;
        (self.side == 0 || self.side == side)
            && same(&self.scope.phase, phase)
            && same(&self.scope.scenario, scenario)
            && same(&self.scope.endpoint, endpoint)
    }
}

/// Everything the judge says of several runs laid side by side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparisonJudgement {
    /// Version of the rules that judged.
    pub rules_version: u32,
    /// [`Verdict::Measured`], as nothing is claimed; [`Verdict::Invalid`] where evidence was changed after it was sealed.
    pub verdict: Verdict,
    /// One sentence: what this comparison is.
    pub because: String,
    /// What was asked of the comparison, answered. Empty for runs that were not repeated and interleaved: only such a
    /// series carries an answer.
    pub claims: Vec<Claim>,
    /// The objectives of each run's own plan with its verdicts on them, in the order of the runs.
    #[serde(default)]
    pub objectives: Vec<Vec<Claim>>,
    /// What the rules found, the gravest first.
    pub findings: Vec<SidedFinding>,
    /// Differences of times that must not be formed, and by which rule.
    pub refusals: Vec<Refusal>,
    /// What this comparison supports.
    pub supports: Vec<String>,
    /// What it does not.
    pub does_not_support: Vec<String>,
    /// The run that would decide it.
    pub would_settle: Vec<String>,
}
