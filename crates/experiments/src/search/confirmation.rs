//! The experiment that confirms the limit which a search found: its arm as it is, and with more of what limits it.

use std::time::Duration;

use ::report::diagnosis::DiagnosisSummary;
use anyhow::anyhow;
use conduct::failure::{CommandResult, Failure};
use conduct::plan;
use conduct::screen::note;
use evidence::ExperimentEnd;
use evidence::capacity::{ProbeStage, shown_level};
use evidence::diagnosis::{Confirmation, ConfirmationArm, Diagnosis};
use judge::Side;
use judge::capacity::{ArmProbe, ConfirmationRules, ProbePlace, SearchedLevels, bracket, measure_probe};
use plans::Overrides;
use serde::{Deserialize, Serialize};
use workload::Redactor;
use workload::capacity::CapacityExperiment;
use workload::experiment::Arm;

use super::probe::{Probe, ProbeRun};
use super::{Search, probes};
use crate::design::{
    Design, Next, Prepared, RecordedRun, Remaining, RunPlace, Runs, SoFar, Terms, definition,
};
use crate::session::{Made, OVERHEAD};
use crate::slot::SlotPlan;

/// The kind of its list of runs, and the extension of its folder.
pub const KIND: &str = "confirmation";

/// More of what limits an arm.
#[derive(Debug, Clone, PartialEq)]
pub struct RaisedArm {
    pub arm: Arm,
    /// What was changed, as it was asked for: `POOL=8`.
    pub change: String,
}

/// What is probed: both arms.
pub struct ArmsToConfirm {
    unchanged: CapacityExperiment,
    raised: CapacityExperiment,
    confirming: Confirming,
}

/// Confirmations are judged by the search that named the limit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Confirming {
    search: Search,
    /// What it names.
    diagnosis: Diagnosis,
    /// What that rests on.
    source: String,
    change: String,
    /// The level that breaks.
    breaks: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfirmationRun {
    /// Its number, from 1.
    number: u32,
    arm: ConfirmationArm,
    level: f64,
}

/// The confirmation of the limit that a search names; none where it names none.
pub fn prepared(
    made: &Made<Search>,
    experiment: &CapacityExperiment,
    raised: &RaisedArm,
    source: &str,
) -> CommandResult<Option<Prepared<ArmsToConfirm>>> {
    let search = &made.record.design;
    let diagnosis = made.judgement.diagnosis.clone().filter(|diagnosis| diagnosis.limit.is_some());
    let range = bracket(&search.rules(), &probes(&made.steps));
    let (Some(diagnosis), Some([_, breaks])) = (diagnosis, range) else { return Ok(None) };
    let confirming = Confirming {
        search: search.clone(),
        diagnosis,
        source: source.to_owned(),
        change: raised.change.clone(),
        breaks,
    };
    let step_s = search.resolved.step_s;
    let most = ConfirmationRules::most_probes() as u32;
    let takes = most * (Duration::from_secs_f64(step_s) + OVERHEAD);
    note(format_args!(
        "to confirm {}: at most {most} probes of {step_s:.0} s, as it is and with {}, about {:.0} min",
        confirming.diagnosis.limit.as_deref().unwrap_or_default(),
        raised.change,
        takes.as_secs_f64() / 60.0
    ));
    let raised = CapacityExperiment { arm: raised.arm.clone(), ..experiment.clone() };
    Ok(Some(Prepared {
        name: experiment.name.clone(),
        folder: experiment.folder.clone(),
        plan: plan::resolve(&experiment.plan, &Overrides::default())?,
        definition: definition(&(&experiment.arm, &raised.arm, breaks))?,
        subject: ArmsToConfirm { unchanged: experiment.clone(), raised, confirming },
    }))
}

impl RunPlace for ConfirmationRun {
    fn step(&self) -> u32 {
        self.number
    }

    fn side(&self) -> usize {
        0
    }
}

