//! One cause, one finding: what neighbours did to the generator is part of the finding that they took the processor.

use evidence::{ClaimEffect, Finding, RuleId};

use super::{of_machine, signs, worst_stall};
use crate::facts::{Facts, LoopUse};
use crate::rules::generator_saturated::{LOOP_CPU, busiest_use, holds};
use figures::number::brief;

/// The findings, with late drops and busy loops of phases in which neighbours took the processor as parts of the finding
/// that says so. It affects every claim as the gravest of its parts does.
pub(crate) fn join(facts: &Facts<'_>, findings: Vec<Finding>) -> Vec<Finding> {
    if signs(facts).is_empty() {
        return findings;
    }
    let (parts, mut others): (Vec<Finding>, Vec<Finding>) =
        findings.into_iter().partition(|finding| is_part(facts, finding));
    // The first of its rule: it is checked first.
    if let Some(cause) = others.iter_mut().find(|finding| finding.rule == RuleId::S9) {
        cause.what = what(facts, cause, &parts);
        cause.affects = affects(facts, cause, &parts);
        cause.severity = parts.iter().map(|part| part.severity).fold(cause.severity, Ord::min);
        cause.figures.extend(parts.into_iter().flat_map(|part| part.figures));
    }
    others
}

/// The phases in which a loop was busy beside neighbours that the machine shows.
pub(crate) fn busy_phases<'f>(facts: &'f Facts<'_>) -> Vec<&'f str> {
    let phases = facts.figures.phases.iter().map(|phase| phase.name.as_str());
    let is_busy = |phase: &str| {
        let mut loops = facts.generator.loops.iter();
        loops.any(|l| l.phase == phase && l.cores > LOOP_CPU) && machine_shows_it(facts, phase)
    };
    phases.filter(|phase| is_busy(phase)).collect()
}

fn is_part(facts: &Facts<'_>, finding: &Finding) -> bool {
    let Some(phase) = finding.scope.phase.as_deref() else { return false };
    match finding.rule {
        RuleId::L2 => worst_stall(facts, |name| name == phase).is_some() || machine_shows_it(facts, phase),
        RuleId::L3 => machine_shows_it(facts, phase) && holds(facts, phase).next().is_none(),
        _ => false,
    }
}

fn machine_shows_it(facts: &Facts<'_>, phase: &str) -> bool {
    facts.phase(phase).is_some_and(|phase| of_machine(facts, &phase.seconds()).next().is_some())
}

/// What the machine shows and the busiest loop, then each late drop.
fn what(facts: &Facts<'_>, cause: &Finding, parts: &[Finding]) -> String {
    let (busy, drops): (Vec<&Finding>, Vec<&Finding>) =
        parts.iter().partition(|part| part.rule == RuleId::L3);
    let mut what = cause.what.trim_end_matches('.').to_owned();
    let is_in_one = |l: &&LoopUse| busy.iter().any(|part| part.scope.phase.as_ref() == Some(&l.phase));
    let loops = facts.generator.loops.iter().filter(is_in_one);
    if let Some(busiest) = loops.max_by(|a, b| a.cores.total_cmp(&b.cores)) {
        what += &format!("; {}", busiest_use(busiest));
        let more = busy.len() - 1;
        if more > 0 {
            what += &format!(", and {more} more above {}", brief::percent(LOOP_CPU));
        }
    }
    what += ".";
    drops.iter().for_each(|drop| what += &format!(" {}", drop.what));
    what
}

/// The gravest effect of the cause and its parts on each claim, in the order of the objectives.
fn affects(facts: &Facts<'_>, cause: &Finding, parts: &[Finding]) -> Vec<ClaimEffect> {
    let gravest = |claim: &str| {
        let effects = std::iter::once(cause).chain(parts).filter_map(|finding| finding.effect_on(claim));
        effects.min_by_key(|effect| effect.severity())
    };
    let on = |claim: &str| Some(ClaimEffect { claim: claim.to_owned(), effect: gravest(claim)? });
    facts.objectives.iter().filter_map(|measured| on(measured.name())).collect()
}

#[cfg(test)]
mod tests {
    use evidence::{SeriesKey, Verdict};

    use crate::testing::{Load, TestRun};

