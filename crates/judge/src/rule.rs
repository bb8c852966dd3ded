//! What the rules are, in words: the table behind `explain`, behind every finding and behind the manual.

use std::fmt;

use evidence::{Figure, Finding, Scope, Severity};

mod table;

pub use table::RULES;

/// Counted up whenever a rule, a threshold or the meaning of a claim changes, so that a stored judgement
/// can be told from one that today's rules would give.
pub const RULES_VERSION: u32 = 3;

/// One validity rule, in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Its short name, such as `L1`.
    pub id: &'static str,
    /// Its long name, such as `offered-load-not-reached`.
    pub title: &'static str,
    /// The gravest severity it gives.
    pub severity: Severity,
    /// What it tests, with default thresholds.
    pub tests: &'static str,
    /// Which claims it guards.
    pub guards: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// What to do when it fires.
    pub next: &'static str,
    /// Which claims its findings touch, within their scope.
    pub(crate) guard: Guard,
}

/// Which claims a rule's findings touch, within their scope. A finding that names an objective touches that
/// one alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guard {
    /// All, and the run itself.
    Everything,
    /// Those on requests.
    Load,
    /// Those on requests at an offered rate; with closed models alone it cautions.
    OfferedLoad,
    /// Those on requests, but a miss stays a miss.
    LoadUnlessMissed,
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

/// The rule of this short name.
pub(crate) fn named(id: &str) -> &'static Rule {
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
            ("What it guards", self.guards),
            ("Why it matters", self.why),
            ("What to do", self.next),
        ];
        parts.iter().try_for_each(|(head, text)| writeln!(f, "\n{head}\n  {text}"))
    }
}

/// The rule of this short or long name, in whatever case.
pub fn explain(rule: &str) -> Option<&'static Rule> {
    let asked = rule.trim();
    RULES.iter().find(|r| r.id.eq_ignore_ascii_case(asked) || r.title.eq_ignore_ascii_case(asked))
}

/// The rule whose short or long name is most like `rule`, if any is like it at all.
pub fn nearest_rule(rule: &str) -> Option<&'static Rule> {
    let asked = rule.trim().to_lowercase();
    let likeness = |known: &str| strsim::jaro_winkler(&asked, &known.to_lowercase());
    RULES
        .iter()
        .map(|r| (likeness(r.id).max(likeness(r.title)), r))
        .filter(|(likeness, _)| *likeness > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, r)| r)
}

/// What to say of a name that is no rule's: the nearest one, and all there are.
pub fn unknown_rule(rule: &str) -> String {
    let near = nearest_rule(rule).map(|r| format!(" Did you mean `{}` ({})?", r.id, r.title));
    let known: Vec<&str> = RULES.iter().map(|r| r.id).collect();
    format!("there is no rule `{}`.{} Known are {}.", rule.trim(), near.unwrap_or_default(), known.join(", "))
}

#[cfg(test)]
mod tests;
