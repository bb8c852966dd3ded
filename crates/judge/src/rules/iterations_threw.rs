//! T6: iterations of a script that threw.

use std::collections::BTreeMap;

use evidence::{Finding, Key, RuleId, Scope, Severity};
use figures::Figures;

use crate::facts::Facts;
use crate::rule::{AffectedClaims, Check, Rule, with_figures};
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::T6,
    title: "iterations-threw",
    severity: Severity::Caution,
    tests: "Iterations of a script that ended with an exception that nothing caught. Setup and teardown are not iterations, and \
            an exception in them has its own exit code. If every iteration threw, nothing succeeded.",
    affects: "nothing directly: what an iteration did before it threw counts",
    why: "What a script does after the line that threw was never done: its requests and checks are missing from every number.",
    next: "Fix the script at the positions in its log, or catch what the target can cause.",
    affected: AffectedClaims::Load,
    check: Check::Run(check),
};

/// Of what was thrown the most frequent so many are named.
const NAMED: usize = 3;

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let thrown = Exceptions::of(&facts.figures);
    if thrown.all() == 0 {
        return Vec::new();
    }
    let share = thrown.all() as f64 / thrown.done.max(1) as f64 * 100.0;
    let what = format!(
        "{} of {} threw ({}): {}.",
        brief::count(thrown.all()),
        brief::counted(thrown.done, "iteration"),
        brief::percent(share / 100.0),
        thrown.in_words()
    );
    let figures = [("iterations that threw", share, "%")];
    vec![with_figures(RULE.finding(Severity::Caution, Scope::default(), what), &figures)]
}

/// What the iterations of a run threw.
pub(crate) struct Exceptions<'t> {
    /// Iterations that ended, with an exception or without.
    pub(crate) done: u64,
    by_text: BTreeMap<&'t str, u64>,
}

impl<'t> Exceptions<'t> {
    pub(crate) fn of(figures: &'t Figures) -> Exceptions<'t> {
        let mut exceptions = Exceptions { done: 0, by_text: BTreeMap::new() };
        for row in figures.scenario_phases.iter().filter(|row| !Key::is_beside_load(&row.key.phase)) {
            exceptions.done += row.done;
            for (what, count) in &row.threw {
                *exceptions.by_text.entry(what).or_default() += count;
            }
        }
        exceptions
    }

    pub(crate) fn all(&self) -> u64 {
        self.by_text.values().sum()
    }

    /// `5 times TypeError: x is not a function; 2 times Error: late`
    pub(crate) fn in_words(&self) -> String {
        let mut named: Vec<(&str, u64)> = self.by_text.iter().map(|(what, count)| (*what, *count)).collect();
        named.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let others: u64 = named.iter().skip(NAMED).map(|(_, count)| count).sum();
        let others = (others > 0).then_some(("something else", others));
        let times = |(what, count): (&str, u64)| {
            let what = if what.is_empty() { "something else" } else { what };
            format!("{} × {what}", brief::count(count))
        };
        let words: Vec<String> = named.into_iter().take(NAMED).chain(others).map(times).collect();
        words.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use evidence::{Key, Metric, Verdict};

    use crate::testing::{Load, TestRun};

    /// A run of 6,000 iterations, so many of which threw this.
    fn with_exceptions(thrown: &[(&str, u64)]) -> TestRun {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(100));
        for (what, count) in thrown {
            let key = Key::of(Metric::IterationsThrew).scenario("play").phase("steady");
            test_run.run.add(&key.tag(Key::REASON, what), 20, *count);
        }
        test_run
    }

    #[test]
    fn exceptions_are_named_with_how_often_they_were_thrown() {
        let thrown = [("Error: a", 2), ("TypeError: b", 40), ("c", 1), ("d", 3), ("e", 5)];
        insta::assert_snapshot!(with_exceptions(&thrown).findings(super::check), @r"
        caution [] 51 of 6,000 iterations threw (0.85 %): 40 × TypeError: b; 5 × e; 3 × d; 3 × something else.
          iterations that threw Some(0.8500000000000001) %
        ");
        assert_eq!(with_exceptions(&[]).findings(super::check), "nothing");
    }

    #[test]
    fn a_run_in_which_every_iteration_threw_fails() {
        let judged = |count| with_exceptions(&[("ReferenceError: crypto is not defined", count)]).judge();
        let all = judged(6_000);
        assert_eq!(all.verdict, Verdict::Fail);
        insta::assert_snapshot!(all.because, @"Nothing succeeded: all of 6,000 iterations threw; 6,000 × ReferenceError: crypto is not defined.");
        let nearly_all = judged(5_999);
        assert_eq!(nearly_all.verdict, Verdict::Measured);
    }
}
