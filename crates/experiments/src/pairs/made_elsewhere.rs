//! Pairs of run files that were made elsewhere.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::PathBuf;

use ::report::experiment::{ExperimentSummary, PairOfRuns};
use anyhow::{Context as _, anyhow};
use conduct::failure::{CommandResult, Failure};
use conduct::judged::StoredRun;
use evidence::run::completed;
use evidence::{ExperimentEnd, ExperimentFinding, Name, PairOrder, Run, Severity, Verdict};
use judge::experiment::{FEWEST_PAIRS, Levels, Looks, PairPlace, Rulebook, Together, judge_experiment};
use plans::{metrics_for, metrics_for_measured};
use workload::experiment::Design;

use super::measured;
use crate::record::received_files;

/// Run files that were made elsewhere.
pub struct ForeignPairs<'a> {
    /// Of A and of B.
    files: [&'a [PathBuf]; 2],
    looks: Looks,
}

impl ForeignPairs<'_> {
    /// These files, if there can be an answer in so many.
    pub fn of<'a>(from: &'a [PathBuf], against: &'a [PathBuf]) -> CommandResult<ForeignPairs<'a>> {
        if from.len() != against.len() {
            return Err(Failure::usage(anyhow!(
                "{} runs of A and {} of B: each run of A needs one of B that was made next to it",
                from.len(),
                against.len()
            )));
        }
        if from.len() < FEWEST_PAIRS as usize {
            let there =
                if from.len() == 1 { "there is 1".to_owned() } else { format!("there are {}", from.len()) };
            return Err(Failure::usage(anyhow!(
                "`--from` needs at least {FEWEST_PAIRS} run files on each side; {there}"
            )));
        }
        let looks = Looks::new(&[from.len() as u32]);
        let looks = looks.with_context(|| format!("{} pairs", from.len())).map_err(Failure::usage)?;
        Ok(ForeignPairs { files: [from, against], looks })
    }

    /// Their comparison, decided by these measures. From then on the command can do nothing else.
    pub fn judged(&self, gate: &[String]) -> CommandResult<ExperimentSummary> {
        let mut runs = received_files(&self.files.concat())?;
        let mut of_b = runs.split_off(self.files[0].len());
        let by_time = |run: &StoredRun| run.run.manifest().started_at.clone();
        runs.sort_by_key(by_time);
        of_b.sort_by_key(by_time);
        let workload = &runs[0].workload;
        let metrics = if workload.scenarios.is_empty() {
            let names = MeasuredNames::read(&runs[0])?;
            metrics_for_measured(workload, &names.endpoints, &names.scenarios, gate)
        } else {
            metrics_for(workload, gate)
        };
        let metrics = metrics.map_err(|wrong| Failure::usage(anyhow!("--gate {wrong}")))?;
        let (mut judged, mut pairs) = (Vec::new(), Vec::new());
        for (number, (a, b)) in (1..).zip(runs.iter().zip(&of_b)) {
            let order = if by_time(a) <= by_time(b) { PairOrder::Ab } else { PairOrder::Ba };
            let [file_a, file_b] = [a, b].map(|run| run.run.path().display().to_string());
            let sides = [a.side(&file_a), b.side(&file_b)];
            judged.push(measured(&metrics, PairPlace { number, order }, sides.each_ref())?);
            let digests = [a, b].map(|run| run.run.digest().unwrap_or_default().to_owned());
            pairs.push(PairOfRuns { number, order, files: [file_a, file_b], digests });
        }
        let levels = Levels::for_alarm(Design::default().level);
        let rules = Rulebook {
            metrics: &metrics,
            looks: &self.looks,
            levels,
            accept: &[],
            bad_starts: None,
            together: Together::default(),
        };
        let mut judgement = judge_experiment(&rules, &judged, ExperimentEnd::Given);
        let times: Vec<[String; 2]> = runs.iter().zip(&of_b).map(|(a, b)| [by_time(a), by_time(b)]).collect();
        if let Some(finding) = confounded(&times) {
            if finding.severity == Severity::Invalid {
                judgement.verdict = Verdict::Invalid;
                judgement.because = format!("{}: {}", finding.name, finding.what);
            }
            judgement.findings.insert(0, finding);
        }
        let arms = ["the runs of --from".to_owned(), "the runs of --against".to_owned()];
        Ok(ExperimentSummary { name: workload.name.clone(), arms, judgement, runs: pairs })
    }
}

/// The names in a run of another tool, which has no plan.
struct MeasuredNames {
    /// Those with the most requests first.
    endpoints: Vec<String>,
    scenarios: Vec<String>,
}

impl MeasuredNames {
    fn read(run: &StoredRun) -> CommandResult<MeasuredNames> {
        let run: &dyn Run = &run.run;
        let mut completed = completed(run, &run.whole()).map_err(Failure::own)?;
        completed.sort_by_key(|endpoint| Reverse(endpoint.ok + endpoint.failed));
        let scenarios: BTreeSet<&Name> = run.keys().iter().map(|(_, key)| &key.scenario).collect();
        Ok(MeasuredNames {
            endpoints: completed.iter().map(|endpoint| endpoint.endpoint.to_string()).collect(),
            scenarios: scenarios.into_iter().map(ToString::to_string).collect(),
        })
    }
}

/// Whether the order of the runs can explain a difference: the n-th run of A and the n-th of B must lie next to each other,
/// and either must come first at times.
fn confounded(times: &[[String; 2]]) -> Option<ExperimentFinding> {
    let ends =
        |pair: &[String; 2]| (pair[0].clone().min(pair[1].clone()), pair[0].clone().max(pair[1].clone()));
    let is_apart = |two: &[[String; 2]]| ends(&two[0]).1 < ends(&two[1]).0;
    let firsts = times.iter().filter(|pair| pair[0] <= pair[1]).count();
    let next = "Make pairs in random order: `plimsoll ab EXPERIMENT.toml`.".to_owned();
    let finding = |severity, what: &str| {
        let (name, what) = ("order-confounded".to_owned(), what.to_owned());
        Some(ExperimentFinding { name, severity, pairs: Vec::new(), what, next: next.clone() })
    };
    if !times.windows(2).all(is_apart) {
        return finding(
            Severity::Invalid,
            "The runs were not made in pairs, one of A next to one of B: what changed in the meantime cannot be separated \
             from the difference of A and B.",
        );
    }
    if firsts == 0 || firsts == times.len() {
        return finding(
            Severity::Caution,
            "The same arm came first in every pair: a steady drift favours one of them.",
        );
    }
    None
}
