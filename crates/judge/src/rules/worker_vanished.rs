//! W1: a worker that offered nothing, or that vanished during the run.

use evidence::{Finding, RuleId, Scope, Severity};

use crate::facts::{Facts, WorkerState};
use crate::rule::{AffectedClaims, Check, Rule, with_figures};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::W1,
    title: "worker-vanished",
    severity: Severity::Inconclusive,
    tests: "Whether each worker of the run sent results, and whether one was lost during the load. Every phase from \
            then on is marked.",
    affects: "objectives on requests that are met; a violated one stays violated",
    why: "What it should have offered was not offered: its arrivals of an open model count as dropped by the generator, its \
          virtual users are gone, and what it had measured in its last second is lost. The target had less to do than planned.",
    next: "Look at the worker's own output and at its machine: was it killed, for want of memory perhaps, or cut off? Then \
           run again.",
    affected: AffectedClaims::LoadUnlessViolated,
    check: Check::Run(check),
};

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    facts.workers.all.iter().flat_map(|worker| findings(facts, worker)).collect()
}

fn findings(facts: &Facts<'_>, worker: &WorkerState) -> Vec<Finding> {
    let (from_s, what) = match &worker.vanished {
        Some((at, why)) => (at.offset().as_secs_f64(), format!("At {} s {why}.", at.second())),
        None if worker.has_offered => return Vec::new(),
        None => (0.0, format!("Nothing was recorded of {}.", worker.name())),
    };
    let is_affected = |seconds: &std::ops::Range<u32>| f64::from(seconds.end) > from_s;
    let phases = facts.figures.phases.iter().filter(|phase| is_affected(&phase.seconds()));
    let finding = |name: &String| {
        let scope = Scope { phase: Some(name.clone()), ..Scope::default() };
        with_figures(RULE.finding(Severity::Inconclusive, scope, what.clone()), &[("from", from_s, "s")])
    };
    phases.map(|phase| finding(&phase.name)).collect()
}

#[cfg(test)]
mod tests {
    use crate::testing::{Load, TestRun, over_two_workers, with_lost_worker, worker};

    fn sound() -> TestRun {
        TestRun::new().offer("steady", "list", Load::ok(100)).with_objective("fast", "p95(list) < 50ms")
    }

    #[test]
    fn workers_that_stayed_give_no_finding() {
        assert_eq!(over_two_workers(sound()).findings(super::check), "nothing");
    }

    #[test]
    fn one_that_vanished_marks_its_phase_and_no_objective_is_met_in_it() {
        let test_run = with_lost_worker(sound());
        insta::assert_snapshot!(test_run.findings(super::check), @r"
        inconclusive [steady] At 40 s worker 2 vanished: the connection was closed.
          from Some(40.0) s
        ");
        assert_eq!(test_run.findings_of("O1"), "nothing");
        assert!(test_run.verdict().starts_with("INCONCLUSIVE"), "{}", test_run.verdict());
    }

    #[test]
    fn one_that_never_offered_anything_marks_every_phase() {
        let mut test_run = over_two_workers(sound());
        test_run.edit(|manifest| manifest.workers.push(worker(3)));
        let found = test_run.findings(super::check);
        assert!(found.contains("Nothing was recorded of worker 3 (127.0.0.1:7403)"), "{found}");
    }
}
