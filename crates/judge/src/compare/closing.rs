//! What a comparison comes to, in sentences.

use evidence::{Refusal, SidedFinding, Verdict};

use super::known::Known;

/// The last words on a comparison.
pub(super) struct Closing {
    pub(super) because: String,
    pub(super) supports: Vec<String>,
    pub(super) does_not_support: Vec<String>,
    pub(super) would_settle: Vec<String>,
}

/// Findings that say the same of several pairs, as one.
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

pub(super) fn of(known: &[Known<'_>], (findings, refusals): (&[SidedFinding], &[Refusal])) -> Closing {
    let fired = |rule: &str| findings.iter().any(|f| f.finding.rule == rule);
    let is_aa = findings.iter().any(|f| f.finding.rule == "C8" && f.finding.what.contains("A/A"));
    let refusing = rules_of(refusals);
    Closing {
        because: because(known.len(), &refusing),
        supports: supports(known, refusals, is_aa),
        does_not_support: does_not_support(&refusing, fired("C6") || fired("C5")),
        would_settle: would_settle(findings, refusals),
    }
}

fn rules_of(refusals: &[Refusal]) -> Vec<&str> {
    let mut rules: Vec<&str> = refusals.iter().map(|refusal| refusal.rule.as_str()).collect();
    rules.sort_unstable();
    rules.dedup();
    rules
}

fn because(sides: usize, refusing: &[&str]) -> String {
    let runs = if sides == 2 { "Two runs".to_owned() } else { format!("{sides} runs") };
    match refusing {
        [] => format!("{runs} side by side: a description, no verdict on their differences."),
        rules => format!(
            "{runs} side by side: a description; differences of latency are refused where {} fired.",
            rules.join(", ")
        ),
    }
}

fn supports(known: &[Known<'_>], refusals: &[Refusal], is_aa: bool) -> Vec<String> {
    let mut supports = vec![
        "What each run was offered, answered and failed, and how long its answers took, of itself."
            .to_owned(),
    ];
    let everywhere = refusals.iter().any(|r| r.scope.phase.is_none() && r.scope.scenario.is_none());
    if !everywhere {
        supports.push(
            "A direction to look into where a difference is large against what phases and endpoints that were not \
             changed show."
                .to_owned(),
        );
    }
    if is_aa {
        supports.push("A first look at how far apart two runs of one program are here.".to_owned());
    }
    let kept = known.iter().filter(|k| k.judgement.verdict == Verdict::Pass).count();
    if kept > 0 {
        supports.push(format!("The objectives that {kept} of {} runs kept, each by itself.", known.len()));
    }
    supports
}

fn does_not_support(refusing: &[&str], unknown: bool) -> Vec<String> {
    let mut not = vec![
        "That one is faster, slower or as fast as another: a start of a program is one sample, however many requests it \
         answers."
            .to_owned(),
        "How any of them does at loads, durations or on machines that were not tried.".to_owned(),
        "A cause: what moved together need not have moved each other.".to_owned(),
    ];
    if !refusing.is_empty() {
        let rules = refusing.join(", ");
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

fn would_settle(findings: &[SidedFinding], refusals: &[Refusal]) -> Vec<String> {
    let mut settle: Vec<String> = Vec::new();
    for refusal in refusals {
        let found = findings.iter().find(|f| f.finding.rule == refusal.rule);
        let step = found.map(|f| format!("First, for {}: {}", f.finding.rule, f.finding.next));
        settle.extend(step.filter(|step| !settle.contains(step)));
    }
    settle.push(
        "At least 6 pairs of runs in random order (AB or BA by the toss of a coin), the target started afresh and its \
         data reset before each, both runs of a pair with the same seed."
            .to_owned(),
    );
    settle.push(
        "Besides, 8 pairs of one program against itself, to know this host's run-to-run spread.".to_owned(),
    );
    settle
}
