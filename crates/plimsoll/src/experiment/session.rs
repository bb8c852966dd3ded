//! An experiment while it is made: pair after pair, judged at each look, until it is decided or may not go on.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ::report::experiment::{ExperimentSummary, PairOfRuns};
use anyhow::anyhow;
use evidence::{ExperimentEnd, ExperimentJudgement, PairOrder, Verdict};
use judge::experiment::{
    Futility, JudgedPair, Levels, PairPlace, Rulebook, SlotValue, futility, judge_experiment, judge_pair,
};
use stats::Looks;
use workload::Redactor;
use workload::experiment::{Arm, Experiment};

use super::arm::NotBegun;
use super::definition;
use super::list::{RunList as _, note_kept, stored};
use super::options::SessionOptions;
use super::order::order;
use super::pair::PairRun;
use super::record::{Record, RecordedPair, RecordedRun};
use super::slot::planned_s;
use super::{sampled, visible};
use crate::arguments::OverrideArguments;
use crate::failure::{CommandResult, Failure};
use crate::judged::StoredRun;
use crate::outputs::note;
use crate::signals::Listener;
use crate::{clock, plan};

/// What a run takes besides its load, before any was made.
const OVERHEAD: Duration = Duration::from_secs(2);

/// That an arm could not be made ready in the first pair; why.
#[derive(Debug)]
pub(crate) struct NotReady(String);

impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for NotReady {}

/// An experiment that was made.
pub(crate) struct Made {
    pub(crate) folder: PathBuf,
    pub(crate) record: Record,
    pub(crate) pairs: Vec<JudgedPair>,
    pub(crate) judgement: ExperimentJudgement,
    /// What a pair takes.
    pub(crate) pair_takes: Duration,
}

/// An experiment under way.
struct Session<'a> {
    experiment: &'a Experiment,
    options: &'a SessionOptions,
    listener: &'a Listener,
    folder: PathBuf,
    record: Record,
    looks: Looks,
    pairs: Vec<JudgedPair>,
    began: Instant,
    /// The longest pair so far, or what one is expected to take.
    pair_takes: Duration,
}

/// Make the experiment, or what is left of it, and judge it.
pub(crate) fn run(
    listener: &Listener,
    experiment: &Experiment,
    options: &SessionOptions,
) -> CommandResult<Made> {
    let looks = looks_of(&experiment.design.looks)?;
    let slot = match experiment.design.slot {
        Some(slot) => slot,
        None => Duration::from_secs_f64(planned_s(&experiment.plan)?),
    };
    let pair_takes = 2 * (slot + OVERHEAD);
    announce(experiment, &looks, pair_takes)?;
    let plan = plan::resolve(&experiment.plan, &OverrideArguments::default())?;
    let redactor = Redactor::new(&plan.workload, &plan.env);
    let definition = definition::digest(experiment, &plan.workload)?;
    let (folder, record) = match &options.resume {
        Some(folder) => (folder.clone(), resumed(folder, &definition)?),
        None => begun(experiment, options, &Identity { definition, redactor })?,
    };
    listener.between_slots();
    let began = Instant::now();
    let mut session = Session {
        experiment,
        options,
        listener,
        folder,
        record,
        looks,
        pairs: Vec::new(),
        began,
        pair_takes,
    };
    session.read_pairs()?;
    let end = session.go_on()?;
    session.end(end)
}

/// The looks of a design.
pub(crate) fn looks_of(at: &[u32]) -> CommandResult<Looks> {
    Looks::new(at).map_err(|_| {
        let wrong = definition::check_looks(at).err().unwrap_or_default();
        Failure::usage(anyhow!(wrong))
    })
}

