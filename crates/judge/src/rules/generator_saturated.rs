//! L3: the generator, not the target, was at its limit.

use evidence::{Finding, RuleId, Scope, Severity};
use figures::PhaseWindow;

use crate::facts::WINDOW_S;
use crate::facts::{Facts, LoopStalls, LoopUse, ScriptUse, UsedPart};
use crate::rule::{AffectedClaims, Check, Rule, with_figures};
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::L3,
    title: "generator-saturated",
    severity: Severity::Caution,
    tests: "For each phase: a loop used more than 80 % of a core over any 10 s (over the whole phase if it \
            is shorter). Or: the code of a script held a loop up for more than 1 % of the phase, 2 ms or \
            longer at a time, without what the loop waited for a processor meanwhile. \
            CPU that was not measured is a caution, too. Where steal or other processes took the processor, \
            and no script held the loop up, this is part of S9's finding.",
    affects: "nothing directly: objectives are decided with the range of times that the delayed arrivals \
              could have had; differences between runs at an offered rate are refused",
    why: "The generator, not the target, was at its limit: its delays are in the numbers.",
    next: "Give the generator its own cores or a second machine, or lower the load. If a script uses most of \
           the CPU, make its iteration cheaper: build data once in the init code, parse less JSON, use fewer \
           groups and tags.",
    affected: AffectedClaims::Load,
    check: Check::Run(check),
};

/// The most a loop may use of a core.
pub(crate) const LOOP_CPU: f64 = 0.80;
/// The largest share of a phase in which a loop may be stalled.
pub(crate) const STALLED: f64 = 0.01;
/// From this share on the code of a script is what the loops do.
const MOST: f64 = 0.5;
/// The figure of a busy loop.
pub(crate) const LOOP_CPU_FIGURE: &str = "loop CPU";

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let loaded: Vec<&PhaseWindow> =
        facts.figures.phases.iter().filter(|phase| is_loaded(facts, phase)).collect();
    let mut findings: Vec<Finding> = loaded.iter().flat_map(|phase| busy_loops(facts, phase)).collect();
    if facts.generator.loops.is_empty() && !loaded.is_empty() {
        let what = "The generator's CPU was not measured: whether it was at its limit is unknown.".to_owned();
        findings.push(RULE.finding(Severity::Caution, Scope::default(), what));
    }
    findings
}

fn is_loaded(facts: &Facts<'_>, phase: &PhaseWindow) -> bool {
    facts.figures.scenario_phases.iter().any(|s| *s.key.phase == *phase.name && s.scheduled + s.started > 0)
}

fn scope(phase: &PhaseWindow) -> Scope {
    Scope { phase: Some(phase.name.clone()), ..Scope::default() }
}

fn busy_loops(facts: &Facts<'_>, phase: &PhaseWindow) -> Vec<Finding> {
    let busy = facts.generator.loops.iter().filter(|l| l.phase == phase.name && l.cores > LOOP_CPU);
    let finding = |l: &LoopUse| {
        let script = facts.generator.script.as_ref().filter(|script| script.share >= MOST).map(script_use);
        let held = holds(facts, &phase.name).find(|stalls| stalls.instance.is_none_or(|i| i == l.instance));
        let held = held.map(|stalls| format!("the script held it {}", held_for(stalls)));
        let details: String = script.into_iter().chain(held).map(|detail| format!("; {detail}")).collect();
        let what = format!("The generator, not the target, was at its limit: {}{details}.", busiest_use(l));
        let figures = [(LOOP_CPU_FIGURE, l.cores * 100.0, "%"), ("threshold", LOOP_CPU * 100.0, "%")];
        with_figures(RULE.finding(Severity::Caution, scope(phase), what), &figures)
    };
    let findings: Vec<Finding> = busy.map(finding).collect();
    if findings.is_empty() { held_up(facts, phase).into_iter().collect() } else { findings }
}

/// A loop that was not busy all the time, and that a script held up.
fn held_up(facts: &Facts<'_>, phase: &PhaseWindow) -> Option<Finding> {
    let worst = holds(facts, &phase.name).max_by(|a, b| a.by_script.share.total_cmp(&b.by_script.share))?;
    let which = worst.instance.map_or_else(|| "its loop".to_owned(), |instance| instance.to_string());
    let script = facts.generator.script.as_ref().map(|script| format!("; {}", script_use(script)));
    let what = format!(
        "The script held the generator up: {which} {}{}.",
        held_for(worst),
        script.unwrap_or_default()
    );
    let figures = [
        ("held by the script", worst.by_script.share * 100.0, "%"),
        ("longest", worst.by_script.longest_ms, "ms"),
        ("threshold", STALLED * 100.0, "%"),
    ];
    Some(with_figures(RULE.finding(Severity::Caution, scope(phase), what), &figures))
}

/// The loops that the code of a script stalled in this phase.
pub(crate) fn holds<'f>(facts: &'f Facts<'_>, phase: &str) -> impl Iterator<Item = &'f LoopStalls> {
    facts.generator.stalls.iter().filter(move |s| s.phase == phase && s.by_script.share > STALLED)
}

