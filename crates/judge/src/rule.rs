//! The rules in words: the table that `explain`, every finding and the manual are made of.

use std::fmt;

use evidence::{Figure, Finding, Scope, Severity};

mod table;

pub use table::RULES;

/// Increased whenever a rule, a threshold or the meaning of a claim changes, so that a stored judgement can be
/// distinguished from one that today's rules would give.
pub const RULES_VERSION: u32 = 5;

/// One validity rule, in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Its short name: `L1`.
    pub id: &'static str,
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
}

/// Which claims a rule's findings affect, within their scope. A finding that names an objective affects that one alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AffectedClaims {
    /// All, and the run itself.
    Everything,
    /// Those on requests.
    Load,
    /// Those on requests at an offered rate; with closed models alone it cautions.
    OfferedLoad,
    /// Those on requests, but a violated objective stays violated.
    LoadUnlessViolated,
    /// Those on times.
    Times,
    /// Only the objective it names.
    Named,
    /// Differences between runs: no objective of a run.
    Differences,
}

impl Rule {
    /// A finding of this rule; `what` is one sentence with the numbers in it.
    pub(crate) fn finding(&self, severity: Severity, scope: Scope, what: String) -> Finding {
        Finding {
            rule: self.id.to_owned(),
            title: self.title.to_owned(),
            severity,
            scope,
            what,
            figures: Vec::new(),
            why: self.why.to_owned(),
            next: self.next.to_owned(),
        }
    }
}

/// The rule of this short name. Every id in code has its row in the table.
pub(crate) fn rule_by_id(id: &str) -> &'static Rule {
    RULES.iter().find(|rule| rule.id == id).expect("a rule in code has its row in the table")
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

/// The rule of this short or long name, in whatever case.
pub fn explain(rule: &str) -> Option<&'static Rule> {
    let name = rule.trim();
    RULES.iter().find(|r| r.id.eq_ignore_ascii_case(name) || r.title.eq_ignore_ascii_case(name))
}

/// The rule whose short or long name is most similar to `rule`, if any is similar.
pub fn nearest_rule(rule: &str) -> Option<&'static Rule> {
    let name = rule.trim().to_lowercase();
    let similarity = |known: &str| strsim::jaro_winkler(&name, &known.to_lowercase());
    RULES
        .iter()
        .map(|r| (similarity(r.id).max(similarity(r.title)), r))
        .filter(|(similarity, _)| *similarity > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, r)| r)
}

/// The error for a name that no rule has: the nearest rule, and the ids of all.
pub fn unknown_rule(rule: &str) -> String {
    let near = nearest_rule(rule).map(|r| format!(" Did you mean `{}` ({})?", r.id, r.title));
    let ids: Vec<&str> = RULES.iter().map(|r| r.id).collect();
    format!("there is no rule `{}`.{} Known are {}.", rule.trim(), near.unwrap_or_default(), ids.join(", "))
}

#[cfg(test)]
mod tests;
