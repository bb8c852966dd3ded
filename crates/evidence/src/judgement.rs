//! What a run is asked to show, and the answers: claims, findings, verdicts.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::claim_rate::ClaimRate;
use crate::claim_share::ClaimShare;
use crate::rule_id::RuleId;

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The evidence cannot support the claims that the finding applies to: no verdict on them.
    Invalid,
    /// The evidence is sound but too little for the claims that the finding applies to.
    Inconclusive,
    /// A claim was shown to be violated.
    Fail,
    /// A limitation the reader must know; it changes no verdict.
    Caution,
    /// Good to know.
    Info,
}

/// The answer to a claim, or to a whole run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// Shown to be met.
    Pass,
    /// Shown to be violated.
    Fail,
    /// The evidence is sound but too little to decide.
    Inconclusive,
    /// The evidence cannot support a verdict.
    Invalid,
    /// No objective was set: numbers and cautions, no verdict.
    Measured,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Pass => "PASS",
            Verdict::Fail => "FAIL",
            Verdict::Inconclusive => "INCONCLUSIVE",
            Verdict::Invalid => "INVALID",
            Verdict::Measured => "MEASURED",
        })
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Invalid => "invalid",
            Severity::Inconclusive => "inconclusive",
            Severity::Fail => "fail",
            Severity::Caution => "caution",
            Severity::Info => "info",
        })
    }
}

/// What a finding is about. Nothing set: the whole run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Scope {
    /// One phase only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// One scenario only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// One endpoint only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// One objective only, by its name in the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    /// One observed series only, as `name` of `target`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
}

/// One number a finding or claim rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What it is, such as `started / scheduled`.
    pub name: String,
    /// Its value. Infinity (a quantile that failures pushed past all answers) is `None`.
    pub value: Option<f64>,
    /// Its unit: `ms`, `1/s`, `%`, `cores`, `1`.
    pub unit: String,
}

impl Figure {
    /// A figure; infinite and undefined values become `None`.
    pub fn new(name: &str, value: f64, unit: &str) -> Self {
        Figure { name: name.to_owned(), value: value.is_finite().then_some(value), unit: unit.to_owned() }
    }
}

/// One thing the judge states, with its numbers, why it matters and what to do next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule's short name, such as `L1`.
    pub rule: RuleId,
    /// The rule's long name, such as `offered-load-not-reached`.
    pub title: String,
    /// How much it weighs.
    pub severity: Severity,
    /// What it is about.
    pub scope: Scope,
    /// One sentence with the numbers in it.
    pub what: String,
    /// The numbers, thresholds among them.
    pub figures: Vec<Figure>,
    /// What it does to which claims; those that are not here are not affected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub affects: Vec<ClaimEffect>,
    /// Why it matters.
    pub why: String,
    /// What to do next.
    pub next: String,
}

impl Finding {
    /// What it does to the claim of this name; none where it does not affect it.
    pub fn effect_on(&self, claim: &str) -> Option<Effect> {
        self.affects.iter().find(|affected| affected.claim == claim).map(|affected| affected.effect)
    }
}

/// What a finding does to one claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimEffect {
    /// The claim's name.
    pub claim: String,
    /// What the finding does to it.
    pub effect: Effect,
}

/// What a finding does to a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The claim is not answered.
    Invalidates,
    /// The claim is not met by this evidence; one that is violated stays violated.
    InvalidatesUnlessViolated,
    /// The claim is not decided.
    LeavesUndecided,
    /// Whether the claim is met is not decided; one that is violated stays violated.
    LeavesUndecidedUnlessViolated,
    /// It changes no answer; the reader must know.
    Cautions,
}

