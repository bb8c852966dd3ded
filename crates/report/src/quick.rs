//! Whether a target is fit for a load test: a few checks, each with its answer.

use std::fmt;

use evidence::Verdict;
use serde::Serialize;

use crate::document::{Case, Document, Paragraph, Reported, VerdictBlock};

/// The name and version of the schema. A field may be added within a version, never change its meaning.
const SCHEMA: &str = "plimsoll.quick/1";

/// The checks of a target.
#[derive(Debug, Serialize)]
pub struct QuickSummary {
    /// The target, as the command line names it.
    pub target: String,
    /// In the order in which they are shown.
    pub checks: Vec<QuickCheck>,
}

/// One check.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct QuickCheck {
    /// What is checked.
    pub name: &'static str,
    /// The answer. What was not observed is unknown, never passed.
    pub state: QuickState,
    /// One sentence with the numbers.
    pub what: String,
}

/// The answer to a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum QuickState {
    /// The target is as a load test needs it.
    Pass,
    /// It is not.
    Fail,
    /// It was not observed.
    Unknown,
}

impl QuickState {
    fn verdict(self) -> Verdict {
        match self {
            QuickState::Pass => Verdict::Pass,
            QuickState::Fail => Verdict::Fail,
            // It does not fail a CI job.
            QuickState::Unknown => Verdict::Measured,
        }
    }
}

impl fmt::Display for QuickState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            QuickState::Pass => "pass",
            QuickState::Fail => "FAIL",
            QuickState::Unknown => "unknown",
        })
    }
}

impl QuickSummary {
    /// FAIL if any check failed, otherwise PASS: an unknown answer does not keep a load test from being run.
    pub fn verdict(&self) -> Verdict {
        if self.count(QuickState::Fail) > 0 { Verdict::Fail } else { Verdict::Pass }
    }

    fn count(&self, state: QuickState) -> usize {
        self.checks.iter().filter(|check| check.state == state).count()
    }
}

impl Reported for QuickSummary {
    fn document(&self) -> Document {
        let all = self.checks.len();
        let line =
            |check: &QuickCheck| Paragraph::labelled(check.name, format!("{}: {}", check.state, check.what));
        let case = |check: &QuickCheck| Case {
            name: check.name.to_owned(),
            verdict: check.state.verdict(),
            word: check.state.to_string(),
            message: check.what.clone(),
            because: String::new(),
        };
        Document {
            name: self.target.clone(),
            title: format!("{}: is it fit for a load test?", self.target),
            verdict: VerdictBlock {
                verdict: Some(self.verdict()),
                word: self.verdict().to_string(),
                answer: None,
                because: format!(
                    "{} of {all} checks failed, {} could not be answered.",
                    self.count(QuickState::Fail),
                    self.count(QuickState::Unknown)
                ),
                case: "quick",
            },
            facts: self.checks.iter().map(line).collect(),
            sections: Vec::new(),
            properties: Vec::new(),
            cases: self.checks.iter().map(case).collect(),
            footer: "Made by Plimsoll from two short runs.",
        }
    }

    fn json(&self) -> String {
        crate::json::with_schema(SCHEMA, self)
    }
}
