//! The conclusion of a comparison, in sentences.

use evidence::{Provenance, Refusal, RuleId, SidedFinding, Verdict};

use crate::pair::JudgedRun;
use crate::rules::{by_id, evidence_changed, not_one_change};

/// The conclusion of a comparison.
pub(super) struct Conclusion {
    pub(super) verdict: Verdict,
    pub(super) because: String,
    pub(super) supports: Vec<String>,
    pub(super) does_not_support: Vec<String>,
    /// Runs that would decide about a difference.
    pub(super) next_runs: Vec<String>,
}

/// Equal findings about several pairs, as one.
pub(super) fn joined(findings: Vec<SidedFinding>) -> Vec<SidedFinding> {
    let mut joined: Vec<SidedFinding> = Vec::new();
    for found in findings {
        match joined.iter_mut().find(|known| known.finding == found.finding) {
            Some(known) => known.sides.extend(found.sides),
            None => joined.push(found),
        }
    }
    for found in &mut joined {
        found.sides.sort_unstable();
        found.sides.dedup();
    }
    joined
}

pub(super) fn of(runs: &[JudgedRun<'_>], findings: &[SidedFinding], refusals: &[Refusal]) -> Conclusion {
    let fired = |rule: RuleId| findings.iter().any(|f| f.finding.rule == rule);
    let is_aa = super::pairs(runs).any(|pair| not_one_change::is_aa(&pair));
    let are_all_aa = super::pairs(runs).all(|pair| not_one_change::is_aa(&pair));
    let refusing = refusing_rules(refusals);
    let changed = changed(runs);
    Conclusion {
        verdict: if changed.is_empty() { Verdict::Measured } else { Verdict::Invalid },
        because: because_of(&changed).unwrap_or_else(|| because(runs, are_all_aa, &refusing, refusals)),
        supports: supports(runs, refusals, is_aa),
        does_not_support: does_not_support(&refusing, fired(RuleId::C6) || fired(RuleId::C5)),
        next_runs: next_runs(findings, refusals),
    }
}

/// The names of the runs whose evidence was changed after it was sealed.
fn changed<'a>(runs: &[JudgedRun<'a>]) -> Vec<&'a str> {
    runs.iter().filter(|run| run.provenance == Provenance::Changed).map(|run| run.name).collect()
}

/// Why a comparison with changed evidence is invalid; none if nothing was changed.
fn because_of(changed: &[&str]) -> Option<String> {
    let rule = evidence_changed::RULE;
    (!changed.is_empty()).then(|| {
        format!(
            "{} {}: The evidence in {} was changed after it was sealed.",
            rule.id,
            rule.title,
            changed.join(" and ")
        )
    })
}

fn refusing_rules(refusals: &[Refusal]) -> Vec<RuleId> {
    let mut rules: Vec<RuleId> = refusals.iter().map(|refusal| refusal.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    rules
}

/// With what they are called: `L1 offered-load-not-reached, C2 workload-mismatch`.
fn named(rules: &[RuleId]) -> String {
    let name = |rule: &RuleId| format!("{rule} {}", by_id(*rule).title);
    rules.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn listed(rules: &[RuleId]) -> String {
    rules.iter().map(RuleId::to_string).collect::<Vec<_>>().join(", ")
}

/// The endpoints whose latencies are refused; none where those of any are.
fn refused_endpoints(refusals: &[Refusal]) -> Option<Vec<&str>> {
    let mut names: Vec<&str> =
        refusals.iter().map(|refusal| refusal.scope.endpoint.as_deref()).collect::<Option<_>>()?;
    names.sort_unstable();
    names.dedup();
    Some(names)
}

fn because(runs: &[JudgedRun<'_>], is_aa: bool, refusing: &[RuleId], refusals: &[Refusal]) -> String {
    let runs = if runs.len() == 2 { "Two runs".to_owned() } else { format!("{} runs", runs.len()) };
    match refusing {
        [] if is_aa => format!(
            "{runs} of one program, as far as is recorded: what differs between them is how much runs differ here."
        ),
        [] => format!("{runs} side by side: a description, no verdict on their differences."),
        rules => {
            let of = refused_endpoints(refusals).map_or_else(
                || "Their latencies are".to_owned(),
                |names| format!("The latencies of {} are", names.join(", ")),
            );
            format!("{runs} side by side: a description. {of} not compared: {}.", named(rules))
        }
    }
}

fn supports(runs: &[JudgedRun<'_>], refusals: &[Refusal], is_aa: bool) -> Vec<String> {
    let unless = if changed(runs).is_empty() { "" } else { ", unless its evidence was changed" };
    let mut supports = vec![format!(
        "For each run separately{unless}: what it was offered, what succeeded and failed, and how long responses took."
    )];
    let everywhere = refusals.iter().any(|r| r.scope.phase.is_none() && r.scope.scenario.is_none());
    if !everywhere {
        supports.push(
            "A direction to investigate, where a difference is large compared with those of phases and endpoints that \
             were not changed."
                .to_owned(),
        );
    }
    if is_aa {
        supports.push("A first estimate of the difference between two runs of one program here.".to_owned());
    }
    let passed = runs.iter().filter(|run| run.judgement.verdict == Verdict::Pass).count();
    if passed > 0 {
        supports.push(format!("{passed} of {} runs met their own objectives.", runs.len()));
    }
    supports
}

fn does_not_support(refusing: &[RuleId], unknown: bool) -> Vec<String> {
    let mut not = vec![
        "That one is faster, slower or as fast as another: a start of a program is one sample, however many requests it \
         serves."
            .to_owned(),
        "How any of them behaves under loads, for durations or on machines that were not tried.".to_owned(),
        "A cause: values that changed together did not necessarily change each other.".to_owned(),
    ];
    if !refusing.is_empty() {
        let rules = listed(refusing);
        not.insert(
            0,
            format!("Differences of latency where they are refused ({rules}), in either direction."),
        );
    }
    if unknown {
        not.push("That only the target differed: what is marked unknown may have differed too.".to_owned());
    }
    not
}

fn next_runs(findings: &[SidedFinding], refusals: &[Refusal]) -> Vec<String> {
    let mut steps: Vec<String> = Vec::new();
    for refusal in refusals {
        let found = findings.iter().find(|f| f.finding.rule == refusal.rule);
        let step = found.map(|f| format!("First, for {}: {}", f.finding.rule, f.finding.next));
        steps.extend(step.filter(|step| !steps.contains(step)));
    }
    steps.push(
        "At least 6 pairs of runs in random order (AB or BA, by coin toss), with the target restarted and its data reset \
         before each run, and the same seed for both runs of a pair: `plimsoll ab PLAN --a COMMAND --b COMMAND` makes them."
            .to_owned(),
    );
    steps.push(
        "In addition, 8 pairs of one program against itself, to measure this host's run-to-run spread."
            .to_owned(),
    );
    steps
}
