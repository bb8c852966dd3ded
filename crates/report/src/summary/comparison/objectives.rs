//! The runs' own objectives, side by side.

use evidence::{Claim, Verdict};

use super::super::claims::{self, ClaimSummary};
use super::TalliedSide;

/// An objective over all sides.
#[derive(Debug, Clone)]
pub struct ObjectiveSides {
    pub name: String,
    /// Its claim; empty where its name is the same.
    pub text: String,
    /// One per side; none where its plan has no such objective.
    pub sides: Vec<Option<ObjectiveOfSide>>,
}

/// An objective on one side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectiveOfSide {
    pub verdict: Verdict,
    /// The observed value as text.
    pub observed: String,
}

impl ObjectiveSides {
    fn is(&self, of: &ClaimSummary) -> bool {
        self.name == of.claim.name && self.text == of.text()
    }

    /// Whether the sides have different verdicts on it, or not all have it.
    pub fn differs(&self) -> bool {
        let verdict = |side: &Option<ObjectiveOfSide>| side.as_ref().map(|side| side.verdict);
        self.sides.windows(2).any(|pair| verdict(&pair[0]) != verdict(&pair[1]))
    }
}

/// Each objective of any side: those first on which verdicts differ, then in the order of the plans.
pub(super) fn of(sides: &[TalliedSide<'_>], claims: &[Vec<Claim>]) -> Vec<ObjectiveSides> {
    let summaries =
        sides.iter().zip(claims).map(|(side, own)| claims::of(own, side.side.workload, side.tally.figures()));
    let mut objectives: Vec<ObjectiveSides> = Vec::new();
    for (at, summaries) in summaries.enumerate() {
        for summary in summaries {
            let place = match objectives.iter().position(|of| of.is(&summary)) {
                Some(place) => place,
                None => {
                    let none = vec![None; sides.len()];
                    let (name, text) = (summary.claim.name.clone(), summary.text().to_owned());
                    objectives.push(ObjectiveSides { name, text, sides: none });
                    objectives.len() - 1
                }
            };
            objectives[place].sides[at] =
                Some(ObjectiveOfSide { verdict: summary.claim.verdict, observed: summary.observed() });
        }
    }
    objectives.sort_by_key(|of| !of.differs());
    objectives
}