impl Effect {
    /// The verdict after this effect on a claim that had `verdict` before it.
    pub fn on(self, verdict: Verdict) -> Verdict {
        match self {
            Effect::InvalidatesUnlessViolated | Effect::LeavesUndecidedUnlessViolated
                if verdict == Verdict::Fail =>
            {
                verdict
            }
            Effect::Invalidates | Effect::InvalidatesUnlessViolated => Verdict::Invalid,
            Effect::LeavesUndecided | Effect::LeavesUndecidedUnlessViolated
                if verdict != Verdict::Invalid =>
            {
                Verdict::Inconclusive
            }
            Effect::LeavesUndecided | Effect::LeavesUndecidedUnlessViolated | Effect::Cautions => verdict,
        }
    }

    /// The same, but a claim that is violated stays violated.
    pub fn unless_violated(self) -> Effect {
        match self {
            Effect::Invalidates => Effect::InvalidatesUnlessViolated,
            Effect::LeavesUndecided => Effect::LeavesUndecidedUnlessViolated,
            other => other,
        }
    }

    /// How much it weighs for the claim.
    pub fn severity(self) -> Severity {
        match self {
            Effect::Invalidates | Effect::InvalidatesUnlessViolated => Severity::Invalid,
            Effect::LeavesUndecided | Effect::LeavesUndecidedUnlessViolated => Severity::Inconclusive,
            Effect::Cautions => Severity::Caution,
        }
    }
}

/// Why a claim has its verdict. In JSON it is its sentence alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum Reason {
    /// What the claim's figures and its share say, as a sentence.
    Observation(String),
    /// A sentence that no figure says.
    Statement(String),
    /// A finding that affects the claim.
    Finding {
        /// The rule that found it.
        rule: RuleId,
        /// The rule's long name.
        title: String,
        /// What it does to the claim.
        effect: Effect,
        /// The finding's sentence.
        what: String,
    },
}

impl Reason {
    /// That `finding` has this effect on the claim.
    pub fn from_finding(finding: &Finding, effect: Effect) -> Reason {
        let (title, what) = (finding.title.clone(), finding.what.clone());
        Reason::Finding { rule: finding.rule, title, effect, what }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Observation(text) | Reason::Statement(text) => f.write_str(text),
            Reason::Finding { rule, title, effect, what } => {
                write!(f, "{rule} {title} ({}): {what}", effect.severity())
            }
        }
    }
}

impl From<Reason> for String {
    fn from(reason: Reason) -> String {
        reason.to_string()
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Reason {
        Reason::Statement(text)
    }
}

/// One thing the run was asked to show, with the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The objective's name in the plan.
    pub name: String,
    /// The claim as the plan states it.
    pub text: String,
    /// The answer.
    pub verdict: Verdict,
    /// The observed value. `value` is `None` when it is infinite or could not be formed.
    pub observed: Figure,
    /// The bound it was compared with, in the same unit.
    pub bound: Figure,
    /// Where the observed value lies, within this run only, in the same unit, where that can be said. Of a quantile each end holds
    /// at the confidence of the limits that decide the claim, and the upper one may stay open; of a mean it is a two-sided 95 % interval.
    pub interval: Option<(f64, Option<f64>)>,
    /// How many observations it rests on.
    pub samples: u64,
    /// The share that decided it, of a claim about a share of arrivals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<ClaimShare>,
    /// The completions a second that decided it, of a claim on throughput or goodput.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<ClaimRate>,
    /// Of a threshold of a script: whether it holds as k6 evaluates it, by the observed value alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds_in_k6: Option<bool>,
    /// Why the verdict is what it is.
    pub reasons: Vec<Reason>,
}

/// The judgement of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Version of the rules that judged.
    pub rules_version: u32,
    /// The verdict on the whole.
    pub verdict: Verdict,
    /// One sentence: why the whole is what it is.
    pub because: String,
    /// What passes beside stalls of the generator assume of the target, if that matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assumes: Option<String>,
    /// Each objective with its answer.
    pub claims: Vec<Claim>,
    /// What the rules found, the gravest first.
    pub findings: Vec<Finding>,
}
