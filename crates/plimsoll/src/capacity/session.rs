//! A search while it is made: probe after probe, until it is complete or may not go on.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ::report::capacity::{CapacityRun, CapacitySummary};
use anyhow::anyhow;
use evidence::capacity::{
    CapacityJudgement, CapacityProbe, OverloadAnswer, ProbeStage, SearchEnd, shown_level,
};
use judge::capacity::{
    GridExtension, NextProbe, OverloadRun, PlannedProbe, ProbePlace, judge_capacity, measure_probe,
    next_probe,
};
use workload::capacity::{CapacityExperiment, Searched, failures_take};
use workload::{Redactor, Workload};

use super::definition;
use super::probe::{OVERLOADS, Probe, UNDERLOAD, length};
use super::range::{ProbesOf, resolve, step_s};
use super::record::{Record, RecordedProbe, Resolved};
use crate::arguments::{CapacityArguments, OverrideArguments};
use crate::experiment::arm::NotBegun;
use crate::experiment::list::{RunList as _, note_kept, stored};
use crate::failure::{CommandResult, Failure};
use crate::judged::StoredRun;
use crate::outputs::note;
use crate::signals::Listener;
use crate::{clock, plan};

/// What a run takes besides its load, before any was made.
const OVERHEAD: Duration = Duration::from_secs(2);
/// Probes of the bracket and of the bisection that a search has at least, and the one at its end.
const SEARCHING: u32 = 6;

/// A search under way.
struct Session<'a> {
    experiment: &'a CapacityExperiment,
    arguments: &'a CapacityArguments,
    listener: &'a Listener,
    folder: PathBuf,
    record: Record,
    probes: Vec<CapacityProbe>,
    began: Instant,
    /// What the last probe took besides its load, or what one is expected to take.
    overhead: Duration,
    /// The last extension of the grid.
    extension: Option<GridExtension>,
}

/// Make the search, or what is left of it, and judge it.
pub(super) fn run(
    listener: &Listener,
    experiment: &CapacityExperiment,
    arguments: &CapacityArguments,
) -> CommandResult<CapacitySummary> {
    let plan = plan::resolve(&experiment.plan, &OverrideArguments::default())?;
    let definition = definition::digest(experiment, &plan.workload)?;
    let step_s = step_s(experiment, &plan.workload)?;
    announce(experiment, step_s)?;
    warn_of_short_probes(experiment, &plan.workload, step_s);
    let (folder, record) = match &arguments.resume {
        Some(folder) => (folder.clone(), resumed(folder, experiment, &definition)?),
        None => {
            let resolved =
                resolve(experiment, &plan.workload, ProbesOf { step_s, loops: arguments.slots.loops })?;
            let redactor = Redactor::new(&plan.workload, &plan.env);
            begun(experiment, arguments, Beginning { definition, redactor, resolved })?
        }
    };
    listener.between_slots();
    let overhead =
        OVERHEAD + if experiment.arm.start.is_none() { experiment.search.rest } else { Duration::ZERO };
    let began = Instant::now();
    let mut session = Session {
        experiment,
        arguments,
        listener,
        folder,
        record,
        probes: Vec::new(),
        began,
        overhead,
        extension: None,
    };
    session.read_probes()?;
    let end = session.go_on()?;
    session.end(end)
}

