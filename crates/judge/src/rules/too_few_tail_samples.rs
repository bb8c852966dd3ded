//! S4: too few arrivals, or too clustered ones, to decide a share.

use evidence::{ClaimEffect, Finding, RuleId, Severity, Verdict, Widening, WideningCause};

use stats::Proportion;

use crate::facts::{Facts, MeasuredObjective};
use crate::measure::ShareMeasurement;
use crate::rule::{AffectedClaims, Check, RAISE_VU_LIMIT, Rule, with_figures};
use crate::shares::{BeyondCounts, ShareAnswer, ShareDecision, ShareQuestion};
use figures::PhaseWindow;
use figures::number::{self, brief};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::S4,
    title: "too-few-tail-samples",
    severity: Severity::Inconclusive,
    tests: "Objectives on quantiles, error rates and checks: the share that the objective allows is \
            between the one-sided 95 % limits of the share that misses the bound. The limits are computed \
            with the effective sample size, which follows from how much the share varies between batches: \
            of a sixth of a run below a minute, then 10 s, and a twentieth of a run longer than 200 s. With none beyond \
            the bound, or fewer than 6 batches, the arrivals of 0.1 s (3 at least) count as one in an objective on a \
            quantile, ten in others; no upper limit is below the one that none beyond the bound would have. Where what misses the bound comes and goes over more than a fifteenth of the run, the \
            finding says that the run is too short for changes so slow.",
    affects: "that objective",
    why: "The sample is too small: the next run may be on the other side of what is allowed.",
    next: "Run longer or offer a higher rate. A bound farther from the measured share is decided sooner.",
    affected: AffectedClaims::Named,
    check: Check::Run(check),
};

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    if facts.is_looked_at {
        // The rest of the run is more of what is missing.
        return Vec::new();
    }
    let mut open: Vec<(f64, Finding)> =
        facts.objectives.iter().filter_map(|measured| finding(facts, measured)).collect();
    // What decides the one that needs most decides the others too.
    open.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    open.into_iter().map(|(_, finding)| finding).collect()
}

/// Findings without those of this rule on objectives that another finding invalidates: a longer run does not change that.
pub(crate) fn without_superseded(mut findings: Vec<Finding>) -> Vec<Finding> {
    let is_invalidating = |effect: &ClaimEffect| effect.effect.on(Verdict::Pass) == Verdict::Invalid;
    let invalidated: Vec<String> = findings
        .iter()
        .flat_map(|finding| finding.affects.iter().filter(|effect| is_invalidating(effect)))
        .map(|effect| effect.claim.clone())
        .collect();
    findings.retain(|finding| {
        finding.rule != RuleId::S4
            || !finding.affects.iter().all(|effect| invalidated.contains(&effect.claim))
    });
    findings
}

/// With how much longer than it was the run would have to be; 0 where that is not known.
fn finding(facts: &Facts<'_>, measured: &MeasuredObjective<'_>) -> Option<(f64, Finding)> {
    let share = measured.observed.share.as_ref()?;
    let decision = share.decision;
    if decision.answer != ShareAnswer::UndecidedBySample {
        return None;
    }
    let slow = share.question.slow_changes_s();
    let enough = Enough::of(facts, measured, &share.question);
    let mut what = format!(
        "{} ({} confidence), and {} is allowed. {}{}",
        missed(measured, share),
        brief::percent(share.question.confidence),
        brief::percent(share.question.allowed),
        why_so_few(measured, share),
        enough.in_words(measured, &share.question)
    );
    if let Some(slow) = slow {
        what.push_str(&format!(
            " What misses it comes and goes over {}, at least: the run is too short for changes so slow.",
            brief::length(slow)
        ));
    }
    let figures = [
        ("effective sample", decision.effective_sample, "1"),
        ("design effect", decision.design_effect, "1"),
        ("threshold", share.question.allowed * 100.0, "%"),
    ];
    let slow = slow.map(|slow| ("relaxation time", slow, "s"));
    let figures: Vec<_> = figures.into_iter().chain(slow).collect();
    let cap = share.widened_by.iter().any(|widening| widening.cause == WideningCause::DroppedCap);
    let next = match (enough, share.question.counts.most) {
        _ if cap => format!("{RAISE_VU_LIMIT}, and run again."),
        (Enough::Nothing, _) => QUIETER.to_owned(),
        _ if is_all_perturbed(share) => QUIETER.to_owned(),
        (Enough::Length { needed_s, .. }, _) => {
            format!("Run for {} or longer at this rate, or offer a higher rate.", length(needed_s))
        }
        (_, 0) => "Run longer, or offer a higher rate.".to_owned(),
        _ => RULE.next.to_owned(),
    };
    let finding = RULE.finding(Severity::Inconclusive, measured.scope(), what);
    Some((enough.times_longer(), with_figures(Finding { next, ..finding }, &figures)))
}

/// What to do where the generator's stalls are what is unknown.
const QUIETER: &str = "Run it again on a machine without other load.";

