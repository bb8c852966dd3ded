//! A capacity search: probes at levels that follow from what was seen, until the answer is known.

use std::time::Duration;

use ::report::capacity::{CapacityRun, CapacitySummary};
use anyhow::anyhow;
use evidence::capacity::{CapacityJudgement, CapacityProbe, OverloadAnswer, ProbeStage, SearchEnd};
use judge::Side;
use judge::capacity::{
    CapacityRules, NextProbe, OverloadRun, PlannedProbe, ProbePlace, SearchRange, judge_capacity,
    measure_probe, next_probe,
};
use serde::{Deserialize, Serialize};
use workload::capacity::{self, CapacityExperiment, Searched, failures_take};
use workload::{Objective, Workload};

use super::probe::{OVERLOADS, Probe, ProbeRun, UNDERLOAD, length};
use super::range::{ProbesOf, Resolved, resolve, step_s};
use crate::experiment::design::{Beginning, Design, Left, Next, RecordedRun, SoFar, Source, Terms};
use crate::experiment::session::OVERHEAD;
use crate::experiment::slot::SlotPlan;
use crate::failure::{CommandResult, Failure};
use crate::outputs::note;

/// Probes of the bracket and of the bisection that a search has at least, and the one at its end.
const SEARCHING: u32 = 6;

/// A search.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Search {
    /// What is loaded.
    arm: String,
    /// How it is searched.
    pub(super) search: capacity::Search,
    /// What must hold.
    slos: Vec<Objective>,
    /// What was found out before the first probe.
    resolved: Resolved,
}

/// A probe, measured.
pub(super) struct Measured {
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
    const INTERRUPTED: SearchEnd = SearchEnd::Interrupted;

    type Subject = CapacityExperiment;
    type Place = ProbeRun;
    type Step = Measured;
    type End = SearchEnd;
    type Judgement = CapacityJudgement;
    type Summary = CapacitySummary;

