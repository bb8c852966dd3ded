//! The list of an experiment's runs: with arm, pair and order.

use std::collections::BTreeMap;

use evidence::{ExperimentEnd, ExperimentJudgement, PairOrder};
use serde::{Deserialize, Serialize};
use workload::experiment::{Design, GateMetric};

use super::list::{MadeRun, RunList};

const VERSION: u32 = 1;

/// The list.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The version of this file.
    pub(crate) version: u32,
    /// The name of the experiment.
    pub(crate) name: String,
    /// What A and B are.
    pub(crate) arms: [String; 2],
    /// When it began.
    pub(crate) started_at: String,
    /// Of what it is made: a digest.
    pub(crate) definition: String,
    /// How often and how long.
    pub(crate) design: Design,
    /// What decides it.
    pub(crate) metrics: Vec<GateMetric>,
    /// Its runs, in the order in which they were made.
    pub(crate) runs: Vec<RecordedRun>,
    /// Why there are no more; none while it is under way.
    pub(crate) end: Option<ExperimentEnd>,
    /// How it was judged last.
    pub(crate) judgement: Option<ExperimentJudgement>,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RecordedRun {
    /// The number of its pair, from 1.
    pub(crate) pair: u32,
    /// Its arm: 0 is A, 1 is B.
    pub(crate) arm: usize,
    /// The order of its pair.
    pub(crate) order: PairOrder,
    #[serde(flatten)]
    pub(crate) made: MadeRun,
}

/// A pair of which both runs are there.
pub(crate) struct RecordedPair<'a> {
    pub(crate) number: u32,
    pub(crate) order: PairOrder,
    /// A's run and B's.
    pub(crate) runs: [&'a RecordedRun; 2],
}

impl RunList for Record {
    const KIND: &'static str = "ab";
    const WHAT: &'static str = "an experiment";

    fn runs(&self) -> impl Iterator<Item = &MadeRun> {
        self.runs.iter().map(|run| &run.made)
    }

    fn check(&self) -> Result<(), String> {
        if self.version != VERSION {
            return Err(format!("version {} is not known; this command knows {VERSION}", self.version));
        }
        match self.runs.iter().find(|run| run.arm > 1 || run.pair == 0) {
            Some(run) => Err(format!("the run `{}` cannot be one of its runs", run.made.file)),
            None => Ok(()),
        }
    }
}

impl Record {
    pub(crate) fn version() -> u32 {
        VERSION
    }

    /// The pairs of which both runs are there, in the order of their numbers.
    pub(crate) fn pairs(&self) -> Vec<RecordedPair<'_>> {
        let mut by_number: BTreeMap<u32, [Option<&RecordedRun>; 2]> = BTreeMap::new();
        for run in &self.runs {
            by_number.entry(run.pair).or_default()[run.arm] = Some(run);
        }
        let mut pairs = Vec::new();
        for (number, runs) in by_number {
            if let [Some(a), Some(b)] = runs {
                pairs.push(RecordedPair { number, order: a.order, runs: [a, b] });
            }
        }
        pairs
    }
}
