//! What a rule is: its texts, its check, and which claims its findings affect.

use std::fmt;

use evidence::{Figure, Finding, RuleId, Scope, Severity};

use crate::facts::Facts;
use crate::pair::Pair;

/// Rules on a single run that leave nothing of a load: what it offered or counted is not what was asked for.
pub(crate) const MAKE_UNUSABLE: [RuleId; 4] = [RuleId::A1, RuleId::L1, RuleId::L5, RuleId::L6];

/// What to do where arrivals were dropped at the VU limit.
pub(crate) const RAISE_VU_LIMIT: &str =
    "Raise the VU limit (`maxVUs` of a script, `max_vus` of a plan, `-c` of a command)";

/// Which claims most rules of pairs affect, in words.
pub(crate) const DIFFERENCES: &str =
    "only comparisons: differences between runs, in the phase, scenario and endpoint of the finding";

/// One validity rule.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Its short name: `L1`.
    pub id: RuleId,
    /// Its long name: `offered-load-not-reached`.
    pub title: &'static str,
    /// The gravest severity it gives.
    pub severity: Severity,
    /// What it tests, with default thresholds.
    pub tests: &'static str,
    /// Which claims it affects, in words.
    pub affects: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// What to do when it fires.
    pub next: &'static str,
    /// Which claims its findings affect.
    pub(crate) affected: AffectedClaims,
    /// How it is tested.
    pub(crate) check: Check,
}

/// How a rule is tested: a pure function to findings.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Check {
    Run(fn(&Facts<'_>) -> Vec<Finding>),
    /// On two runs that are compared.
    Pair(fn(&Pair<'_, '_>) -> Vec<Finding>),
    /// On one run, and otherwise on two.
    Both {
        run: fn(&Facts<'_>) -> Vec<Finding>,
        /// On two runs that are compared.
        pair: fn(&Pair<'_, '_>) -> Vec<Finding>,
    },
    /// Where its input is.
    Elsewhere,
}

/// Which claims a rule's findings affect, within their scope. A finding that names an objective affects that one alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AffectedClaims {
    /// All, and the run itself.
    Everything,
    /// Those on requests.
    Load,
    /// Those on requests, but a violated objective stays violated.
    LoadUnlessViolated,
    /// Those on requests, except those on a rate where the whole scenario is meant: these have findings of their own.
    LoadExceptRatesOfClosed,
    Times,
    /// Those on times, but a violated objective stays violated.
    TimesUnlessViolated,
    /// Only the objective it names.
    Named,
    /// Differences between runs: no objective of a run.
    Differences,
}

impl Rule {
    /// A finding of this rule; `what` is one sentence with the numbers in it.
    pub(crate) fn finding(&self, severity: Severity, scope: Scope, what: String) -> Finding {
        Finding {
            rule: self.id,
            title: self.title.to_owned(),
            severity,
            scope,
            what,
            figures: Vec::new(),
            affects: Vec::new(),
            why: self.why.to_owned(),
            next: self.next.to_owned(),
        }
    }
}

/// Give a finding its numbers, each as (name, value, unit).
pub(crate) fn with_figures(mut finding: Finding, figures: &[(&str, f64, &str)]) -> Finding {
    finding.figures = figures.iter().map(|(name, value, unit)| Figure::new(name, *value, unit)).collect();
    finding
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {} ({})", self.id, self.title, self.severity)?;
        let parts = [
            ("What it tests", self.tests),
            ("What it affects", self.affects),
            ("Why it matters", self.why),
            ("What to do", self.next),
        ];
        parts.iter().try_for_each(|(head, text)| writeln!(f, "\n{head}\n  {text}"))
    }
}