    fn source(subject: &CapacityExperiment) -> Source<'_> {
        let CapacityExperiment { name, plan, folder, .. } = subject;
        Source { name, plan, folder }
    }

    /// What it is compared with may be another as well.
    fn definition(subject: &CapacityExperiment, workload: &Workload) -> serde_json::Result<String> {
        let search = capacity::Search { budget: None, at_least: None, ..subject.search.clone() };
        serde_json::to_string(&(&subject.arm, &search, &subject.slos, workload))
    }

    fn announce(subject: &CapacityExperiment, workload: &Workload) -> CommandResult<()> {
        let step_s = step_s(subject, workload)?;
        announce(subject, step_s)?;
        warn_of_short_probes(subject, workload, step_s);
        Ok(())
    }

    fn begin(subject: &CapacityExperiment, beginning: &Beginning<'_>) -> CommandResult<Search> {
        let Beginning { plan, redactor, loops } = beginning;
        let step_s = step_s(subject, &plan.workload)?;
        let resolved = resolve(subject, &plan.workload, ProbesOf { step_s, loops: *loops })?;
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
            NextProbe::Complete => return Ok(Next::End(SearchEnd::Complete)),
            NextProbe::Unknown => return Ok(Next::Unknown),
        };
        let overhead = self.overhead(subject, so_far);
        let takes = length(&self.search, self.resolved.step_s, planned.stage) + overhead;
        if self.search.budget.is_some_and(|budget| so_far.elapsed + takes > budget) {
            return Ok(Next::End(SearchEnd::Budget));
        }
        self.announce_extension(&planned, so_far, overhead);
        let number = probes.len() as u32 + 1;
        Ok(Next::Make(vec![ProbeRun { number, stage: planned.stage, level: planned.level }]))
    }

    fn plan(&self, subject: &CapacityExperiment, place: &ProbeRun) -> CommandResult<SlotPlan> {
        Probe { experiment: subject, resolved: &self.resolved, place }.plan()
    }

    fn measure(&self, before: &[Measured], place: &ProbeRun, sides: &[Side<'_>]) -> CommandResult<Measured> {
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

    fn line(&self, Measured { probe, .. }: &Measured) -> Option<String> {
        if probe.stage == ProbeStage::Overload {
            return None;
        }
        let values = self.slos.iter().zip(&probe.values).map(|(slo, value)| {
            let value = ::report::number::with_unit(*value, slo.measure.unit());
            format!("{} {value}", slo.name)
        });
        let values: Vec<String> = values.collect();
        let collapsed = if probe.has_collapsed { ", ended early" } else { "" };
        let unusable = probe.unusable.as_ref().map(|why| format!("; left out: {why}")).unwrap_or_default();
        Some(format!("probe {}: {}{collapsed}{unusable}", probe.number, values.join(", ")))
    }

    fn judge(&self, steps: &[Measured], end: SearchEnd) -> CommandResult<CapacityJudgement> {
        let overload = steps.iter().find_map(|step| step.overload.clone());
        Ok(judge_capacity(&self.rules(), probes(steps), overload, end))
    }

    fn broken(why: String) -> SearchEnd {
        SearchEnd::Broken(why)
    }

    fn left(&self, _: &[Measured], end: &SearchEnd) -> Left {
        if *end == SearchEnd::Complete { Left::Nothing } else { Left::More }
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

/// The pause after a probe.
fn rest(experiment: &CapacityExperiment) -> Duration {
    if experiment.arm.start.is_none() { experiment.search.rest } else { Duration::ZERO }
}

/// Say what it will take; a budget that is too short is refused before anything is started.
fn announce(experiment: &CapacityExperiment, step_s: f64) -> CommandResult<()> {
    let search = &experiment.search;
    let probes = SEARCHING + search.levels * search.repeats;
    let is_overloaded = !search.overload.is_zero() && search.searched != Searched::Number;
    let overload = if is_overloaded { length(search, step_s, ProbeStage::Overload) } else { Duration::ZERO };
    let all =
        probes * (Duration::from_secs_f64(step_s) + OVERHEAD + rest(experiment)) + search.hold + overload;
    let slos: Vec<&str> = experiment.slos.iter().map(|slo| slo.source.as_str()).collect();
    note(format_args!("what must hold: {}", slos.join("; ")));
    note(format_args!(
        "about {probes} probes of {step_s:.0} s, a hold of {:.0} s, an overload of {:.0} s: about {:.0} min{}",
        search.hold.as_secs_f64(),
        overload.as_secs_f64(),
        all.as_secs_f64() / 60.0,
        search.budget.map(|budget| format!(", at most {budget:?}")).unwrap_or_default()
    ));
    match search.budget {
        Some(budget) if budget < all => Err(Failure::usage(anyhow!(
            "a budget of {budget:?} is too short: {probes} probes of {step_s:.0} s, the hold and the overload take about \
             {:.0} min; raise it, or shorten `step`, `hold` and `overload`",
            (all.as_secs_f64() / 60.0).ceil()
        ))),
        _ => Ok(()),
    }
}

/// Say which error rates no level will be shown to meet at the plan's load, before the time is spent.
fn warn_of_short_probes(experiment: &CapacityExperiment, workload: &Workload, step_s: f64) {
    let Some(phase) = workload.measured_phase(&experiment.slos) else { return };
    let whole_s: f64 = workload.phases.iter().map(|phase| (phase.end - phase.start).as_secs_f64()).sum();
    let share = (phase.end - phase.start).as_secs_f64() / whole_s;
    let measured_s = step_s * share - experiment.search.warm_up.unwrap_or_default().as_secs_f64();
    for slo in &experiment.slos {
        let per_s = workload.selected_per_s(&slo.filter, phase);
        if let Some(needed) = failures_take(slo, per_s).filter(|needed| needed.as_secs_f64() > measured_s) {
            note(format_args!(
                "warning: at {per_s:.0} requests/s probes must measure for {:.0} s to show that `{}` is met ({}), not {measured_s:.0} s: \
                 make `step` longer, or ask for less",
                needed.as_secs_f64().ceil(),
                slo.name,
                slo.source
            ));
        }
    }
}