/// Whether all that missed the bound were under way while the generator stalled.
fn is_all_perturbed(share: &ShareMeasurement) -> bool {
    let missed = share.question.counts.observed.part;
    let of_stalls = |widening: &&Widening| widening.cause == WideningCause::Perturbed;
    missed > 0 && share.widened_by.iter().find(of_stalls).is_some_and(|of| of.arrivals >= missed)
}

/// How many were seen to miss the bound, and how large the share may be.
fn missed(measured: &MeasuredObjective<'_>, share: &ShareMeasurement) -> String {
    let Proportion { part, whole } = share.question.counts.observed;
    let [lower, upper] = [share.decision.limits.lower, share.decision.limits.upper].map(brief::percent);
    let seen =
        format!("{} of {} {}s missed the bound", brief::count(part), brief::count(whole), measured.thing());
    match part {
        0 => format!("{seen}; the true share may still be up to {upper}"),
        _ => format!("{seen}; the true share may be from {lower} to {upper}"),
    }
}

/// How many independent arrivals they amount to, and why not all: `The 480 count as 56 independent ones: … `.
fn why_so_few(measured: &MeasuredObjective<'_>, share: &ShareMeasurement) -> String {
    let ShareDecision { design_effect, effective_sample, .. } = share.decision;
    let question = &share.question;
    if design_effect < 1.1 || question.counts.arrivals == 0 {
        return String::new();
    }
    let thing = measured.thing();
    let why = if (design_effect - question.assumed_effect).abs() < 0.01 * design_effect {
        format!(
            "{} {thing}s count as one until a run shows how much those that miss the bound cluster",
            brief::sample_size(design_effect)
        )
    } else {
        format!("{thing}s that are close in time resemble each other")
    };
    let all = brief::count(question.counts.arrivals);
    let independent = match effective_sample {
        ..1.5 => "one".to_owned(),
        some => format!("{} independent ones", brief::sample_size(some)),
    };
    format!("The {all} count as {independent}: {why}. ")
}

/// Whether what is unknown could put the share on the other side of what is allowed, however many are observed.
fn is_open_without_more(counts: BeyondCounts, allowed: f64) -> bool {
    let BeyondCounts { arrivals, least, most, observed, .. } = counts;
    let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    let is_allowed = share(observed.part, observed.whole) <= allowed;
    let other_side = if is_allowed { most } else { least };
    (share(other_side, arrivals) <= allowed) != is_allowed
}

/// The seconds of the phases that it counts.
fn measured_s(facts: &Facts<'_>, measured: &MeasuredObjective<'_>) -> f64 {
    let is_counted = |phase: &&PhaseWindow| {
        let mut keys = facts.figures.rows.iter().map(|row| &row.key);
        keys.any(|key| *key.phase == *phase.name && key.matches(&measured.objective.filter))
    };
    facts.figures.phases.iter().filter(is_counted).map(PhaseWindow::length_s).sum()
}

/// A length for a plan: not shorter, in whole seconds, from ten minutes on in whole minutes, and from ten hours in hours.
fn length(seconds: f64) -> String {
    const STEPS_S: [(f64, f64); 3] = [(36_000.0, 3_600.0), (600.0, 60.0), (1.0, 1.0)];
    match STEPS_S.into_iter().find(|(from, _)| seconds >= *from) {
        Some((_, step)) => number::duration(((seconds / step).ceil() * step) as u64),
        None => number::length(seconds),
    }
}

/// A run that has just the sample that decides it decides it in half of the cases, since the observed share varies from run
/// to run. This many times the sample decides it in 80 %: ((z₀.₉₅ + z₀.₈) ÷ z₀.₉₅)², J. Cohen, "Statistical Power Analysis
/// for the Behavioral Sciences", 1988, section 6.4.
const SAMPLE_FOR_POWER: f64 = 2.3;

/// What would be enough to decide it.
#[derive(Clone, Copy)]
enum Enough {
    /// A run of so many seconds at the same rate, with so many arrivals.
    Length { needed_s: f64, had_s: f64, arrivals: u64 },
    /// So many arrivals; the run has no rate.
    Arrivals(u64),
    /// No run, as long as it is not known of as many as now on which side they are.
    Nothing,
    /// More than a run can have.
    TooMany,
}

impl Enough {
    fn of(facts: &Facts<'_>, measured: &MeasuredObjective<'_>, question: &ShareQuestion) -> Enough {
        let times = if question.counts.most == 0 { 1.0 } else { SAMPLE_FOR_POWER };
        let needed = question.arrivals_needed().map(|needed| (needed as f64 * times).ceil() as u64);
        let (had, had_s) = (question.counts.arrivals, measured_s(facts, measured));
        match needed {
            Some(needed) if had_s > 0.0 && had > 0 => {
                // What is hardly enough is left undecided by a few that miss the bound, as this run was.
                let arrivals = needed.max(2 * had);
                Enough::Length { needed_s: had_s * arrivals as f64 / had as f64, had_s, arrivals }
            }
            Some(arrivals) => Enough::Arrivals(arrivals),
            None if is_open_without_more(question.counts, question.allowed) => Enough::Nothing,
            None => Enough::TooMany,
        }
    }

