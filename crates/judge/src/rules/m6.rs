//! M6: four of five is not a pass.

use evidence::{Claim, Finding, Scope, Severity, Verdict};

use crate::rule::{named, with_figures};

pub(crate) fn rule(claims: &[Claim]) -> Vec<Finding> {
    let passed = claims.iter().filter(|c| c.verdict == Verdict::Pass).count();
    if passed == 0 || passed == claims.len() {
        return Vec::new();
    }
    let names = |wanted: fn(Verdict) -> bool| -> Vec<&str> {
        claims.iter().filter(|c| wanted(c.verdict)).map(|c| c.name.as_str()).collect()
    };
    let failed = names(|v| v == Verdict::Fail);
    let (severity, what) = if failed.is_empty() {
        let undecided = names(|v| v != Verdict::Pass);
        let what = format!(
            "{passed} of {} objectives hold; {} could not be decided. That is not a pass.",
            claims.len(),
            undecided.join(", ")
        );
        (Severity::Caution, what)
    } else {
        let what = format!("{passed} of {} is FAIL: {} missed.", claims.len(), failed.join(", "));
        (Severity::Fail, what)
    };
    let figures = [("objectives that hold", passed as f64, "1"), ("threshold", claims.len() as f64, "1")];
    vec![with_figures(named("M6").finding(severity, Scope::default(), what), &figures)]
}

#[cfg(test)]
mod tests {
    use crate::testing::{Bench, Load};

    fn bench() -> Bench {
        Bench::new()
            .offer("steady", "list", Load { failed: 1, ..Load::of(99) })
            .asks("fast", "p95(list) < 50ms")
    }

    #[test]
    fn one_missed_objective_fails_the_run() {
        insta::assert_snapshot!(bench().asks("few_errors", "error_rate(list) < 0.1%").findings_of("M6"), @r#"
        fail [] 1 of 2 is FAIL: few_errors missed.
          objectives that hold Some(1.0) 1, threshold Some(2.0) 1
        "#);
    }

    #[test]
    fn one_undecided_objective_keeps_the_run_from_passing() {
        insta::assert_snapshot!(bench().asks("cpu", "mean(cpu, target = web) < 0.85").findings_of("M6"), @r#"
        caution [] 1 of 2 objectives hold; cpu could not be decided. That is not a pass.
          objectives that hold Some(1.0) 1, threshold Some(2.0) 1
        "#);
    }

    #[test]
    fn all_or_nothing_is_no_partial_pass() {
        insta::assert_snapshot!(bench().findings_of("M6"), @"nothing");
    }
}
