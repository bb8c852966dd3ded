//! A capacity search: probes at levels that follow from what was seen, until the answer is known. Its parts: between which
//! levels is searched, for how long, what the generator can do, and each probe.

pub mod confirmation;
mod generator_limit;
mod lengths;
mod probe;
mod range;

use std::time::Duration;

use ::report::capacity::{CapacityRun, CapacitySummary};
use anyhow::anyhow;
use conduct::failure::{CommandResult, Failure};
use conduct::plan;
use conduct::screen::note;
use evidence::ExperimentEnd;
use evidence::capacity::{CapacityJudgement, CapacityProbe, OverloadAnswer, ProbeStage};
use judge::Side;
use judge::capacity::{
    CapacityRules, NextProbe, OverloadRun, PlannedProbe, ProbePlace, SearchRange, judge_capacity,
    measure_probe, next_probe,
};
use plans::Overrides;
use serde::{Deserialize, Serialize};
use workload::capacity::{self, CapacityExperiment};
use workload::{Objective, Redactor};

use crate::design::{Design, Next, Prepared, RecordedRun, Remaining, Runs, SoFar, Terms, definition};
use crate::session::OVERHEAD;
use crate::slot::SlotPlan;
use lengths::{OVERLOADS, UNDERLOAD, announce, length, rest, step_s};
use probe::{Probe, ProbeRun};
use range::{ProbesOf, Resolved, resolved_levels};