/// Say what it will take; a budget that is too short is refused before anything is started.
fn announce(experiment: &CapacityExperiment, step_s: f64) -> CommandResult<()> {
    let search = &experiment.search;
    let rest = if experiment.arm.start.is_none() { search.rest } else { Duration::ZERO };
    let probes = SEARCHING + search.levels * search.repeats;
    let is_overloaded = !search.overload.is_zero() && search.searched != Searched::Number;
    let overload =
        if is_overloaded { length(experiment, step_s, ProbeStage::Overload) } else { Duration::ZERO };
    let all = probes * (Duration::from_secs_f64(step_s) + OVERHEAD + rest) + search.hold + overload;
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

/// What a search begins with.
struct Beginning {
    /// The digest of what it is made of.
    definition: String,
    /// Takes secrets out of what is kept.
    redactor: Redactor,
    resolved: Resolved,
}

fn begun(
    experiment: &CapacityExperiment,
    arguments: &CapacityArguments,
    beginning: Beginning,
) -> CommandResult<(PathBuf, Record)> {
    let started_at = clock::rfc3339(clock::now());
    let folder = Record::make_folder(arguments.output.as_deref(), &experiment.name, &started_at)?;
    let what = experiment.arm.start.clone().unwrap_or_else(|| "what runs already".to_owned());
    let words: Vec<String> = what.split_whitespace().map(str::to_owned).collect();
    let (kind, version) = Record::kind_and_version();
    let record = Record {
        version,
        kind,
        name: experiment.name.clone(),
        arm: beginning.redactor.command_line(&words),
        started_at,
        definition: beginning.definition,
        search: experiment.search.clone(),
        slos: experiment.slos.clone(),
        resolved: beginning.resolved,
        runs: Vec::new(),
        end: None,
        judgement: None,
    };
    record.write(&folder)?;
    Ok((folder, record))
}

fn resumed(folder: &Path, experiment: &CapacityExperiment, definition: &str) -> CommandResult<Record> {
    let mut record = Record::read(folder)?;
    if record.definition != definition {
        return Err(Failure::usage(anyhow!(
            "{}: the arm, the plan, the search or the objectives have changed since it began; begin another search",
            folder.display()
        )));
    }
    record.end = None;
    record.search.budget = experiment.search.budget;
    record.search.at_least = experiment.search.at_least;
    note(format_args!("resumed with {} probes", record.runs.len()));
    Ok(record)
}

impl Session<'_> {
    /// Measure the probes that are there.
    fn read_probes(&mut self) -> CommandResult<()> {
        for run in &self.record.runs {
            let probe = measured(&self.record, run, &stored(&self.folder, &run.made)?)?;
            self.probes.push(probe);
        }
        Ok(())
    }

    /// Make probes until there is a reason to make no more.
    fn go_on(&mut self) -> CommandResult<SearchEnd> {
        loop {
            if self.listener.interrupted() {
                return Ok(SearchEnd::Interrupted);
            }
            let planned = match next_probe(&self.record.rules(), &self.probes) {
                NextProbe::Make(planned) => planned,
                NextProbe::Complete => return Ok(SearchEnd::Complete),
                NextProbe::Unknown => {
                    return Err(Failure::usage(anyhow!(
                        "the probes of {} were planned by another version; begin another search",
                        self.folder.display()
                    )));
                }
            };
            if self.is_over_budget(planned.stage) {
                return Ok(SearchEnd::Budget);
            }
            self.announce_extension(&planned);
            match self.make(planned) {
                Ok(()) => {}
                Err(NotBegun::Interrupted) => return Ok(SearchEnd::Interrupted),
                Err(NotBegun::NotReady(why)) if self.probes.is_empty() => {
                    return Err(Failure::usage(anyhow!(why)));
                }
                Err(NotBegun::NotReady(why)) => return Ok(SearchEnd::Broken(why)),
                Err(NotBegun::Failed(failure)) => {
                    note_kept(&self.folder);
                    return Err(failure);
                }
            }
        }
    }

    /// Say that the search takes longer than was announced, and why.
    fn announce_extension(&mut self, planned: &PlannedProbe) {
        let is_new = planned.extension.is_some() && planned.extension != self.extension;
        self.extension = planned.extension;
        if let Some(extension) = planned.extension.filter(|_| is_new) {
            let each = Duration::from_secs_f64(self.record.resolved.step_s) + self.overhead;
            note(format_args!(
                "the answer is not within the grid: it is extended by {} probes, about {:.0} min",
                extension.probes,
                (extension.probes * each).as_secs_f64() / 60.0
            ));
        }
    }

    fn is_over_budget(&self, stage: ProbeStage) -> bool {
        let takes = length(self.experiment, self.record.resolved.step_s, stage) + self.overhead;
        self.experiment.search.budget.is_some_and(|budget| self.began.elapsed() + takes > budget)
    }

    fn make(&mut self, planned: PlannedProbe) -> Result<(), NotBegun> {
        let number = self.record.runs.len() as u32 + 1;
        let length = length(self.experiment, self.record.resolved.step_s, planned.stage);
        let unit = self.experiment.search.searched.unit();
        let (stage, level) = (stage_name(planned.stage), shown_level(planned.level, unit));
        note(format_args!("probe {number}, {stage}: {level} for {:.0} s", length.as_secs_f64()));
        let began = Instant::now();
        let probe = Probe {
            experiment: self.experiment,
            resolved: &self.record.resolved,
            arguments: self.arguments,
            listener: self.listener,
            folder: &self.folder,
            number,
            planned,
        };
        let made = probe.make()?;
        self.overhead = began.elapsed().saturating_sub(length).max(OVERHEAD);
        let run = RecordedProbe { number, stage: planned.stage, level: planned.level, made };
        let measured = measured(&self.record, &run, &stored(&self.folder, &run.made)?)?;
        show(self.experiment, &measured);
        self.record.runs.push(run);
        self.record.write(&self.folder)?;
        self.probes.push(measured);
        Ok(())
    }

    fn end(mut self, end: SearchEnd) -> CommandResult<CapacitySummary> {
        let beyond = self.record.runs.iter().find(|run| run.stage == ProbeStage::Overload);
        let overload = match beyond {
            Some(run) => Some(overload(&self.record, &self.probes, &stored(&self.folder, &run.made)?)?),
            None => None,
        };
        let judgement = judge_capacity(&self.record.rules(), self.probes, overload, end.clone());
        self.record.end = Some(end);
        self.record.judgement = Some(judgement.clone());
        self.record.write(&self.folder)?;
        let folder = self.folder.display();
        match self.record.end {
            Some(SearchEnd::Complete) => note(format_args!("the runs are in {folder}")),
            _ => note_kept(&self.folder),
        }
        Ok(summary(&self.record, judgement))
    }
}