impl Confirming {
    fn rules(&self) -> CommandResult<ConfirmationRules> {
        let search = &self.search;
        let levels = SearchedLevels {
            breaks: self.breaks,
            hardest: search.resolved.hardest,
            unit: search.search.searched.unit(),
            seed: search.search.seed,
        };
        ConfirmationRules::new(&self.diagnosis, &self.change, levels)
            .filter(|_| self.breaks > 0.0)
            .ok_or_else(|| Failure::usage(anyhow!("the search names no limit: nothing can be confirmed")))
    }
}

impl Design for Confirming {
    const TERMS: Terms = Terms {
        kind: KIND,
        what: "a confirmation",
        noun: "confirmation",
        steps: "probes",
        runs_a_step: 1,
        parts: "the arms, the plan or the search",
    };
    type Subject = ArmsToConfirm;
    type RunPlace = ConfirmationRun;
    type Step = ArmProbe;
    type Judgement = Confirmation;
    type Summary = DiagnosisSummary;

    fn begin(prepared: &Prepared<ArmsToConfirm>, redactor: &Redactor, _: u16) -> CommandResult<Confirming> {
        let confirming = prepared.subject.confirming.clone();
        let words: Vec<String> = confirming.change.split_whitespace().map(str::to_owned).collect();
        Ok(Confirming { change: redactor.command_line(&words), ..confirming })
    }

    fn resume(&mut self, _: &ArmsToConfirm) {}

    fn next(&self, _: &ArmsToConfirm, so_far: &SoFar<'_, ArmProbe>) -> CommandResult<Next<Confirming>> {
        let number = so_far.steps.len() as u32 + 1;
        Ok(match self.rules()?.next(so_far.steps) {
            Some((arm, level)) => Next::Make(Runs::InTurn(vec![ConfirmationRun { number, arm, level }])),
            None => Next::End(ExperimentEnd::Complete),
        })
    }

    fn plan(&self, arms: &ArmsToConfirm, place: &ConfirmationRun) -> CommandResult<SlotPlan> {
        let ConfirmationRun { number, arm, level } = *place;
        let (experiment, letter, shown) = match arm {
            ConfirmationArm::Unchanged => (&arms.unchanged, 'A', "as it is"),
            ConfirmationArm::Raised => (&arms.raised, 'B', self.change.as_str()),
        };
        let of_probe = ProbeRun { number, stage: ProbeStage::Spread, level };
        let probe = Probe { experiment, resolved: &self.search.resolved, place: &of_probe };
        let at = shown_level(level, self.search.search.searched.unit());
        Ok(SlotPlan { letter, title: format!("probe {number}, {shown}: {at}"), ..probe.plan()? })
    }

    fn measure(
        &self,
        _: &[ArmProbe],
        RecordedRun { place, .. }: &RecordedRun<ConfirmationRun>,
        sides: &[Side<'_>],
    ) -> CommandResult<ArmProbe> {
        let [side] = sides else {
            return Err(Failure::own(anyhow!("probe {} has {} runs", place.number, sides.len())));
        };
        if place.level <= 0.0 {
            return Err(Failure::usage(anyhow!("probe {} has no load", place.number)));
        }
        let at = ProbePlace { number: place.number, stage: ProbeStage::Spread, level: place.level };
        let probe = measure_probe(&self.search.rules(), at, side).map_err(Failure::own)?;
        Ok(ArmProbe { arm: place.arm, probe })
    }

    fn step_line(&self, ArmProbe { probe, .. }: &ArmProbe) -> Option<String> {
        Some(self.search.probe_line(probe))
    }

    fn judge(&self, steps: &[ArmProbe], _: ExperimentEnd) -> CommandResult<Confirmation> {
        Ok(self.rules()?.judge(steps))
    }

    fn left(&self, _: &[ArmProbe], _: &ExperimentEnd) -> Remaining {
        Remaining::Nothing
    }

    fn summary(
        &self,
        name: &str,
        _: &[Vec<&RecordedRun<ConfirmationRun>>],
        confirmation: Confirmation,
    ) -> DiagnosisSummary {
        let diagnosis = self.diagnosis.clone();
        DiagnosisSummary::confirmed(name.to_owned(), self.source.clone(), diagnosis, confirmation)
    }
}