/// Say what it will take; a budget that does not reach the first look is refused before anything is started.
fn announce(experiment: &Experiment, looks: &Looks, pair_takes: Duration) -> CommandResult<()> {
    let minutes = |pairs: u32| (pairs * pair_takes).as_secs_f64() / 60.0;
    let (first, last) = (looks.at()[0], looks.last());
    if let Some(budget) = experiment.design.budget {
        let fit = (budget.as_secs_f64() / pair_takes.as_secs_f64()) as u32;
        if fit < first {
            return Err(Failure::usage(anyhow!(
                "a budget of {budget:?} is enough for {fit} pairs of {:.0} s, and the first look is after {first}: it \
                 takes {:.1} min; raise the budget or shorten the slots",
                pair_takes.as_secs_f64(),
                minutes(first)
            )));
        }
    }
    let metrics: Vec<String> = experiment
        .metrics
        .iter()
        .map(|metric| format!("{} ({}, margin {} %)", metric.name, metric.source, metric.margin * 100.0))
        .collect();
    note(format_args!("decided by: {}", metrics.join("; ")));
    note(format_args!(
        "pairs of {:.0} s, looks after {:?}: from {:.1} to {:.1} min{}",
        pair_takes.as_secs_f64(),
        looks.at(),
        minutes(first),
        minutes(last),
        experiment.design.budget.map(|budget| format!(", at most {budget:?}")).unwrap_or_default()
    ));
    Ok(())
}

/// What identifies an experiment, and what keeps its secrets.
struct Identity {
    /// The digest of what it is made of.
    definition: String,
    /// Takes secrets out of what is kept.
    redactor: Redactor,
}

fn begun(
    experiment: &Experiment,
    options: &SessionOptions,
    identity: &Identity,
) -> CommandResult<(PathBuf, Record)> {
    let started_at = clock::rfc3339(clock::now());
    let folder = Record::make_folder(options.folder.as_deref(), &experiment.name, &started_at)?;
    let [a, b] = &experiment.arms;
    let shown = |arm: &Arm, other: &Arm| shown(arm, other, &identity.redactor);
    let record = Record {
        version: Record::version(),
        name: experiment.name.clone(),
        arms: [shown(a, b), shown(b, a)],
        started_at,
        definition: identity.definition.clone(),
        design: experiment.design.clone(),
        metrics: experiment.metrics.clone(),
        runs: Vec::new(),
        end: None,
        judgement: None,
    };
    record.write(&folder)?;
    Ok((folder, record))
}

/// What an arm is: the variables that the other has not, its command, its targets; without secrets.
fn shown(arm: &Arm, other: &Arm, redactor: &Redactor) -> String {
    let own = arm.env.iter().filter(|(name, value)| other.env.get(*name) != Some(value));
    let own = own.map(|(name, value)| format!("{name}={value}"));
    let command = arm.start.clone().unwrap_or_else(|| "what runs already".to_owned());
    let words: Vec<String> = own.chain(command.split_whitespace().map(str::to_owned)).collect();
    let targets: Vec<String> = arm.targets.iter().map(|(name, at)| format!("{name} at {at}")).collect();
    let what = redactor.command_line(&words);
    if targets.is_empty() { what } else { format!("{what}, {}", targets.join(", ")) }
}

fn resumed(folder: &std::path::Path, definition: &str) -> CommandResult<Record> {
    let mut record = Record::read(folder)?;
    if record.definition != definition {
        return Err(Failure::usage(anyhow!(
            "{}: the arms, the plan, the design or the metrics have changed since it began; begin another experiment",
            folder.display()
        )));
    }
    // A pair whose second run is missing is made anew: its runs belong next to each other.
    let whole: Vec<u32> = record.pairs().iter().map(|pair| pair.number).collect();
    record.runs.retain(|run| whole.contains(&run.pair));
    record.end = None;
    note(format_args!("resumed with {} pairs", whole.len()));
    Ok(record)
}