fn stage_name(stage: ProbeStage) -> &'static str {
    match stage {
        ProbeStage::Bracket => "bracket",
        ProbeStage::Coarse => "bisection",
        ProbeStage::Grid => "grid",
        ProbeStage::Hold => "hold",
        ProbeStage::Overload => "overload",
        ProbeStage::Again => "once more",
    }
}

/// What a probe showed.
fn show(experiment: &CapacityExperiment, probe: &CapacityProbe) {
    if probe.stage == ProbeStage::Overload {
        return;
    }
    let values = experiment.slos.iter().zip(&probe.values).map(|(slo, value)| {
        let value = ::report::number::with_unit(*value, slo.measure.unit());
        format!("{} {value}", slo.name)
    });
    let collapsed = if probe.has_collapsed { ", ended early" } else { "" };
    let unusable = probe.unusable.as_ref().map(|why| format!("; left out: {why}")).unwrap_or_default();
    let values: Vec<String> = values.collect();
    note(format_args!("probe {}: {}{collapsed}{unusable}", probe.number, values.join(", ")));
}

/// A probe, measured from its run file.
pub(super) fn measured(
    record: &Record,
    run: &RecordedProbe,
    stored: &StoredRun,
) -> CommandResult<CapacityProbe> {
    let StoredRun { run: evidence, workload, provenance } = stored;
    let side = judge::Side { name: &run.made.file, run: evidence, workload, provenance: *provenance };
    let place = ProbePlace { number: run.number, stage: run.stage, level: run.level };
    measure_probe(&record.rules(), place, &side).map_err(Failure::own)
}

/// What the overload run shows.
pub(super) fn overload(
    record: &Record,
    probes: &[CapacityProbe],
    stored: &StoredRun,
) -> CommandResult<OverloadAnswer> {
    let grid = record.rules().grid(probes);
    let at = grid.levels.iter().find(|level| Some(level.level) == grid.holds);
    let factors: Vec<f64> = [&[UNDERLOAD], &OVERLOADS[..], &[UNDERLOAD]].concat();
    let of = OverloadRun {
        run: &stored.run,
        workload: &stored.workload,
        slos: &record.slos,
        factors: &factors,
        goodput: at.map_or(0.0, |level| level.goodput * grid.estimate().unwrap_or(level.level) / level.level),
    };
    of.answer().map_err(Failure::own)
}

/// The search of a record, for its reports.
pub(super) fn summary(record: &Record, judgement: CapacityJudgement) -> CapacitySummary {
    let runs = record.runs.iter().map(|run| CapacityRun {
        number: run.number,
        stage: run.stage,
        level: run.level,
        file: run.made.file.clone(),
        digest: run.made.digest.clone(),
    });
    CapacitySummary {
        name: record.name.clone(),
        arm: record.arm.clone(),
        step_s: record.resolved.step_s,
        proven_per_s: record.resolved.proven_per_s,
        judgement,
        runs: runs.collect(),
    }
}
