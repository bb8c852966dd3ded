//! Load of two arms at the same moment: which of the arrivals of both are whose.
//!
//! The arrivals of both come in blocks, and a seeded draw decides within each block which arm gets which: of two arms with
//! equal shares one gets the first of two and the other the second. So both have the same seconds, and their counts never
//! differ by more than a block.

use serde::{Deserialize, Serialize};

use crate::draw::Draw;
use crate::executor::Executor;
use crate::index::ScenarioIndex;

/// The share of the load of two arms that a workload offers one of them. Its executors are those of this arm alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interleaved {
    #[serde(flatten)]
    pub turns: Turns,
    /// The load of both, as a share of what is usual in the experiment.
    #[serde(default = "usual_load", skip_serializing_if = "is_usual_load")]
    pub load: f64,
    /// What is offered to both together: the executor of each scenario.
    pub both: Vec<Executor>,
}

fn usual_load() -> f64 {
    1.0
}

fn is_usual_load(load: &f64) -> bool {
    *load == usual_load()
}

/// Whose turn an arrival is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turns {
    /// The seed of the draws, the same in both arms.
    pub seed: u64,
    /// Whether it is the second arm's share.
    pub is_second: bool,
    /// How many arrivals of a block are the first arm's, and how many the second's; both at least 1.
    pub shares: [u32; 2],
}

impl Turns {
    /// This arm's share of all arrivals, 0 to 1.
    pub fn share(&self) -> f64 {
        self.own() as f64 / self.block() as f64
    }

    /// How many arrivals a block has.
    fn block(&self) -> u64 {
        self.shares.iter().map(|share| u64::from(*share)).sum()
    }

    fn own(&self) -> u64 {
        u64::from(self.shares[usize::from(self.is_second)])
    }

    pub(crate) fn of_scenario(self, scenario: ScenarioIndex) -> ScenarioTurns {
        ScenarioTurns { turns: self, scenario }
    }
}

/// Whose turn an arrival of one scenario is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScenarioTurns {
    turns: Turns,
    scenario: ScenarioIndex,
}

impl ScenarioTurns {
    /// The number among the arrivals of both arms of this arm's arrival `number`, both from 0.
    pub(crate) fn among_both(&self, number: u64) -> u64 {
        let (own, block) = (self.turns.own(), number / self.turns.own());
        let position = self.positions(block).nth((number % own) as usize).unwrap_or_default();
        block.saturating_mul(self.turns.block()).saturating_add(position)
    }

    /// Whether arrival `number` of both is this arm's.
    pub(crate) fn owns(&self, number: u64) -> bool {
        let block = self.turns.block();
        self.positions(number / block).any(|position| position == number % block)
    }

    /// How many of the first `both` arrivals are this arm's.
    pub(crate) fn count(&self, both: u64) -> u64 {
        let (blocks, rest) = (both / self.turns.block(), both % self.turns.block());
        let of_last = self.positions(blocks).take_while(|position| *position < rest).count() as u64;
        blocks.saturating_mul(self.turns.own()).saturating_add(of_last)
    }

    /// This arm's positions within a block, ascending: each set of so many is equally likely (selection sampling: Knuth, "The
    /// Art of Computer Programming" 2, 1997, section 3.4.2, algorithm S).
    fn positions(&self, block: u64) -> impl Iterator<Item = u64> {
        let Turns { seed, is_second, shares: [first, _] } = self.turns;
        let draw = Draw::new(seed, self.scenario, block);
        let (mut of_first, length) = (u64::from(first), self.turns.block());
        (0..length).filter(move |position| {
            let is_first = draw.below(*position, length - position) < of_first;
            of_first -= u64::from(is_first);
            is_first != is_second
        })
    }
}
