//! Pairs that were made before: of an experiment's folder, or run files that were made elsewhere.

use std::path::{Path, PathBuf};

use ::report::experiment::{ExperimentSummary, PairOfRuns};
use anyhow::anyhow;
use evidence::{ExperimentEnd, ExperimentFinding, PairOrder, Run as _, Severity, Verdict};
use judge::experiment::{JudgedPair, Levels, PairPlace, Rulebook, judge_experiment};
use plans::metrics_for;
use stats::Looks;
use workload::experiment::Design;

use super::list::{RunList as _, received, received_files};
use super::record::Record;
use super::session::{NamedRun, looks_of, measured_pair, summary};
use crate::arguments::AbArguments;
use crate::failure::{CommandResult, Failure};
use crate::judged::StoredRun;
use crate::outputs::{self, PreopenedReports};

/// Judge the experiment in `folder` again. Its files may come from others.
pub(crate) fn again(folder: &Path, arguments: &AbArguments) -> CommandResult<u8> {
    let record = Record::read(folder)?;
    let reports = PreopenedReports::all(arguments.outputs.named())?;
    let judged = stored_pairs(folder, &record)?;
    let Design { looks, level, exclusion, accept, .. } = &record.design;
    let looks = looks_of(looks)?;
    let levels = Levels { alarm: *level, exclusion: *exclusion };
    let rules = Rulebook { metrics: &record.metrics, looks: &looks, levels, accept };
    let end = record.end.clone().unwrap_or(ExperimentEnd::Interrupted);
    let judgement = judge_experiment(&rules, &judged, end);
    report(&summary(&record, judgement), arguments, &reports)
}

/// The pairs of the experiment in `folder`, measured. Their files may come from others: from then on the command can do
/// nothing else.
pub(crate) fn stored_pairs(folder: &Path, record: &Record) -> CommandResult<Vec<JudgedPair>> {
    let pairs = record.pairs();
    let of_pairs: Vec<_> = pairs.iter().flat_map(|pair| pair.runs.map(|run| &run.made)).collect();
    let mut runs = received(folder, &of_pairs)?.into_iter();
    let mut judged = Vec::new();
    for pair in &pairs {
        let (Some(a), Some(b)) = (runs.next(), runs.next()) else { break };
        let sides = [
            NamedRun { name: &pair.runs[0].made.file, stored: &a },
            NamedRun { name: &pair.runs[1].made.file, stored: &b },
        ];
        let place = PairPlace { number: pair.number, order: pair.order };
        judged.push(measured_pair(&record.metrics, place, sides)?);
    }
    Ok(judged)
}

/// Judge run files that were made elsewhere.
pub(crate) fn from_files(arguments: &AbArguments) -> CommandResult<u8> {
    let AbArguments { from, against, .. } = arguments;
    if from.len() != against.len() {
        return Err(Failure::usage(anyhow!(
            "{} runs of A and {} of B: each run of A needs one of B that was made next to it",
            from.len(),
            against.len()
        )));
    }
    let at = [from.len() as u32];
    let looks = Looks::new(&at).map_err(|_| {
        Failure::usage(anyhow!(
            "{} pairs: from {} to {} can be judged; fewer show nothing",
            at[0],
            stats::looks::FEWEST_PAIRS,
            stats::looks::MOST_PAIRS
        ))
    })?;
    let reports = PreopenedReports::all(arguments.outputs.named())?;
    let files: Vec<PathBuf> = from.iter().chain(against).cloned().collect();
    let mut runs = received_files(&files)?;
    let mut of_b = runs.split_off(from.len());
    let by_time = |run: &StoredRun| run.run.manifest().started_at.clone();
    runs.sort_by_key(by_time);
    of_b.sort_by_key(by_time);
    let workload = &runs[0].workload;
    let metrics =
        metrics_for(workload, &arguments.gate).map_err(|wrong| Failure::usage(anyhow!("--gate {wrong}")))?;
    let (mut judged, mut pairs) = (Vec::new(), Vec::new());
    for (number, (a, b)) in (1..).zip(runs.iter().zip(&of_b)) {
        let order = if by_time(a) <= by_time(b) { PairOrder::Ab } else { PairOrder::Ba };
        let [file_a, file_b] = [a, b].map(|run| run.run.path().display().to_string());
        let sides = [NamedRun { name: &file_a, stored: a }, NamedRun { name: &file_b, stored: b }];
        judged.push(measured_pair(&metrics, PairPlace { number, order }, sides)?);
        let digests = [a, b].map(|run| run.run.digest().unwrap_or_default().to_owned());
        pairs.push(PairOfRuns { number, order, files: [file_a, file_b], digests });
    }
    let levels = Levels::of(Design::default().level);
    let rules = Rulebook { metrics: &metrics, looks: &looks, levels, accept: &[] };
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
    let summary = ExperimentSummary { name: workload.name.clone(), arms, judgement, runs: pairs };
    report(&summary, arguments, &reports)
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

fn report(
    summary: &ExperimentSummary,
    arguments: &AbArguments,
    reports: &PreopenedReports,
) -> CommandResult<u8> {
    outputs::write_experiment(summary, &arguments.outputs, reports)?;
    Ok(outputs::exit_code(summary.judgement.verdict, arguments.outputs.inconclusive))
}
