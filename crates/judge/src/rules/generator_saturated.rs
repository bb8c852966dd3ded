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
    severity: Severity::Caution,
    tests: "For each phase: a loop that used more than 80 % of a core over any 10 s (or over the whole phase if it \
            is shorter). CPU that was not measured is a caution, too. Beside steal or other processes that took the \
            processor it is part of S9's finding.",
    affects: "nothing by itself: arrivals that the generator delayed have a range, which their objectives are \
              decided by; it refuses differences between runs at an offered rate",
    why: "The generator, not the target, was at its limit: its delays are in the numbers.",
    next: "Give the generator its own cores or a second machine, or lower the load.",
    affected: AffectedClaims::Load,
    check: Check::Run(check),
};

/// The most a loop may use of a core.
pub(crate) const LOOP_CPU: f64 = 0.80;
/// The figure of a busy loop.
pub(crate) const LOOP_CPU_FIGURE: &str = "loop CPU";

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let loaded: Vec<&PhaseWindow> =
        facts.tables.phases.iter().filter(|phase| is_loaded(facts, phase)).collect();
    let mut findings: Vec<Finding> = loaded.iter().flat_map(|phase| busy_loops(facts, phase)).collect();
    if facts.generator.loops.is_empty() && !loaded.is_empty() {
        let what = "The generator's CPU was not measured: whether it was at its limit is unknown.".to_owned();
        findings.push(RULE.finding(Severity::Caution, Scope::default(), what));
    }
    findings
}

fn is_loaded(facts: &Facts<'_>, phase: &PhaseWindow) -> bool {
    facts.tables.scenario_phases.iter().any(|s| *s.key.phase == *phase.name && s.scheduled + s.started > 0)
}

fn scope(phase: &PhaseWindow) -> Scope {
    Scope { phase: Some(phase.name.clone()), ..Scope::default() }
}

fn busy_loops(facts: &Facts<'_>, phase: &PhaseWindow) -> Vec<Finding> {
    let busy = facts.generator.loops.iter().filter(|l| l.phase == phase.name && l.cores > LOOP_CPU);
    let finding = |l: &LoopUse| {
        let what = format!("The generator, not the target, was at its limit: {}.", busiest_use(l));
        let figures = [(LOOP_CPU_FIGURE, l.cores * 100.0, "%"), ("threshold", LOOP_CPU * 100.0, "%")];
        with_figures(RULE.finding(Severity::Caution, scope(phase), what), &figures)
    };
    busy.map(finding).collect()
}

/// `loop 1 used 97 % of a core over 10 s of …`.
pub(crate) fn busiest_use(l: &LoopUse) -> String {
    format!("{} used {} of a core over {WINDOW_S} s of `{}`", l.instance, numbers::percent(l.cores), l.phase)
}

#[cfg(test)]
mod tests {
    use crate::testing::{Load, TestRun};

    #[test]
    fn a_busy_loop_is_a_caution() {
        let mut test_run = TestRun::new().offer("steady", "list", Load::of(100));
        test_run.loop_cpu(1, [(10..20, 0.2), (20..32, 0.97), (32..70, 0.2)]);
        test_run.stall(20..70, 3_000);
        insta::assert_snapshot!(test_run.findings(super::check), @r"
        caution [steady] The generator, not the target, was at its limit: loop 1 used 97 % of a core over 10 s of `steady`.
          loop CPU Some(97.0) %, threshold Some(80.0) %
        ");
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
