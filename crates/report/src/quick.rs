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

#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct QuickCheck {
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
            because: Vec::new(),
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
                assumes: None,
                case: "quick",
            },
            facts: self.checks.iter().map(line).collect(),
            cases: self.checks.iter().map(case).collect(),
            footer: "Made by Plimsoll from two short runs.",
            ..Document::default()
        }
    }

    fn json(&self) -> String {
        crate::json::with_schema(SCHEMA, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Undecided, junit, markdown};

    fn summary(states: [QuickState; 3]) -> QuickSummary {
        let names = ["reachable", "ready", "status"];
        let check = |(name, state)| QuickCheck { name, state, what: format!("what {name} showed") };
        QuickSummary {
            target: "http://h/".to_owned(),
            checks: names.into_iter().zip(states).map(check).collect(),
        }
    }

    #[test]
    fn a_check_that_failed_fails_in_every_form_and_one_without_an_answer_in_none() {
        use QuickState::{Fail, Pass, Unknown};
        let sound = summary([Pass, Unknown, Pass]);
        assert_eq!(sound.verdict(), Verdict::Pass);
        let xml = junit(&sound.document(), Undecided::Error);
        assert!(xml.contains("tests=\"4\"") && !xml.contains("<failure") && !xml.contains("<error"), "{xml}");
        assert!(markdown(&sound.document()).contains("- **ready** unknown: what ready showed"));

        let refused = summary([Pass, Unknown, Fail]);
        assert_eq!(refused.verdict(), Verdict::Fail);
        let xml = junit(&refused.document(), Undecided::Error);
        assert_eq!(xml.matches("<failure").count(), 1, "the check alone: {xml}");
        let text = markdown(&refused.document());
        assert!(
            text.contains("FAIL") && text.contains("1 of 3 checks failed, 1 could not be answered."),
            "{text}"
        );
        let json: serde_json::Value = serde_json::from_str(&refused.json()).expect("it is JSON");
        assert_eq!((&json["schema"], &json["checks"][2]["state"]), (&SCHEMA.into(), &"fail".into()));
    }
}
