//! M4: an objective about a leak, on evidence that does not exclude one.
//!
//! A bound on memory is about how much was used. Excluding a leak takes the analysis of [`crate::leaks`], so an objective
//! on a series with `leak` in its name is decided only where that analysis excludes a leak.

use evidence::{Finding, RuleId, Severity};
use workload::Measure;

use crate::facts::{Facts, MeasuredObjective};
use crate::leaks::{self, Leak, LeakAnswer};
use crate::rule::{AffectedClaims, Check, Rule};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::M4,
    title: "leak-claim",
    severity: Severity::Invalid,
    tests: "An objective on a series has `leak` in its name, and `plimsoll leaks` does not answer NO_LEAK \
            for that series. NO_LEAK needs 30 min, 12 independent values, growth of more than 1 % \
            of the level an hour (at least 1 MiB) excluded at 95 % and, for memory that is \
            garbage-collected, 30 collections; with less the answer is UNDETERMINED.",
    affects: "that objective",
    why: "A bound on memory limits how much was used. A single value, or those of a few minutes, do not show \
          whether memory is ever released.",
    next: "Run for 30 min or longer, in load cycles with idle phases between, and use `plimsoll leaks`.",
    affected: AffectedClaims::Named,
    check: Check::Run(check),
};

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    facts
        .objectives
        .iter()
        .filter(|measured| leaks::is_leak_objective(measured.name()))
        .filter_map(|a| claim(facts, a))
        .collect()
}

fn claim(facts: &Facts<'_>, measured: &MeasuredObjective<'_>) -> Option<Finding> {
    let Measure::Series { name, target, .. } = &measured.objective.measure else { return None };
    let is_its = |answer: &&LeakAnswer| {
        *answer.series.name == **name && target.as_ref().is_none_or(|t| *answer.series.target == **t)
    };
    let answers: Vec<&LeakAnswer> = facts.leaks.iter().filter(is_its).collect();
    let what = match answers.iter().find(|answer| answer.answer != Leak::NoLeak) {
        Some(LeakAnswer { answer, because, .. }) => {
            format!("Its name is about a leak, and the leak analysis of `{name}` is {answer}: {because}")
        }
        None if answers.is_empty() => format!(
            "Its name is about a leak, and `{name}` was not observed, or is not a series that can show a leak."
        ),
        None => return None,
    };
    Some(RULE.finding(Severity::Invalid, measured.scope(), what))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use evidence::SeriesKey;

    use crate::testing::{Load, TestRun};

    fn observed_for(seconds: u32, name: &str, objective: &str) -> TestRun {
        let mut test_run =
            TestRun::new().offer("steady", "list", Load::ok(100)).with_objective(name, objective);
        test_run.workload.phases[1].end = Duration::from_secs(u64::from(seconds));
        for second in (0..seconds).step_by(2) {
            let noise = f64::from((second.wrapping_mul(2_654_435_761)) >> 20);
            test_run.run.observe(&SeriesKey::new("rss", "web", "bytes"), second, 2e8 + noise);
        }
        test_run
    }

    #[test]
    fn a_bound_on_memory_in_a_minute_excludes_no_leak() {
        let test_run = observed_for(70, "no-leak", "max(rss) < 500000000");
        insta::assert_snapshot!(test_run.findings(super::check), @"invalid [no-leak] Its name is about a leak, and the leak analysis of `rss` is UNDETERMINED: 7 independent values in 68 s are too few, 12 are needed: observe it for about 29 min longer.");
        let unobserved = observed_for(70, "no-leak", "max(widgets, target = web) < 5");
        insta::assert_snapshot!(unobserved.findings(super::check), @"invalid [no-leak] Its name is about a leak, and `widgets` was not observed, or is not a series that can show a leak.");
    }

    #[test]
    fn an_objective_without_a_leak_in_its_name_is_not_affected() {
        assert_eq!(observed_for(70, "memory", "max(rss) < 500000000").findings(super::check), "nothing");
        assert_eq!(observed_for(70, "leaky", "p95(list) < 50ms").findings(super::check), "nothing");
    }

    #[test]
    fn half_an_hour_without_growth_excludes_a_leak() {
        let test_run = observed_for(2_000, "no-leak", "max(rss) < 500000000");
        assert_eq!(test_run.findings(super::check), "nothing");
    }
}
