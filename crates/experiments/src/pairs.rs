//! Pairs of runs of two arms, which decide whether the second is worse: in random order, some of them profiled, or made
//! elsewhere ([`made_elsewhere`]). [`calibration`] is what pairs of A against A show, [`detectable`] the changes that it can
//! detect.

pub mod calibration;
mod confirmation;
pub mod detectable;
pub mod made_elsewhere;
mod order;
mod reference_probe;
mod sampled;
mod shared_store;
mod together;

use std::time::Duration;

use ::report::experiment::{ExperimentSummary, PairOfRuns};
use anyhow::anyhow;
use conduct::failure::{CommandResult, Failure};
use conduct::plan;
use conduct::screen::note;
use evidence::{
    Calibration, ExperimentEnd, ExperimentFinding, ExperimentJudgement, MetricAnswer, PairOrder, Severity,
};
use figures::number::brief;
use judge::Side;
use judge::experiment::{
    JudgedPair, Levels, Looks, PairPlace, Rulebook, SlotValue, Together, fewest_good_starts,
    judge_experiment, judge_pair,
};
use plans::Overrides;
use serde::{Deserialize, Serialize};
use workload::cpu_list::CpuList;
use workload::experiment::{self, Arm, Experiment, GateMetric};
use workload::{Redactor, Turns};

use crate::design::{
    Design, Next, Prepared, RecordedRun, Remaining, RunPlace, Runs, SoFar, Terms, definition,
};
use crate::session::OVERHEAD;
use crate::slot::{SlotPlan, length, load_seed, time_scale};
use order::{load as varied_load, order, shares};

/// Shorter slots show too little to be advised.
const SHORTEST_ADVISED_S: u64 = 5;

/// An experiment, with what is known before it begins.
pub struct PairedArms {
    /// What is compared, how often, and by what it is decided.
    pub experiment: Experiment,
    /// What was found by pairs of A against A.
    pub(crate) calibration: Option<Calibration>,
    /// The time under load of each run.
    pub(crate) slot: Duration,
}

impl PairedArms {
    /// The experiment, after it was said what it will take. A budget that is too short is refused.
    pub fn prepared(
        mut experiment: Experiment,
        calibration: Option<Calibration>,
    ) -> CommandResult<Prepared<PairedArms>> {
        let plan = plan::resolve(&experiment.plan, &Overrides::default())?;
        together::decide(&mut experiment, &plan.workload)?;
        reference_probe::announce(&experiment, calibration.as_ref());
        let slot = experiment.design.slot.unwrap_or_else(|| length(&plan.workload));
        let subject = PairedArms { experiment, calibration, slot };
        subject.announce()?;
        let Experiment { name, folder, arms, design, metrics, .. } = &subject.experiment;
        let (name, folder) = (name.clone(), folder.clone());
        let design = experiment::Design { budget: None, ..design.clone() };
        let definition = definition(&(arms, &design, metrics, &plan.workload))?;
        Ok(Prepared { name, folder, plan, definition, subject })
    }