impl Session<'_> {
    fn rules(&self) -> Rulebook<'_> {
        let design = &self.experiment.design;
        Rulebook {
            metrics: &self.experiment.metrics,
            looks: &self.looks,
            levels: Levels { alarm: design.level, exclusion: design.exclusion },
            accept: &design.accept,
        }
    }

    /// Measure the pairs that are there.
    fn read_pairs(&mut self) -> CommandResult<()> {
        for pair in self.record.pairs() {
            let judged = judged_pair(&self.experiment.metrics, &self.folder, &pair)?;
            self.pairs.push(judged);
        }
        Ok(())
    }

    /// Make pairs until there is a reason to make no more.
    fn go_on(&mut self) -> CommandResult<ExperimentEnd> {
        loop {
            let made = self.pairs.len() as u32;
            if let Some(end) = self.end_after(made) {
                return Ok(end);
            }
            let began = Instant::now();
            match self.make_pair(made + 1) {
                Ok(()) => self.pair_takes = began.elapsed().max(Duration::from_secs(1)),
                Err(NotBegun::Interrupted) => return Ok(ExperimentEnd::Interrupted),
                Err(NotBegun::NotReady(why)) if made == 0 => return Err(Failure::usage(NotReady(why))),
                Err(NotBegun::NotReady(why)) => return Ok(ExperimentEnd::Broken(why)),
                Err(NotBegun::Failed(failure)) => {
                    note_kept(&self.folder);
                    return Err(failure);
                }
            }
            self.show_pair();
        }
    }

    /// Why there shall be no pair after the first `made`, if so.
    fn end_after(&self, made: u32) -> Option<ExperimentEnd> {
        if self.listener.interrupted() {
            return Some(ExperimentEnd::Interrupted);
        }
        if let Some(why) = self.unmeasured() {
            return Some(ExperimentEnd::Broken(why));
        }
        if self.looks.at().contains(&made) {
            let rules = self.rules();
            let judgement = judge_experiment(&rules, &self.pairs, ExperimentEnd::Decided);
            show_look(&judgement);
            if made == self.looks.at()[0] && self.looks.last() > made && self.options.calibration.is_none() {
                visible::after_first_look(self.experiment, &judgement, self.pair_takes);
            }
            if judgement.verdict != Verdict::Inconclusive {
                return Some(ExperimentEnd::Decided);
            }
            if made < self.looks.last() && futility(&rules, &judgement.metrics) == Futility::Futile {
                return Some(ExperimentEnd::Futile);
            }
        }
        if made >= self.looks.last() {
            return Some(ExperimentEnd::LastLook);
        }
        let is_over = |budget: Duration| made > 0 && self.began.elapsed() + self.pair_takes > budget;
        self.experiment.design.budget.filter(|budget| is_over(*budget)).map(|_| ExperimentEnd::Budget)
    }

    /// A metric that has no value in the first pair has none in any other; nor has one that is infinite in the baseline.
    fn unmeasured(&self) -> Option<String> {
        let first = self.pairs.first()?;
        let metrics = self.experiment.metrics.iter().zip(&first.values);
        metrics.into_iter().find_map(|(metric, sides)| {
            let is_lost = matches!(sides, [SlotValue::Infinite, _])
                || sides.iter().any(|side| matches!(side, SlotValue::Missing(_)));
            let why = sides.iter().find_map(|side| side.known().err()).filter(|_| is_lost)?;
            Some(format!("`{}` ({}) has no value in the first pair: {why}", metric.name, metric.source))
        })
    }

    fn make_pair(&mut self, number: u32) -> Result<(), NotBegun> {
        let order = order(self.experiment.design.seed, number);
        let arms = if order == PairOrder::Ab { [0, 1] } else { [1, 0] };
        let next = self.looks.at().iter().find(|look| **look >= number).copied().unwrap_or(number);
        for arm in arms {
            let letter = if arm == 0 { "A" } else { "B" };
            note(format_args!("pair {number} of {next}: {letter}"));
            let run = PairRun {
                experiment: self.experiment,
                options: &self.options.slots,
                listener: self.listener,
                folder: &self.folder,
                pair: number,
                arm,
            };
            let made = run.make()?;
            self.record.runs.push(RecordedRun { pair: number, arm, order, made });
            self.record.write(&self.folder)?;
        }
        let pairs = self.record.pairs();
        let Some(pair) = pairs.iter().find(|pair| pair.number == number) else { return Ok(()) };
        let judged = judged_pair(&self.experiment.metrics, &self.folder, pair)?;
        self.pairs.push(judged);
        Ok(())
    }

    /// What the last pair shows of each metric.
    fn show_pair(&self) {
        let Some(pair) = self.pairs.last() else { return };
        let shown: Vec<String> = self
            .experiment
            .metrics
            .iter()
            .zip(&pair.values)
            .map(|(metric, [a, b])| match (a.known(), b.known()) {
                (Ok(a), Ok(b)) if metric.quantity.is_share() => {
                    format!("{} {:+.2} pp", metric.name, (b - a) * 100.0)
                }
                (Ok(a), Ok(b)) if a > 0.0 => format!("{} {:+.1} %", metric.name, (b / a - 1.0) * 100.0),
                _ => format!("{} –", metric.name),
            })
            .collect();
        note(format_args!("pair {}: {}", pair.number, shown.join(", ")));
    }

    fn end(mut self, end: ExperimentEnd) -> CommandResult<Made> {
        let judgement = judge_experiment(&self.rules(), &self.pairs, end.clone());
        self.record.end = Some(end);
        self.record.judgement = Some(judgement.clone());
        self.record.write(&self.folder)?;
        let folder = self.folder.display();
        match self.record.end {
            Some(ExperimentEnd::Broken(_)) if self.unmeasured().is_some() => note(format_args!(
                "the runs are in {folder}; the first pair would end it again: begin another experiment"
            )),
            Some(ExperimentEnd::Interrupted | ExperimentEnd::Budget | ExperimentEnd::Broken(_)) => {
                note_kept(&self.folder);
            }
            _ => note(format_args!("the runs are in {folder}")),
        }
        let Session { folder, record, pairs, pair_takes, .. } = self;
        Ok(Made { folder, record, pairs, judgement, pair_takes })
    }
}

