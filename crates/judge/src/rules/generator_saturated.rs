//! L3: the generator, not the target, was at its limit.

use evidence::{Finding, RuleId, Scope, Severity};

use crate::facts::WINDOW_S;
use crate::facts::{Facts, LoopUse};
use crate::numbers;
use crate::rule::{AffectedClaims, Check, Rule, with_figures};
use crate::tables::PhaseWindow;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::L3,
    title: "generator-saturated",
    severity: Severity::Invalid,
    tests: "For each phase: a loop that used more than 80 % of a core over any 10 s (or over the whole phase \
            if it is shorter), or one that was stalled for more than 1 % of the phase, in turns of 2 ms or longer. \
            Each loop is judged by itself, and the worst decides. CPU that was not measured is a caution.",
    affects: "every objective on requests at an offered rate in that phase; with a closed model it is a \
              caution",
    why: "The generator, not the target, was at its limit: its delays are in the numbers.",
    next: "Give the generator its own cores or a second machine, or lower the load.",
    affected: AffectedClaims::OfferedLoad,
    check: Check::Run(check),
};

/// The most a loop may use of a core.
pub(crate) const LOOP_CPU: f64 = 0.80;
/// The largest share of a phase in which a loop may be stalled.
pub(crate) const STALLED: f64 = 0.01;

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let loaded: Vec<&PhaseWindow> =
        facts.tables.phases.iter().filter(|phase| is_loaded(facts, phase)).collect();
    let mut findings: Vec<Finding> = loaded.iter().flat_map(|phase| busy_loops(facts, phase)).collect();
    findings.extend(loaded.iter().filter_map(|phase| stalls(facts, phase)));
    if facts.generator.loops.is_empty() && !loaded.is_empty() {
        let what = "The generator's CPU was not measured: whether it was at its limit is unknown.".to_owned();
        findings.push(RULE.finding(Severity::Caution, Scope::default(), what));
    }
    findings
}

fn is_loaded(facts: &Facts<'_>, phase: &PhaseWindow) -> bool {
    facts.tables.scenario_phases.iter().any(|s| *s.key.phase == *phase.name && s.scheduled + s.started > 0)
}

/// Invalid where any scenario of the phase is an open model, else a caution.
fn severity(facts: &Facts<'_>, phase: &PhaseWindow) -> Severity {
    let mut here = facts.tables.scenario_phases.iter().filter(|s| *s.key.phase == *phase.name);
    if here.any(|s| facts.is_open(&s.key.scenario)) { Severity::Invalid } else { Severity::Caution }
}

fn scope(phase: &PhaseWindow) -> Scope {
    Scope { phase: Some(phase.name.clone()), ..Scope::default() }
}

fn busy_loops(facts: &Facts<'_>, phase: &PhaseWindow) -> Vec<Finding> {
    let busy = facts.generator.loops.iter().filter(|l| l.phase == phase.name && l.cores > LOOP_CPU);
    let finding = |l: &LoopUse| {
        let what = format!(
            "The generator, not the target, was at its limit: {} used {} of a core over {WINDOW_S} s of `{}`.",
            l.instance,
            numbers::percent(l.cores),
            phase.name
        );
        let figures = [("loop CPU", l.cores * 100.0, "%"), ("threshold", LOOP_CPU * 100.0, "%")];
        with_figures(RULE.finding(severity(facts, phase), scope(phase), what), &figures)
    };
    busy.map(finding).collect()
}

/// The loop that was stalled for the largest share of the phase.
fn stalls(facts: &Facts<'_>, phase: &PhaseWindow) -> Option<Finding> {
    let here = facts.generator.stalls.iter().filter(|stalls| stalls.phase == phase.name);
    let worst = here.max_by(|a, b| a.share.total_cmp(&b.share)).filter(|worst| worst.share > STALLED)?;
    let who = worst.instance.map_or_else(|| "its loops".to_owned(), |instance| instance.to_string());
    let what = format!(
        "The generator stalled: {who} was stalled for {} of `{}`, for {} at the longest.",
        numbers::percent(worst.share),
        phase.name,
        numbers::ms(worst.longest_ms)
    );
    let figures = [
        ("time stalled", worst.share * 100.0, "%"),
        ("longest stall", worst.longest_ms, "ms"),
        ("threshold", STALLED * 100.0, "%"),
    ];
    Some(with_figures(RULE.finding(severity(facts, phase), scope(phase), what), &figures))
}

#[cfg(test)]
mod tests {
    use evidence::{Instance, Key, Metric};

    use crate::testing::{Load, TestRun};

    #[test]
    fn a_busy_loop_and_a_stalled_one_fire() {
        let mut test_run = TestRun::new().offer("steady", "list", Load::of(100));
        test_run.loop_cpu(1, [(10..20, 0.2), (20..32, 0.97), (32..70, 0.2)]);
        test_run.stall(20..70, 3_000);
        insta::assert_snapshot!(test_run.findings(super::check), @r#"
        invalid [steady] The generator, not the target, was at its limit: loop 1 used 97 % of a core over 10 s of `steady`.
          loop CPU Some(97.0) %, threshold Some(80.0) %
        invalid [steady] The generator stalled: loop 0 was stalled for 25 % of `steady`, for 3 ms at the longest.
          time stalled Some(25.004166666666666) %, longest stall Some(3.001) ms, threshold Some(1.0) %
        "#);
    }

    /// Of 10,010 turns a second, 1 in 1,000 took long: half of the second loop's time.
    #[test]
    fn many_short_turns_of_one_loop_do_not_hide_the_stalls_of_another() {
        let mut test_run = TestRun::new().offer("steady", "list", Load::of(100));
        let turns = |loop_index| Key::of(Metric::LoopStall).instance(Instance::of_loop(loop_index));
        for second in 20..70 {
            test_run.run.record(&turns(0), second, 50, 10_000);
            test_run.run.record(&turns(1), second, 50_000, 10);
        }
        insta::assert_snapshot!(test_run.findings(super::check), @r#"
        invalid [steady] The generator stalled: loop 1 was stalled for 41.7 % of `steady`, for 50 ms at the longest.
          time stalled Some(41.66625) %, longest stall Some(50.015) ms, threshold Some(1.0) %
        "#);
    }

    #[test]
    fn a_stall_in_a_closed_model_is_a_caution() {
        let mut test_run = TestRun::new().offer("steady", "list", Load::of(100)).closed(10);
        test_run.stall(20..70, 3_000);
        insta::assert_snapshot!(test_run.findings(super::check), @r#"
        caution [steady] The generator stalled: loop 0 was stalled for 25 % of `steady`, for 3 ms at the longest.
          time stalled Some(25.004166666666666) %, longest stall Some(3.001) ms, threshold Some(1.0) %
        "#);
    }

    #[test]
    fn cpu_that_was_not_measured_is_a_caution() {
        let test_run = TestRun::unobserved().offer("steady", "list", Load::of(100));
        insta::assert_snapshot!(test_run.findings(super::check), @r#"
        caution [] The generator's CPU was not measured: whether it was at its limit is unknown.
          
        "#);
    }

    #[test]
    fn an_idle_generator_and_a_short_peak_give_no_finding() {
        let mut test_run = TestRun::new().offer("steady", "list", Load::of(100));
        test_run.loop_cpu(1, [(10..30, 0.2), (30..33, 1.0), (33..70, 0.2)]);
        insta::assert_snapshot!(test_run.findings(super::check), @"nothing");
    }
}
