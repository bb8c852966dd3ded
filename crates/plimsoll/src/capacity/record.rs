//! The list of a search's probes: with stage and level.

use evidence::capacity::{CapacityJudgement, Ceiling, ProbeStage, SearchEnd};
use judge::capacity::{CapacityRules, SearchRange};
use serde::{Deserialize, Serialize};
use workload::Objective;
use workload::capacity::Search;

use crate::experiment::list::{MadeRun, RunList};

const VERSION: u32 = 1;

/// The list.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    /// The version of this file.
    pub(super) version: u32,
    /// `capacity`.
    pub(super) kind: String,
    /// The name of the experiment.
    pub(super) name: String,
    /// What is loaded.
    pub(super) arm: String,
    /// When it began.
    pub(super) started_at: String,
    /// Of what it is made: a digest.
    pub(super) definition: String,
    /// How it is searched.
    pub(super) search: Search,
    /// What must hold.
    pub(super) slos: Vec<Objective>,
    /// What was found out before the first probe.
    pub(super) resolved: Resolved,
    /// Its probes, in the order in which they were made.
    pub(super) runs: Vec<RecordedProbe>,
    /// Why there are no more; none while it is under way.
    pub(super) end: Option<SearchEnd>,
    /// How it was judged last.
    pub(super) judgement: Option<CapacityJudgement>,
}

/// The numbers of a search that come from its plan and from this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Resolved {
    /// The easiest level, the hardest, and where the search begins.
    pub(super) easiest: f64,
    pub(super) hardest: f64,
    pub(super) start: f64,
    /// Why there is nothing harder.
    pub(super) ceiling: Ceiling,
    /// The plan's own level, where levels scale its load.
    pub(super) plan_level: Option<f64>,
    /// Requests a second that the generator is proven for.
    pub(super) proven_per_s: f64,
    /// Requests a second that count for each objective at the plan's level.
    pub(super) per_s: Vec<f64>,
    /// How long each probe is.
    pub(super) step_s: f64,
    /// How much of its beginning is left out.
    pub(super) warm_up_s: u32,
}

/// One probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct RecordedProbe {
    /// Its number, from 1.
    pub(super) number: u32,
    /// What it was for.
    pub(super) stage: ProbeStage,
    /// Its level.
    pub(super) level: f64,
    #[serde(flatten)]
    pub(super) made: MadeRun,
}

impl RunList for Record {
    const KIND: &'static str = "capacity";
    const WHAT: &'static str = "a capacity search";

    fn runs(&self) -> impl Iterator<Item = &MadeRun> {
        self.runs.iter().map(|run| &run.made)
    }

    fn check(&self) -> Result<(), String> {
        if self.version != VERSION || self.kind != Self::KIND {
            return Err(format!(
                "a list of kind `{}`, version {}, is not known; this command knows `{}`, version {VERSION}",
                self.kind,
                self.version,
                Self::KIND
            ));
        }
        let resolved = &self.resolved;
        let levels = [resolved.easiest, resolved.hardest, resolved.start];
        let of_runs = self.runs.iter().map(|run| run.level);
        if !levels.into_iter().chain(of_runs).all(|level| level.is_finite() && level > 0.0) {
            return Err("a level is above 0".to_owned());
        }
        if !(self.search.spacing > 0.0 && self.search.spacing <= 1.0) || self.search.levels > 100 {
            return Err("its grid cannot be one".to_owned());
        }
        Ok(())
    }
}

impl Record {
    pub(super) fn kind_and_version() -> (String, u32) {
        (Self::KIND.to_owned(), VERSION)
    }

    /// How its probes are planned and judged.
    pub(super) fn rules(&self) -> CapacityRules<'_> {
        let (search, resolved) = (&self.search, &self.resolved);
        CapacityRules {
            slos: &self.slos,
            range: SearchRange {
                easiest: resolved.easiest,
                hardest: resolved.hardest,
                start: resolved.start,
                is_whole: search.searched.is_whole(),
                is_more_better: search.is_more_better,
            },
            spacing: search.spacing,
            levels: search.levels,
            repeats: search.repeats,
            seed: search.seed,
            is_held: !search.hold.is_zero(),
            is_overloaded: !search.overload.is_zero() && resolved.plan_level.is_some(),
            plan_level: resolved.plan_level,
            warm_up_s: resolved.warm_up_s,
            step_s: resolved.step_s,
            per_s: &resolved.per_s,
            proven_per_s: Some(resolved.proven_per_s),
            at_least: search.at_least,
            ceiling: Some((resolved.hardest, resolved.ceiling)),
            unit: search.searched.unit(),
        }
    }
}