    fn announce(&self) -> CommandResult<()> {
        let experiment = &self.experiment;
        let looks = looks_of(&experiment.design.looks)?;
        let pair_takes = self.pair_takes(None);
        let minutes = |pairs: u32| (pairs * pair_takes).as_secs_f64() / 60.0;
        let (first, last) = (looks.at()[0], looks.last());
        if let Some(budget) = experiment.design.budget {
            let fit = (budget.as_secs_f64() / pair_takes.as_secs_f64()) as u32;
            if fit < first {
                return Err(Failure::usage(anyhow!(
                    "a budget of {} is enough for {} of {}, and the first look is after {first}, which takes {}: `--budget {:.0}m`{}",
                    brief::length(budget.as_secs_f64()),
                    brief::counted(fit.into(), "pair"),
                    brief::length(pair_takes.as_secs_f64()),
                    brief::length(60.0 * minutes(first)),
                    minutes(first).ceil(),
                    self.slot_within(budget, first)
                )));
            }
        }
        if let Some(bad_starts) = experiment.design.bad_starts {
            let fewest = fewest_good_starts(bad_starts, experiment.design.exclusion);
            if fewest > u64::from(last) {
                return Err(Failure::usage(anyhow!(
                    "`bad_starts` of at most {} % takes {fewest} pairs of which none is bad, and the last look is after {last}; set \
                     `looks = [{fewest}]`",
                    bad_starts.at_most * 100.0
                )));
            }
        }
        let metrics: Vec<String> = experiment
            .metrics
            .iter()
            .map(|metric| format!("{} ({}, margin {} %)", metric.name, metric.source, metric.margin * 100.0))
            .collect();
        let starts = experiment.design.bad_starts.map(|asked| {
            let [at_most, worse_by] = [asked.at_most, asked.worse_by].map(|share| share * 100.0);
            format!("; bad_starts (at most {at_most} % of B's starts worse than A's median by more than {worse_by} %)")
        });
        note(format_args!("decided by: {}{}", metrics.join("; "), starts.unwrap_or_default()));
        note(format_args!(
            "pairs of {:.0} s, looks after {}: {}{:.1} min{}",
            pair_takes.as_secs_f64(),
            looks.at().iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
            if first == last { String::new() } else { format!("from {:.1} to ", minutes(first)) },
            minutes(last),
            experiment.design.budget.map(|budget| format!(", at most {budget:?}")).unwrap_or_default()
        ));
        if experiment.design.together.as_ref().is_some_and(|together| together.confirm) {
            let takes = 2 * self.run_takes();
            note(format_args!(
                "then, for what this cannot show, up to {last} pairs in turn of {:.0} s: {:.1} min more",
                takes.as_secs_f64(),
                (last * takes).as_secs_f64() / 60.0
            ));
        }
        let fit = experiment.design.budget.map_or(last, |budget| budget.div_duration_f64(pair_takes) as u32);
        let pairs = looks.at().iter().rev().find(|look| **look <= fit).unwrap_or(&first);
        detectable::warn_of_unclearable(experiment, &looks, *pairs)
    }

    /// The slot with which so many pairs fit a budget, as advice; nothing where it would be too short to show anything.
    fn slot_within(&self, budget: Duration, pairs: u32) -> String {
        let slot = (budget / (pairs * self.turns())).saturating_sub(OVERHEAD).as_secs();
        if slot < SHORTEST_ADVISED_S { String::new() } else { format!(", or `--slot {slot}s`") }
    }

    fn turns(&self) -> u32 {
        if self.experiment.design.together.is_some() { 1 } else { 2 }
    }

    /// What a pair takes, of which the last took so much.
    pub(crate) fn pair_takes(&self, last: Option<Duration>) -> Duration {
        last.map_or(self.turns() * self.run_takes(), |last| last.max(Duration::from_secs(1)))
    }

    fn run_takes(&self) -> Duration {
        self.slot + OVERHEAD
    }
}

/// Pairs of two arms.
#[derive(Debug, Serialize, Deserialize)]
pub struct Pairs {
    /// What A and B are.
    pub arms: [String; 2],
    /// How often and how long.
    design: experiment::Design,
    /// What decides it.
    pub metrics: Vec<GateMetric>,
    /// Whether both arms are started anew for each run.
    #[serde(default = "usually_started")]
    are_started: bool,
}