/// The search, after it was said what it will take. A budget that is too short is refused.
pub fn prepared(experiment: CapacityExperiment) -> CommandResult<Prepared<CapacityExperiment>> {
    let plan = plan::resolve(&experiment.plan, &Overrides::default())?;
    // What it is compared with may be another as well.
    let search = capacity::Search { budget: None, at_least: None, ..experiment.search.clone() };
    let definition = definition(&(&experiment.arm, &search, &experiment.slos, &plan.workload))?;
    announce(&experiment, &plan.workload)?;
    let (name, folder) = (experiment.name.clone(), experiment.folder.clone());
    Ok(Prepared { name, folder, plan, definition, subject: experiment })
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Search {
    arm: String,
    pub search: capacity::Search,
    /// What must hold.
    slos: Vec<Objective>,
    /// What was found out before the first probe.
    resolved: Resolved,
}

/// A probe, measured.
pub struct Measured {
    probe: CapacityProbe,
    /// What the overload run shows.
    overload: Option<OverloadAnswer>,
}

impl Design for Search {
    const TERMS: Terms = Terms {
        kind: "capacity",
        what: "a capacity search",
        noun: "search",
        steps: "probes",
        runs_a_step: 1,
        parts: "the arm, the plan, the search or the objectives",
    };
    type Subject = CapacityExperiment;
    type RunPlace = ProbeRun;
    type Step = Measured;
    type Judgement = CapacityJudgement;
    type Summary = CapacitySummary;

    fn begin(
        prepared: &Prepared<CapacityExperiment>,
        redactor: &Redactor,
        loops: u16,
    ) -> CommandResult<Search> {
        let Prepared { subject, plan, .. } = prepared;
        let step_s = step_s(subject, &plan.workload)?;
        let resolved = resolved_levels(subject, &plan.workload, ProbesOf { step_s, loops })?;
        let what = subject.arm.start.as_deref().unwrap_or("what runs already");
        let words: Vec<String> = what.split_whitespace().map(str::to_owned).collect();
        Ok(Search {
            arm: redactor.command_line(&words),
            search: subject.search.clone(),
            slos: subject.slos.clone(),
            resolved,
        })
    }

    fn resume(&mut self, subject: &CapacityExperiment) {
        self.search.budget = subject.search.budget;
        self.search.at_least = subject.search.at_least;
    }

    fn check(&self, runs: &[RecordedRun<ProbeRun>]) -> Result<(), String> {
        let resolved = &self.resolved;
        let levels = [resolved.easiest, resolved.hardest, resolved.start];
        let of_runs = runs.iter().map(|run| run.place.level);
        if !levels.into_iter().chain(of_runs).all(|level| level.is_finite() && level > 0.0) {
            return Err("a level is above 0".to_owned());
        }
        if !(self.search.spacing > 0.0 && self.search.spacing <= 1.0) || self.search.levels > 100 {
            return Err("its grid cannot be one".to_owned());
        }
        Ok(())
    }

    fn next(
        &self,
        subject: &CapacityExperiment,
        so_far: &SoFar<'_, Measured>,
    ) -> CommandResult<Next<Search>> {
        let probes = probes(so_far.steps);
        let planned = match next_probe(&self.rules(), &probes) {
            NextProbe::Make(planned) => planned,
            NextProbe::Complete => return Ok(Next::End(ExperimentEnd::Complete)),
            NextProbe::Unknown => return Ok(Next::Unknown),
        };
        let overhead = self.overhead(subject, so_far);
        let takes = length(&self.search, self.resolved.step_s, planned.stage) + overhead;
        if self.search.budget.is_some_and(|budget| so_far.elapsed + takes > budget) {
            return Ok(Next::End(ExperimentEnd::Budget));
        }
        self.announce_extension(&planned, so_far, overhead);
        self.announce_bracket(&planned, &probes);
        let number = probes.len() as u32 + 1;
        Ok(Next::Make(Runs::InTurn(vec![ProbeRun { number, stage: planned.stage, level: planned.level }])))
    }

    fn plan(&self, subject: &CapacityExperiment, place: &ProbeRun) -> CommandResult<SlotPlan> {
        Probe { experiment: subject, resolved: &self.resolved, place }.plan()
    }

    fn measure(
        &self,
        before: &[Measured],
        RecordedRun { place, .. }: &RecordedRun<ProbeRun>,
        sides: &[Side<'_>],
    ) -> CommandResult<Measured> {
        let [side] = sides else {
            return Err(Failure::own(anyhow!("probe {} has {} runs", place.number, sides.len())));
        };
        let ProbeRun { number, stage, level } = *place;
        let probe = measure_probe(&self.rules(), ProbePlace { number, stage, level }, side);
        let overload = match stage {
            ProbeStage::Overload => Some(self.overload(before, side)?),
            _ => None,
        };
        Ok(Measured { probe: probe.map_err(Failure::own)?, overload })
    }

    fn step_line(&self, Measured { probe, .. }: &Measured) -> Option<String> {
        if probe.stage == ProbeStage::Overload {
            return None;
        }
        Some(self.probe_line(probe))
    }

    fn judge(&self, steps: &[Measured], end: ExperimentEnd) -> CommandResult<CapacityJudgement> {
        let overload = steps.iter().find_map(|step| step.overload.clone());
        Ok(judge_capacity(&self.rules(), probes(steps), overload, end))
    }

    fn left(&self, _: &[Measured], end: &ExperimentEnd) -> Remaining {
        if *end == ExperimentEnd::Complete { Remaining::Nothing } else { Remaining::More }
    }

    fn summary(
        &self,
        name: &str,
        steps: &[Vec<&RecordedRun<ProbeRun>>],
        judgement: CapacityJudgement,
    ) -> CapacitySummary {
        let runs = steps.iter().flatten().map(|run| CapacityRun {
            number: run.place.number,
            stage: run.place.stage,
            level: run.place.level,
            file: run.made.file.clone(),
            digest: run.made.digest.clone(),
        });
        CapacitySummary {
            name: name.to_owned(),
            arm: self.arm.clone(),
            step_s: self.resolved.step_s,
            proven_per_s: self.resolved.proven_per_s,
            judgement,
            runs: runs.collect(),
        }
    }
}

impl Search {
    /// What a probe measured, in a line.
    fn probe_line(&self, probe: &CapacityProbe) -> String {
        let values = self.slos.iter().zip(&probe.values).map(|(slo, value)| {
            let value = ::report::number::with_unit(*value, slo.measure.unit());
            format!("{} {value}", slo.name)
        });
        let values: Vec<String> = values.collect();
        let collapsed = if probe.has_collapsed { ", ended early" } else { "" };
        let unusable = probe.unusable.as_ref().map(|why| format!("; left out: {why}")).unwrap_or_default();
        format!("probe {}: {}{collapsed}{unusable}", probe.number, values.join(", "))
    }

    /// How its probes are planned and judged.
    fn rules(&self) -> CapacityRules<'_> {
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
            levels_for_diagnosis: search.levels_for_diagnosis,
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

    /// What the last probe took besides its load, or what one is expected to take.
    fn overhead(&self, subject: &CapacityExperiment, so_far: &SoFar<'_, Measured>) -> Duration {
        match (so_far.took, so_far.steps.last()) {
            (Some(took), Some(last)) => {
                let load = length(&self.search, self.resolved.step_s, last.probe.stage);
                took.saturating_sub(load).max(OVERHEAD)
            }
            _ => OVERHEAD + rest(subject),
        }
    }

    /// Say that the search takes longer than was announced, and why.
    fn announce_extension(&self, planned: &PlannedProbe, so_far: &SoFar<'_, Measured>, overhead: Duration) {
        let Some(extension) = planned.extension else { return };
        let before = probes(so_far.steps.split_last().map_or(&[], |(_, before)| before));
        let is_new = match next_probe(&self.rules(), &before) {
            NextProbe::Make(last) => last.extension != planned.extension,
            NextProbe::Complete | NextProbe::Unknown => true,
        };
        // Another session has not said it.
        if is_new || so_far.took.is_none() {
            let each = Duration::from_secs_f64(self.resolved.step_s) + overhead;
            note(format_args!(
                "the answer is not within the grid: it is extended by {} probes, about {:.0} min",
                extension.probes,
                (extension.probes * each).as_secs_f64() / 60.0
            ));
        }
    }

    /// Say between which levels the answer is as soon as single probes have shown it.
    fn announce_bracket(&self, planned: &PlannedProbe, probes: &[CapacityProbe]) {
        let is_of_bracket = |stage: ProbeStage| matches!(stage, ProbeStage::Bracket | ProbeStage::Coarse);
        let is_first = matches!(planned.stage, ProbeStage::Grid | ProbeStage::Spread)
            && probes.last().is_some_and(|probe| is_of_bracket(probe.stage));
        let unit = self.search.searched.unit();
        let shown = |level: f64| evidence::capacity::shown_level(level, unit);
        if let Some([holds, breaks]) = judge::capacity::bracket(&self.rules(), probes).filter(|_| is_first) {
            note(format_args!(
                "single probes hold at {} and break at {}; more of them narrow that",
                shown(holds),
                shown(breaks)
            ));
        }
    }

    /// What the overload run shows, after these probes.
    fn overload(&self, before: &[Measured], side: &Side<'_>) -> CommandResult<OverloadAnswer> {
        let grid = self.rules().grid(&probes(before));
        let at = grid.levels.iter().find(|level| Some(level.level) == grid.holds);
        let factors: Vec<f64> = [&[UNDERLOAD], &OVERLOADS[..], &[UNDERLOAD]].concat();
        let of = OverloadRun {
            run: side.run,
            workload: side.workload,
            slos: &self.slos,
            factors: &factors,
            goodput: at
                .map_or(0.0, |level| level.goodput * grid.estimate().unwrap_or(level.level) / level.level),
        };
        of.answer().map_err(Failure::own)
    }
}

fn probes(steps: &[Measured]) -> Vec<CapacityProbe> {
    steps.iter().map(|step| step.probe.clone()).collect()
}