    /// 3 of 1,003 arrivals a second are dropped, and processes of others use a core while a process waits.
    fn beside_others() -> TestRun {
        let load = Load { dropped_generator_late: 3, ..Load::ok(1_000) };
        let mut test_run = TestRun::new()
            .offer("steady", "list", load)
            .with_objective("fast", "p95(list, phase = steady) < 50ms")
            .with_objective("slow", "p95(list, phase = steady) < 5ms")
            .with_objective("errors", "error_rate(list, phase = steady) < 1%")
            .with_objective("warm", "p95(list, phase = warm-up) < 50ms");
        for (name, target, value) in
            [("host_cpu", "host", 1.9), ("host_pressure_cpu", "host", 0.3), ("cpu", "web", 0.6)]
        {
            test_run.observe(&SeriesKey::new(name, target, "1"), 0..70, value);
        }
        test_run
    }

    /// The findings that lateness, a busy loop and neighbours have, each rule with its severity and text.
    fn found(test_run: &TestRun) -> String {
        let findings = test_run.judge().findings;
        let of_cause = findings.iter().filter(|f| ["L2", "L3", "S9"].contains(&&*f.rule.to_string()));
        of_cause.map(|f| format!("{} {} {}\n", f.rule, f.severity, f.what)).collect()
    }

    #[test]
    fn late_drops_beside_neighbours_are_one_finding() {
        insta::assert_snapshot!(found(&beside_others()), @"S9 inconclusive Other work took the processor: processes other than the generator and the observed targets used 1.1 cores in 10 s in which a process waited for a processor 30 % of the time. 180 of 60,180 `play` arrivals in `steady` (0.299 %) never started: the generator was late. How near the target was to its limits was not observed.");
    }

    #[test]
    fn it_affects_each_claim_as_its_parts_would() {
        let judgement = beside_others().judge();
        let verdicts: Vec<Verdict> = judgement.claims.iter().map(|claim| claim.verdict).collect();
        use Verdict::{Fail, Inconclusive};
        assert_eq!(verdicts, [Inconclusive, Fail, Inconclusive, Inconclusive]);
        let affected = &judgement.findings.iter().find(|f| f.rule.to_string() == "S9").unwrap().affects;
        let effects: Vec<String> = affected
            .iter()
            .map(|affected| format!("{} {}", affected.claim, affected.effect.severity()))
            .collect();
        assert_eq!(effects, ["fast inconclusive", "slow inconclusive", "errors inconclusive"]);
    }

    #[test]
    fn a_busy_loop_beside_neighbours_is_part_of_the_finding() {
        let mut test_run = TestRun::unobserved().offer("steady", "list", Load::ok(1_000));
        test_run.loop_cpu(0, [(0..70, 0.9)]);
        test_run.loop_cpu(1, [(0..70, 0.97)]);
        test_run.observe(&SeriesKey::new("host_steal", "host", "1"), 0..70, 0.06);
        insta::assert_snapshot!(found(&test_run), @"S9 caution Other work took the processor: other machines on the same hardware took 6 % of its processor time on average, and 6 % in the worst 10 s; loop 1 used 97 % of a core over 10 s of `steady`, and 1 more above 80 %.");
    }

    #[test]
    fn a_busy_loop_and_late_drops_without_neighbours_stay_what_they_are() {
        let load = Load { dropped_generator_late: 3, ..Load::ok(1_000) };
        let mut test_run = TestRun::unobserved().offer("steady", "list", load);
        test_run.loop_cpu(0, [(0..70, 0.97)]);
        test_run.stall(20..70, 3_000);
        insta::assert_snapshot!(found(&test_run), @r"
        L2 inconclusive 180 of 60,180 `play` arrivals in `steady` (0.299 %) never started: the generator was late. How near the target was to its limits was not observed.
        L3 caution The generator, not the target, was at its limit: loop 0 used 97 % of a core over 10 s of `steady`.
        ");
    }

    #[test]
    fn neighbours_of_another_phase_explain_no_late_drops() {
        let load = Load { dropped_generator_late: 3, ..Load::ok(1_000) };
        let mut test_run =
            TestRun::new().offer("warm-up", "list", Load::ok(1_000)).offer("steady", "list", load);
        let steal = SeriesKey::new("host_steal", "host", "1");
        test_run.observe(&steal, 0..10, 0.3);
        test_run.observe(&steal, 10..70, 0.0);
        let found = found(&test_run);
        assert!(found.contains("L2 inconclusive") && found.contains("S9 caution Other work"), "{found}");
    }
}