/// `for 96 % of `steady`, up to 88 ms at a time`.
fn held_for(stalls: &LoopStalls) -> String {
    format!(
        "for {} of `{}`, up to {} at a time",
        brief::percent(stalls.by_script.share),
        stalls.phase,
        brief::ms(stalls.by_script.longest_ms)
    )
}

/// `the script itself costs 31 µs of CPU an iteration, 85 % of what the loops used`.
fn script_use(script: &ScriptUse) -> String {
    format!(
        "the script itself costs {} of CPU an iteration, {} of what the loops used",
        brief::ms(script.iteration_ms),
        brief::percent(script.share)
    )
}

/// `loop 1 used 97 % of a core over 10 s of …`; of a phase that is shorter `… of a core over …`.
pub(crate) fn busiest_use(l: &LoopUse) -> String {
    let window = match l.part {
        UsedPart::Window => format!("{WINDOW_S} s of "),
        UsedPart::Phase => String::new(),
    };
    format!("{} used {} of a core over {window}`{}`", l.instance, brief::percent(l.cores), l.phase)
}

#[cfg(test)]
mod tests {
    use crate::testing::{Load, TestRun};

    #[test]
    fn a_busy_loop_is_a_caution() {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(100));
        test_run.loop_cpu(1, [(10..20, 0.2), (20..32, 0.97), (32..70, 0.2)]);
        test_run.stall(20..70, 3_000);
        insta::assert_snapshot!(test_run.findings(super::check), @r"
        caution [steady] The generator, not the target, was at its limit: loop 1 used 97 % of a core over 10 s of `steady`.
          loop CPU Some(97.0) %, threshold Some(80.0) %
        ");
    }

    #[test]
    fn a_phase_shorter_than_a_window_is_named_as_a_whole() {
        let mut test_run = TestRun::unobserved();
        test_run.workload.phases[1].end = std::time::Duration::from_secs(14);
        (10..14).for_each(|second| test_run.offer_once(second, "list", Load::ok(100)));
        test_run.loop_cpu(1, [(10..14, 0.97)]);
        insta::assert_snapshot!(test_run.findings(super::check), @r"
        caution [steady] The generator, not the target, was at its limit: loop 1 used 97 % of a core over `steady`.
          loop CPU Some(97.0) %, threshold Some(80.0) %
        ");
    }

    /// A run whose loop and script used so many cores.
    fn with_script(loop_cores: f64, cores: f64) -> TestRun {
        let mut test_run = TestRun::unobserved().offer("steady", "list", Load::ok(100));
        test_run.loop_cpu(0, [(0..70, loop_cores)]);
        let script = evidence::SeriesKey::new("script_cpu", evidence::SeriesKey::GENERATOR, "cores");
        test_run.observe(&script, 0..70, cores);
        test_run
    }

    #[test]
    fn a_script_that_holds_the_loop_is_the_cause_and_not_neighbours() {
        let mut test_run = with_script(0.6, 0.55);
        test_run.held_by_script(10..70, 3_000);
        insta::assert_snapshot!(test_run.findings(super::check), @r"
        caution [steady] The script held the generator up: loop 0 for 30 % of `steady`, up to 3 ms at a time; the script itself costs 6.42 ms of CPU an iteration, 91.7 % of what the loops used.
          held by the script Some(30.005) %, longest Some(3.001) ms, threshold Some(1.0) %
        ");
        assert_eq!(test_run.findings_of("S9"), "nothing");
        test_run.stall(10..70, 3_000);
        assert!(test_run.findings_of("S9").contains("loop 0 was stalled for 30 % of `steady`"));
    }

    #[test]
    fn a_script_that_keeps_a_loop_busy_is_named_with_how_long_it_held_it() {
        let mut test_run = with_script(0.96, 0.95);
        test_run.held_by_script(10..70, 9_000);
        // Other machines take the processor, too: the script is not to blame for that, but for what it held up.
        let steal = evidence::SeriesKey::new("host_steal", "host", "1");
        test_run.observe(&steal, 0..70, 0.1);
        insta::assert_snapshot!(test_run.findings_of("L3"), @r"
        caution [steady] The generator, not the target, was at its limit: loop 0 used 96 % of a core over 10 s of `steady`; the script itself costs 11.1 ms of CPU an iteration, 99 % of what the loops used; the script held it for 90 % of `steady`, up to 9.01 ms at a time.
          loop CPU Some(96.00000000000001) %, threshold Some(80.0) %
        ");
        assert!(!test_run.findings_of("S9").contains("stalled"));
    }

    #[test]
    fn cpu_that_was_not_measured_is_a_caution() {
        let test_run = TestRun::unobserved().offer("steady", "list", Load::ok(100));
        insta::assert_snapshot!(test_run.findings(super::check), @r#"
        caution [] The generator's CPU was not measured: whether it was at its limit is unknown.
          
        "#);
    }

    #[test]
    fn an_idle_generator_and_a_short_peak_give_no_finding() {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(100));
        test_run.loop_cpu(1, [(10..30, 0.2), (30..33, 1.0), (33..70, 0.2)]);
        insta::assert_snapshot!(test_run.findings(super::check), @"nothing");
    }
}
