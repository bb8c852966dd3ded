//! Capacity searches: the highest load at which objectives hold, with its interval, and what happens beyond it.
//!
//! The observation is the probe: a run at one level, which gives each objective a margin ([`measure_probe`]). Which probe comes
//! next is a function of those so far ([`next_probe`]); the grid of repeated levels is tested level by level ([`GridAnswer`]);
//! the verdict is made here.

mod bimodal;
mod bottleneck;
mod confirmation;
mod grid;
mod margin;
mod overload;
mod probe;
mod search;
#[cfg(test)]
mod tests;
mod verdict;

use evidence::capacity::{
    CapacityJudgement, CapacityProbe, CapacitySlo, Ceiling, HoldAnswer, OverloadAnswer, ProbeStage,
};
use evidence::{ExperimentEnd, Verdict};
use workload::Objective;
use workload::capacity::step_needed;

use crate::rules::RULES_VERSION;

pub use confirmation::{ArmProbe, ConfirmationRules, SearchedLevels};
pub use grid::GridAnswer;
pub use overload::OverloadRun;
pub use probe::{ProbePlace, measure_probe};
pub use search::{
    GridExtension, NARROWED_LEVELS, NARROWED_REPEATS, NextProbe, PlannedProbe, SPREAD, SearchRange, bracket,
    next_probe,
};

/// How a capacity is searched and judged.
#[derive(Debug, Clone)]
pub struct CapacityRules<'a> {
    /// What must hold.
    pub slos: &'a [Objective],
    pub range: SearchRange,
    /// The distance of neighbouring levels of the grid, as a share.
    pub spacing: f64,
    /// Levels of the grid.
    pub levels: u32,
    /// Probes of each of them.
    pub repeats: u32,
    /// Of the order of probes.
    pub seed: u64,
    /// Whether levels up to the break take the place of the grid.
    pub levels_for_diagnosis: bool,
    /// Whether the answer is held.
    pub is_held: bool,
    /// Whether the target is overloaded at the end.
    pub is_overloaded: bool,
    /// The plan's own level, where levels scale its load.
    pub plan_level: Option<f64>,
    /// Seconds at the beginning of each probe that are left out.
    pub warm_up_s: u32,
    /// How long each probe is, in seconds.
    pub step_s: f64,
    /// Requests a second that count for each objective at the plan's level; 0 where the target decides how many.
    pub per_s: &'a [f64],
    /// Requests a second that the generator can sustain; none: not known.
    pub proven_per_s: Option<f64>,
    /// The level that must hold.
    pub at_least: Option<f64>,
    /// The highest level that could be tried, and why.
    pub ceiling: Option<(f64, Ceiling)>,
    /// The unit of levels.
    pub unit: &'a str,
}

impl CapacityRules<'_> {
    /// The load of a level as a multiple of the plan's.
    pub fn factor(&self, level: f64) -> f64 {
        self.plan_level.map_or(1.0, |plan| level / plan)
    }

    /// How long each probe should be, of a target that breaks at `level`, in seconds.
    fn step_needed_s(&self, level: f64) -> f64 {
        let per_s = self.per_s.iter().map(|per_s| per_s * self.factor(level));
        let needed = self.slos.iter().zip(per_s).map(|(slo, per_s)| step_needed(slo, per_s, per_s));
        needed.max().unwrap_or_default().as_secs_f64()
    }

    /// What the grid among these probes shows.
    pub fn grid(&self, probes: &[CapacityProbe]) -> GridAnswer {
        GridAnswer::from_probes(self, probes)
    }
}

/// Judges the probes of a search, in the order in which they were made.
pub fn judge_capacity(
    rules: &CapacityRules<'_>,
    probes: Vec<CapacityProbe>,
    overload: Option<OverloadAnswer>,
    end: ExperimentEnd,
) -> CapacityJudgement {
    let answer = GridAnswer::from_probes(rules, &probes);
    let hold = probes.iter().rev().find(|probe| probe.stage == ProbeStage::Hold).map(held);
    // What does not hold for long is not what holds.
    let holds = match &hold {
        Some(hold) if hold.verdict == Verdict::Pass => Some(hold.level),
        Some(_) => None,
        None => answer.holds,
    };
    let slos = rules.slos.iter().enumerate().map(|(at, slo)| CapacitySlo {
        name: slo.name.clone(),
        of: slo.source.clone(),
        unit: slo.measure.unit().to_owned(),
        bound: slo.bound,
        deviation: answer.deviations.get(at).copied().flatten().map(|(deviation, _)| deviation),
        breaks_first: answer.breaks_first == Some(at),
    });
    let mut judgement = CapacityJudgement {
        rules_version: RULES_VERSION,
        verdict: Verdict::Inconclusive,
        because: String::new(),
        unit: rules.unit.to_owned(),
        is_more_better: rules.range.is_more_better,
        holds,
        nine_of_ten: answer.nine_of_ten(),
        breaks: answer.breaks,
        estimate: answer.estimate(),
        at_least: rules.at_least,
        ceiling: rules.ceiling,
        slos: slos.collect(),
        levels: answer.levels.clone(),
        diagnosis: bottleneck::of(rules, &answer, &probes),
        probes,
        hold,
        overload,
        findings: Vec::new(),
        end,
    };
    judgement.findings = verdict::findings(rules, &answer, &judgement);
    (judgement.verdict, judgement.because) = verdict::whole(rules, &answer, &judgement);
    judgement
}

fn held(probe: &CapacityProbe) -> HoldAnswer {
    HoldAnswer {
        level: probe.level,
        seconds: probe.seconds,
        verdict: match () {
            () if probe.unusable.is_some() => Verdict::Invalid,
            () if search::passes(probe) => Verdict::Pass,
            () => Verdict::Fail,
        },
        values: probe.values.clone(),
    }
}
