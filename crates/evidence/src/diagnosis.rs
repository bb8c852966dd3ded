//! What the judge says of why a service is slow: the ledger of its resources, and which of them limits it.

mod confirmation;

use serde::{Deserialize, Serialize};

pub use confirmation::{ArmBreak, Confirmation, ConfirmationAnswer, ConfirmationArm};

/// How much of a resource was used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResourceUse {
    /// What it is, such as `CPU of challenge`.
    pub name: String,
    /// The series that shows its use.
    pub series: String,
    /// The mean of what is used, in units of the resource: cores, connections.
    pub used: f64,
    /// How much there is; none of what is only waited for, such as locks.
    #[serde(default)]
    pub limit: Option<f64>,
    /// Seconds that a completion waited for it; none where that was not observed.
    #[serde(default)]
    pub wait_s: Option<f64>,
}

impl ResourceUse {
    /// The used share of the limit.
    pub fn share(&self) -> Option<f64> {
        Some(self.used / self.limit?)
    }
}

/// Why the objectives break, as far as the evidence shows it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// The resource that limits the service; none: UNDETERMINED.
    pub limit: Option<String>,
    /// Why that one is named, or why none is.
    pub because: String,
    /// Why the evidence says nothing of the target, such as a generator at its limit; none: it counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Completions a second at the furthest level that holds and at the nearest that breaks; none where no level breaks, or the
    /// lowest does.
    pub range_per_s: Option<[f64; 2]>,
    /// Mean response time where its growth begins, and where the objectives break, in seconds.
    #[serde(default)]
    pub response_s: Option<[f64; 2]>,
    /// The loads that it rests on, the lowest first.
    #[serde(default)]
    pub levels: Vec<DiagnosedLevel>,
    /// The share of the growth of the mean response time, up to where it breaks, that is in no observed wait; none where no wait was
    /// observed.
    pub unexplained: Option<f64>,
    /// A line for each resource that was observed, the lowest predicted capacity first.
    pub ledger: Vec<LedgerLine>,
    /// Where the program's own code waited, by its profiles, the longest wait first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_code: Vec<CodeWait>,
    /// What should be observed to name a limit, or to be surer of it: a sentence each.
    #[serde(default)]
    pub observe: Vec<String>,
    /// The experiment that would confirm the limit.
    #[serde(default)]
    pub confirm: Option<String>,
}

impl Diagnosis {
    /// Fewer levels of load show no demand.
    pub const FEWEST_LEVELS: usize = 3;

    /// That the evidence says nothing of the target, and why.
    pub fn refused(why: String) -> Diagnosis {
        Diagnosis { because: format!("INVALID: {why}"), refused: Some(why), ..Diagnosis::default() }
    }

    /// Whether there are as many levels of load as a limit takes, and a resource that was observed.
    pub fn has_levels(&self) -> bool {
        self.levels.len() >= Diagnosis::FEWEST_LEVELS && !self.ledger.is_empty()
    }

    /// The answer without its first word.
    pub fn sentence(&self) -> &str {
        let words = ["UNDETERMINED: ", "INVALID: "];
        words.iter().find_map(|word| self.because.strip_prefix(word)).unwrap_or(&self.because)
    }
}

/// What requests waited at a line of the target's own code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CodeWait {
    /// The target, by its name in the plan.
    pub target: String,
    /// The profile that shows it: `block` or `mutex`.
    pub profile: String,
    /// The file and the line.
    pub place: String,
    /// Seconds that a completion waited there, in the mean of the profile's window.
    pub wait_s: f64,
}

/// One load, as far as it was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiagnosedLevel {
    /// Requests offered a second; none where that is not known.
    pub offered_per_s: Option<f64>,
    /// Requests that were answered correctly, a second.
    pub completions_per_s: f64,
    /// Their mean response time, in seconds.
    pub response_s: Option<f64>,
    /// Whether the objectives break there.
    pub breaks: bool,
}

/// What is known of one resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LedgerLine {
    /// Such as `CPU of challenge`.
    pub resource: String,
    /// The series that shows its use.
    pub series: String,
    /// How much of it there is; none of what is only waited for.
    #[serde(default)]
    pub limit: Option<f64>,
    /// How much of it was used where the objectives break; none where it was not observed there.
    pub used_at_break: Option<f64>,
    /// How much of it a completion takes, in seconds, with the limits of its 95 % interval; none where fewer than three loads below
    /// the break show it, or where its use did not rise with the load.
    pub demand_s: Option<DemandInterval>,
    /// Completions a second at which it would be used up; none where fewer than three loads below the break show it.
    pub capacity_per_s: Option<CapacityInterval>,
    /// The share of the growth of the mean response time that was spent waiting for it; none where that was not observed.
    pub wait_growth: Option<f64>,
    /// How long a completion waited for it where the objectives break, or at the highest load, in seconds; none where that was not
    /// observed.
    #[serde(default)]
    pub wait_s: Option<f64>,
    /// What that makes of it.
    pub standing: LedgerStanding,
}

/// How much of a resource a completion takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DemandInterval {
    /// In seconds.
    pub mean: f64,
    /// The lower limit.
    pub low: f64,
    /// The upper limit.
    pub high: f64,
}

/// The limits of the 95 % interval of the load at which a resource is used up, in completions a second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CapacityInterval {
    /// The lower limit.
    pub low: f64,
    /// The upper limit; none where the demand may be 0.
    pub high: Option<f64>,
}

/// What the ledger makes of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LedgerStanding {
    /// It is the limit.
    Limits,
    /// It would be used up where the objectives break, which does not suffice to name it.
    Candidate,
    /// It is held for longer as the load grows: something that is waited for while it is held is the limit.
    HeldForLonger,
    /// It suffices for more load.
    Suffices,
    /// Its capacity is below the load that was served, so that its limit or its demand is not what it seems.
    Contradicted,
    /// It is only waited for: how much load it carries is not known.
    WaitedFor,
    /// Its demand is not known.
    Unknown,
}