    /// How many times as long as the run was; 0 where no length is known.
    fn times_longer(self) -> f64 {
        match self {
            Enough::Length { needed_s, had_s, .. } => needed_s / had_s,
            Enough::Arrivals(_) | Enough::Nothing | Enough::TooMany => 0.0,
        }
    }

    fn in_words(self, measured: &MeasuredObjective<'_>, question: &ShareQuestion) -> String {
        let thing = measured.thing();
        let (condition, decides) = match question.counts.most {
            0 => ("If again none misses it", "decide it"),
            _ => ("If the share stays as it is", "decide it in about four of five runs"),
        };
        match self {
            Enough::Length { needed_s, had_s, arrivals } => format!(
                "{condition}, {} at this rate instead of {} ({} {thing}s) would {decides}.",
                length(needed_s),
                length(had_s),
                brief::count(arrivals)
            ),
            Enough::Arrivals(arrivals) => {
                format!("{condition}, {} {thing}s would {decides}.", brief::count(arrivals))
            }
            Enough::Nothing => format!(
                "A longer run would not decide it: for too many {thing}s it is not known whether they miss the bound."
            ),
            Enough::TooMany => "The observed share is too close to the allowed one.".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use evidence::Provenance;

    use super::*;
    use crate::testing::{Load, TestRun};

    #[test]
    fn what_would_decide_it_is_a_length_and_a_bound_is_moved_only_where_some_miss_it() {
        let finding = |miss: u64, bound: &str| {
            let test_run = TestRun::new()
                .offer("steady", "list", Load { failed: miss, ..Load::ok(2) })
                .with_objective("few", bound);
            let facts = Facts::read(&test_run.run, &test_run.workload, Provenance::Intact).unwrap();
            let [finding] = &check(&facts)[..] else { panic!("one finding") };
            finding.clone()
        };
        let none = finding(0, "error_rate(list) < 0.1%");
        assert!(none.what.contains("If again none misses it, "), "{}", none.what);
        assert!(none.what.contains(" at this rate instead of 1 min ("), "{}", none.what);
        assert_eq!(none.next, "Run for 4 h 10 min or longer at this rate, or offer a higher rate.");
        let some = finding(1, "error_rate(list) < 34%");
        assert_eq!(some.next, "Run for 3 h 50 min or longer at this rate, or offer a higher rate.");
        assert!(some.what.contains(" in about four of five runs."), "{}", some.what);
    }

    #[test]
    fn a_longer_run_does_not_decide_what_is_unknown_on_either_side() {
        let counts = |least, most, part| BeyondCounts {
            arrivals: 1_800,
            least,
            most,
            observed: Proportion { part, whole: 1_650 },
            at_bound: 0,
        };
        let is_open = |least, most, part| is_open_without_more(counts(least, most, part), 0.05);
        assert!(is_open(10, 400, 50), "3 % missed it, and 22 % may have");
        assert!(is_open(20, 800, 250), "15 % missed it, of whom all but 1 % may have been disturbed");
        assert!(!is_open(40, 80, 50), "whatever is unknown, less than 5 % missed it");
        assert!(!is_open(240, 400, 250), "whatever is unknown, more than 5 % did");
    }

    #[test]
    fn what_is_hardly_enough_is_planned_twice_as_long() {
        let test_run = TestRun::new()
            .offer("steady", "list", Load::ok(9))
            .with_objective("few", "error_rate(list) < 5%");
        let facts = Facts::read(&test_run.run, &test_run.workload, Provenance::Intact).unwrap();
        let [finding] = &check(&facts)[..] else { panic!("one finding") };
        assert!(
            finding.what.contains(", 2 min at this rate instead of 1 min (1,080 arrivals)"),
            "{}",
            finding.what
        );
        assert_eq!(finding.next, "Run for 2 min or longer at this rate, or offer a higher rate.");
    }

    #[test]
    fn what_only_stalls_made_slow_needs_another_machine_and_not_a_longer_run() {
        let mut test_run = TestRun::new()
            .offer("steady", "list", Load::ok(10))
            .with_objective("fast", "p95(list, phase = steady) < 50ms");
        let slow = Load { us: 100_000, ..Load::ok(1) };
        for second in 12..40 {
            test_run.offer_once(second, "list", slow);
            test_run.perturb(second, "list", slow);
        }
        let facts = Facts::read(&test_run.run, &test_run.workload, Provenance::Intact).unwrap();
        let [finding] = &check(&facts)[..] else { panic!("one finding") };
        assert_eq!(finding.next, QUIETER);
    }

    #[test]
    fn lengths_are_not_rounded_down() {
        assert_eq!(
            [0.4, 8.4, 71.2, 601.0, 36_001.0].map(length),
            ["400 ms", "9 s", "1 min 12 s", "11 min", "11 h"]
        );
    }
}
