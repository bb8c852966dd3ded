//! L3: the generator, not the target, was at its limit.

use evidence::{Finding, Scope, Severity};

use crate::facts::{Facts, Span};
use crate::rule::{named, with_figures};
use crate::thresholds::{LOOP_CPU, STALL_MS, WINDOW_S};
use crate::words;

pub(crate) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    let loaded: Vec<&Span> = facts.tables.spans.iter().filter(|span| is_loaded(facts, span)).collect();
    let mut findings: Vec<Finding> = loaded.iter().flat_map(|span| busy_loops(facts, span)).collect();
    findings.extend(loaded.iter().filter_map(|span| stalls(facts, span)));
    if facts.generator.loops.is_empty() && !loaded.is_empty() {
        let what = "The generator's CPU was not measured: whether it was at its limit is unknown.".to_owned();
        findings.push(named("L3").finding(Severity::Caution, Scope::default(), what));
    }
    findings
}

fn is_loaded(facts: &Facts<'_>, span: &Span) -> bool {
    facts.tables.stretches.iter().any(|s| *s.place.phase == *span.name && s.scheduled + s.started > 0)
}

/// Invalid where anything was offered at a rate of its own, else a caution.
fn severity(facts: &Facts<'_>, span: &Span) -> Severity {
    let mut here = facts.tables.stretches.iter().filter(|s| *s.place.phase == *span.name);
    if here.any(|s| facts.is_open(&s.place.scenario)) { Severity::Invalid } else { Severity::Caution }
}

fn scope(span: &Span) -> Scope {
    Scope { phase: Some(span.name.clone()), ..Scope::default() }
}

fn busy_loops(facts: &Facts<'_>, span: &Span) -> Vec<Finding> {
    let busy = facts.generator.loops.iter().filter(|l| l.phase == span.name && l.cores > LOOP_CPU);
    let finding = |l: &crate::facts::LoopUse| {
        let what = format!(
            "The generator, not the target, was at its limit: {} used {} of a core over {WINDOW_S} s of `{}`.",
            l.part,
            words::percent(l.cores),
            span.name
        );
        let figures = [("loop CPU", l.cores * 100.0, "%"), ("threshold", LOOP_CPU * 100.0, "%")];
        with_figures(named("L3").finding(severity(facts, span), scope(span), what), &figures)
    };
    busy.map(finding).collect()
}

fn stalls(facts: &Facts<'_>, span: &Span) -> Option<Finding> {
    let p99 = facts.generator.stall_p99_ms.get(&span.name).copied().filter(|p99| *p99 > STALL_MS)?;
    let what = format!(
        "The generator was kept from its work: 1 % of its loop's turns in `{}` took {} or more.",
        span.name,
        words::ms(p99)
    );
    let figures = [("loop stall p99", p99, "ms"), ("threshold", STALL_MS, "ms")];
    Some(with_figures(named("L3").finding(severity(facts, span), scope(span), what), &figures))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Bench, Load};

    #[test]
    fn a_busy_loop_and_a_stalled_one_fire() {
        let mut bench = Bench::new().offer("steady", "list", Load::of(100));
        bench.loop_cpu("loop 1", [(10..20, 0.2), (20..32, 0.97), (32..70, 0.2)]);
        bench.stall(20..70, 3_000);
        insta::assert_snapshot!(bench.findings(super::rule), @r#"
        invalid [steady] The generator, not the target, was at its limit: loop 1 used 97 % of a core over 10 s of `steady`.
          loop CPU Some(97.0) %, threshold Some(80.0) %
        invalid [steady] The generator was kept from its work: 1 % of its loop's turns in `steady` took 3 ms or more.
          loop stall p99 Some(3.00099) ms, threshold Some(2.0) ms
        "#);
    }

    #[test]
    fn a_closed_model_is_only_cautioned() {
        let mut bench = Bench::new().offer("steady", "list", Load::of(100)).closed(10);
        bench.stall(20..70, 3_000);
        insta::assert_snapshot!(bench.findings(super::rule), @r#"
        caution [steady] The generator was kept from its work: 1 % of its loop's turns in `steady` took 3 ms or more.
          loop stall p99 Some(3.00099) ms, threshold Some(2.0) ms
        "#);
    }

    #[test]
    fn cpu_that_was_not_measured_is_said() {
        let bench = Bench::unwatched().offer("steady", "list", Load::of(100));
        insta::assert_snapshot!(bench.findings(super::rule), @r#"
        caution [] The generator's CPU was not measured: whether it was at its limit is unknown.
          
        "#);
    }

    #[test]
    fn an_idle_generator_and_a_short_peak_are_fine() {
        let mut bench = Bench::new().offer("steady", "list", Load::of(100));
        bench.loop_cpu("loop 1", [(10..30, 0.2), (30..33, 1.0), (33..70, 0.2)]);
        insta::assert_snapshot!(bench.findings(super::rule), @"nothing");
    }
}