fn show_look(judgement: &ExperimentJudgement) {
    let metrics: Vec<String> =
        judgement.metrics.iter().map(|metric| format!("{} {}", metric.name, metric.verdict)).collect();
    note(format_args!("look after {} pairs: {}", judgement.pairs, metrics.join(", ")));
}

/// The runs of a pair, measured. Their evidence must be what was recorded.
pub(crate) fn judged_pair(
    metrics: &[workload::experiment::GateMetric],
    folder: &std::path::Path,
    pair: &RecordedPair<'_>,
) -> CommandResult<JudgedPair> {
    let [a, b] = pair.runs.map(|run| stored(folder, &run.made));
    let (a, b) = (a?, b?);
    measured_pair(
        metrics,
        PairPlace { number: pair.number, order: pair.order },
        [
            NamedRun { name: &pair.runs[0].made.file, stored: &a },
            NamedRun { name: &pair.runs[1].made.file, stored: &b },
        ],
    )
}

/// A run that was read, and the name that it is shown by.
pub(crate) struct NamedRun<'a> {
    pub(crate) name: &'a str,
    pub(crate) stored: &'a StoredRun,
}

/// Two runs that were read, measured.
pub(crate) fn measured_pair(
    metrics: &[workload::experiment::GateMetric],
    place: PairPlace,
    [a, b]: [NamedRun<'_>; 2],
) -> CommandResult<JudgedPair> {
    let costs = sampled::costs([&a.stored.run, &b.stored.run])?;
    let (a, b) = (side(a.name, a.stored), side(b.name, b.stored));
    let mut judged = judge_pair(metrics, place, [&a, &b]).map_err(Failure::own)?;
    judged.costs.extend(costs);
    Ok(judged)
}

pub(crate) fn side<'a>(name: &'a str, stored: &'a StoredRun) -> judge::Side<'a> {
    let StoredRun { run, workload, provenance } = stored;
    judge::Side { name, run, workload, provenance: *provenance }
}

/// The experiment of a record, for its reports.
pub(crate) fn summary(record: &Record, judgement: ExperimentJudgement) -> ExperimentSummary {
    let runs = record.pairs().into_iter().map(|pair| PairOfRuns {
        number: pair.number,
        order: pair.order,
        files: pair.runs.map(|run| run.made.file.clone()),
        digests: pair.runs.map(|run| run.made.digest.clone()),
    });
    ExperimentSummary {
        name: record.name.clone(),
        arms: record.arms.clone(),
        judgement,
        runs: runs.collect(),
    }
}