fn usually_started() -> bool {
    true
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairedRun {
    /// The number of its pair, from 1.
    pair: u32,
    /// Its arm: 0 is A, 1 is B.
    arm: usize,
    order: PairOrder,
    /// Its number among the pairs in turn that confirm those at the same moment, from 1; none of the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    confirms: Option<u32>,
}

impl RunPlace for PairedRun {
    fn step(&self) -> u32 {
        self.pair
    }

    fn side(&self) -> usize {
        self.arm
    }
}

impl Design for Pairs {
    const TERMS: Terms = Terms {
        kind: "ab",
        what: "an experiment",
        noun: "experiment",
        steps: "pairs",
        runs_a_step: 2,
        parts: "the arms, the plan, the design or the metrics",
    };
    type Subject = PairedArms;
    type RunPlace = PairedRun;
    type Step = JudgedPair;
    type Judgement = ExperimentJudgement;
    type Summary = ExperimentSummary;

    fn begin(prepared: &Prepared<PairedArms>, redactor: &Redactor, _: u16) -> CommandResult<Pairs> {
        let PairedArms { experiment, calibration, .. } = &prepared.subject;
        let Experiment { arms: [a, b], design, .. } = experiment;
        let metrics = reference_probe::with_slopes(experiment, calibration.as_ref());
        let are_started = a.start.is_some() && b.start.is_some();
        let arms = [shown(a, b, redactor), shown(b, a, redactor)];
        Ok(Pairs { arms, design: design.clone(), metrics, are_started })
    }

    fn resume(&mut self, subject: &PairedArms) {
        self.design.budget = subject.experiment.design.budget;
    }

    fn next(&self, subject: &PairedArms, so_far: &SoFar<'_, JudgedPair>) -> CommandResult<Next<Pairs>> {
        if let Some(end) = self.end_after(subject, so_far)? {
            return Ok(Next::End(end));
        }
        let pair = so_far.steps.len() as u32 + 1;
        let confirms = self.confirming(&self.rules(&looks_of(&self.design.looks)?), so_far.steps);
        let order = match confirms {
            Some(number) => order(!self.design.seed, number),
            None => order(self.design.seed, pair),
        };
        let arms = if order == PairOrder::Ab { [0, 1] } else { [1, 0] };
        let places = arms.map(|arm| PairedRun { pair, arm, order, confirms });
        Ok(Next::Make(match &self.design.together {
            Some(_) if confirms.is_none() => Runs::Together(places),
            _ => Runs::InTurn(places.into()),
        }))
    }

    fn plan(&self, subject: &PairedArms, place: &PairedRun) -> CommandResult<SlotPlan> {
        let PairedRun { pair, arm: at, confirms, .. } = *place;
        let Experiment { plan: path, arms, design, .. } = &subject.experiment;
        let sides = design.together.as_ref().and_then(|together| together.sides.as_ref());
        let arms = together::at_sides(arms, sides, place.order);
        let (arm, letter) = (&arms[at], ['a', 'b'][at]);
        let overrides = Overrides {
            targets: arm.targets.clone(),
            time_scale: time_scale(path, design.slot)?,
            seed: Some(load_seed(design.seed, pair)),
            ..Overrides::default()
        };
        let mut load = plan::resolve(path, &overrides)?;
        load.workload.profiles.extend(sampled::mark(design, &load.workload, pair));
        let (what, number) = confirms.map_or(("pair", pair), |number| ("confirming pair", number));
        let next = design.looks.iter().find(|look| **look >= number).unwrap_or(&number);
        let mut title = format!("{what} {number} of {next}: {}", letter.to_uppercase());
        if let Some(together) = design.together.as_ref().filter(|_| confirms.is_none()) {
            let turns = Turns {
                seed: load_seed(!design.seed, pair),
                is_second: at == 1,
                shares: shares(design.seed, pair),
            };
            let total = if together.vary_load { varied_load(design.seed, pair) } else { 1.0 };
            load.workload.interleave(turns, together.share, total);
            title = format!("pair {pair} of {next}: A and B{}", split(turns.shares, total));
        }
        Ok(SlotPlan {
            arm: arm.clone(),
            load,
            name: format!("pair-{pair:02}-{letter}"),
            shown: format!("arm {letter} of pair {pair}"),
            letter: letter.to_ascii_uppercase(),
            title,
            probe: reference_probe::needed(&self.design, &self.metrics),
            rest: Duration::ZERO,
        })
    }

    fn measure(
        &self,
        _: &[JudgedPair],
        first: &RecordedRun<PairedRun>,
        sides: &[Side<'_>],
    ) -> CommandResult<JudgedPair> {
        let RecordedRun { place, repeated, .. } = first;
        let [a, b] = sides else {
            return Err(Failure::own(anyhow!("pair {} has {} runs", place.pair, sides.len())));
        };
        let mut judged =
            measured(&self.metrics, PairPlace { number: place.pair, order: place.order }, [a, b])?;
        judged.findings.extend(made_again(place.pair, repeated));
        Ok(judged)
    }

    fn step_line(&self, pair: &JudgedPair) -> Option<String> {
        let change = |(metric, [a, b]): (&GateMetric, &[SlotValue; 2])| match (a.known(), b.known()) {
            (Ok(a), Ok(b)) if metric.quantity.is_share() => {
                format!("{} {:+.2} pp", metric.name, (b - a) * 100.0)
            }
            (Ok(a), Ok(b)) if a > 0.0 => format!("{} {:+.1} %", metric.name, (b / a - 1.0) * 100.0),
            _ => format!("{} –", metric.name),
        };
        let changes: Vec<String> = self.metrics.iter().zip(&pair.values).map(change).collect();
        Some(format!("pair {}: {}", pair.number, changes.join(", ")))
    }

    fn judge(&self, pairs: &[JudgedPair], end: ExperimentEnd) -> CommandResult<ExperimentJudgement> {
        Ok(self.judge_parts(&self.rules(&looks_of(&self.design.looks)?), pairs, end))
    }

    fn left(&self, pairs: &[JudgedPair], end: &ExperimentEnd) -> Remaining {
        match end {
            ExperimentEnd::Broken(_) if self.unmeasured(pairs).is_some() => {
                Remaining::Same("the first pair would end it again: begin another experiment")
            }
            ExperimentEnd::Interrupted | ExperimentEnd::Budget | ExperimentEnd::Broken(_) => Remaining::More,
            _ => Remaining::Nothing,
        }
    }

    fn summary(
        &self,
        name: &str,
        steps: &[Vec<&RecordedRun<PairedRun>>],
        judgement: ExperimentJudgement,
    ) -> ExperimentSummary {
        let pairs = steps.iter().filter_map(|runs| {
            let pair: [&RecordedRun<PairedRun>; 2] = runs.as_slice().try_into().ok()?;
            Some(PairOfRuns {
                number: pair[0].place.pair,
                order: pair[0].place.order,
                files: pair.map(|run| run.made.file.clone()),
                digests: pair.map(|run| run.made.digest.clone()),
            })
        });
        ExperimentSummary { name: name.to_owned(), arms: self.arms.clone(), judgement, runs: pairs.collect() }
    }
}

impl Pairs {
    fn rules<'a>(&'a self, looks: &'a Looks) -> Rulebook<'a> {
        // Two experiments have half of it each.
        let share = if self.is_confirmed() { 0.5 } else { 1.0 };
        let levels = Levels { alarm: self.design.level * share, exclusion: self.design.exclusion };
        let together = self.claims();
        let (accept, bad_starts) = (&self.design.accept, self.design.bad_starts);
        Rulebook { metrics: &self.metrics, looks, levels, accept, bad_starts, together }
    }

    /// What the arms have in common, where they run at the same moment.
    fn claims(&self) -> Together {
        let Some(experiment::Together { sides, shared_store, vary_load, .. }) = &self.design.together else {
            return Together::default();
        };
        let cpus = sides.as_ref().map(|sides| sides.each_ref().map(|side| side.cpus.as_ref()));
        let are_apart = |[a, b]: [Option<&CpuList>; 2]| a.zip(b).is_some_and(|(a, b)| a.is_apart_from(b));
        Together {
            are_restarted: self.are_started,
            have_shared_store: *shared_store,
            are_pinned_apart: cpus.is_some_and(are_apart),
            is_load_varied: *vary_load,
        }
    }

    /// Why there shall be no other pair, if so.
    fn end_after(
        &self,
        subject: &PairedArms,
        so_far: &SoFar<'_, JudgedPair>,
    ) -> CommandResult<Option<ExperimentEnd>> {
        let (pairs, made) = (so_far.steps, so_far.steps.len() as u32);
        let mut pair_takes = subject.pair_takes(so_far.took);
        if let Some(why) = self.unmeasured(pairs) {
            return Ok(Some(ExperimentEnd::Broken(why)));
        }
        let looks = looks_of(&self.design.looks)?;
        let rules = self.rules(&looks);
        let first = if self.is_confirmed() { confirmation::parts(pairs).0 } else { pairs };
        if first.len() == pairs.len() && looks.at().contains(&made) {
            let judgement = judge_experiment(&rules, pairs, ExperimentEnd::Decided);
            show_look(made, &judgement.metrics);
            if made == looks.at()[0] && looks.last() > made && subject.calibration.is_none() {
                detectable::after_first_look(&subject.experiment, &judgement, pair_takes);
            }
        }
        match self.end_of_looks(&rules, first) {
            Some(end) if self.is_confirmed() => match self.next_confirming(&rules, pairs, end) {
                Ok(0) => pair_takes = 2 * subject.run_takes(),
                Ok(_) => {}
                Err(end) => return Ok(Some(end)),
            },
            Some(end) => return Ok(Some(end)),
            None => {}
        }
        let is_over = |budget: &Duration| made > 0 && so_far.elapsed + pair_takes > *budget;
        Ok(self.design.budget.filter(is_over).map(|_| ExperimentEnd::Budget))
    }

    /// A metric that has no value in the first pair has none in any other, nor has one that is infinite in the baseline, unless B
    /// collapsed: that counts.
    fn unmeasured(&self, pairs: &[JudgedPair]) -> Option<String> {
        let first = pairs.first()?;
        let has_collapsed =
            first.values.iter().any(|sides| matches!(sides, [SlotValue::Known { .. }, SlotValue::Infinite]));
        self.metrics.iter().zip(&first.values).find_map(|(metric, sides)| {
            let is_lost = match sides {
                [SlotValue::Known { .. }, SlotValue::Missing(_)] => !has_collapsed,
                [SlotValue::Known { .. }, _] => false,
                _ => true,
            };
            let why = sides.iter().find_map(|side| side.known().err()).filter(|_| is_lost)?;
            Some(format!("`{}` ({}) has no value in the first pair: {why}", metric.name, metric.source))
        })
    }
}

/// The looks of a design.
fn looks_of(at: &[u32]) -> CommandResult<Looks> {
    Looks::new(at).map_err(Failure::usage)
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

/// That a window was made again.
fn made_again(pair: u32, why: &[String]) -> Option<ExperimentFinding> {
    let last = why.last()?;
    Some(ExperimentFinding {
        name: "window-repeated".to_owned(),
        severity: Severity::Caution,
        pairs: vec![pair],
        what: format!(
            "The window was made again, {} times, because one version was not there: {last}.",
            why.len()
        ),
        next: "Find out why the version ended or was not ready; its log is beside its run file.".to_owned(),
    })
}

/// How the load of a window is split, where that is not in halves.
fn split([a, b]: [u32; 2], load: f64) -> String {
    let percent = |share: u32| 100 * share / (a + b);
    let total = if load == 1.0 { String::new() } else { format!("{:.0} % of ", load * 100.0) };
    match a == b {
        true if total.is_empty() => String::new(),
        true => format!(", {total}the load"),
        false => format!(", {}:{} of {total}the load", percent(a), percent(b)),
    }
}

fn show_look(pairs: u32, metrics: &[MetricAnswer]) {
    let metrics: Vec<String> =
        metrics.iter().map(|metric| format!("{} {}", metric.name, metric.verdict)).collect();
    note(format_args!("look after {pairs} pairs: {}", metrics.join(", ")));
}

/// A pair, measured: A's run and B's.
pub(crate) fn measured(
    metrics: &[GateMetric],
    place: PairPlace,
    [a, b]: [&Side<'_>; 2],
) -> CommandResult<JudgedPair> {
    let costs = sampled::costs([a.run, b.run])?;
    let mut judged = judge_pair(metrics, place, [a, b]).map_err(Failure::own)?;
    judged.costs.extend(costs);
    Ok(judged)
}

#[cfg(test)]
mod tests {
    use judge::experiment::Conditions;
    use workload::objective::parse_quantity;

    use super::*;

    #[test]
    fn a_first_pair_in_which_b_collapses_does_not_end_the_experiment() {
        let metric = |of: &str| GateMetric::new(of, of, parse_quantity(of, &|_| true).unwrap());
        let metrics = vec![metric("p50(list)"), metric("cpu_per_request(target = web)")];
        let pairs =
            Pairs { arms: Default::default(), design: Default::default(), metrics, are_started: true };
        let known = || SlotValue::Known { value: 10.0, error: 0.0, lag: 0.0 };
        let missing = || SlotValue::Missing("no request ended.".to_owned());
        let unmeasured = |times: [SlotValue; 2], costs: [SlotValue; 2]| {
            let pair = JudgedPair {
                number: 1,
                order: PairOrder::Ab,
                values: vec![times, costs],
                by_second: Vec::new(),
                probe: Vec::new(),
                others: Vec::new(),
                costs: Vec::new(),
                conditions: [Conditions::default(); 2],
                share_of_b: None,
                load: None,
                findings: Vec::new(),
            };
            pairs.unmeasured(&[pair])
        };
        assert_eq!(unmeasured([known(), SlotValue::Infinite], [known(), missing()]), None);
        let why = "`cpu_per_request(target = web)` (cpu_per_request(target = web)) has no value in the first pair: no request ended.";
        assert_eq!(unmeasured([known(), known()], [known(), missing()]).as_deref(), Some(why));
        assert_eq!(unmeasured([known(), SlotValue::Infinite], [missing(), missing()]).as_deref(), Some(why));
        assert!(unmeasured([SlotValue::Infinite, SlotValue::Infinite], [known(), known()]).is_some());
    }
}
