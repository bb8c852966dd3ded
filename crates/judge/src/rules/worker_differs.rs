//! W3: a worker that ran another version of the program, or another workload.

use evidence::{Finding, RuleId, Scope, Severity};

use crate::facts::{Facts, WorkerState};
use crate::rule::{AffectedClaims, Check, Rule};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::W3,
    title: "worker-differs",
    severity: Severity::Invalid,
    tests: "For each worker: its version of the program and the digest of the workload that it read are those of the process \
            that recorded. A run with others is not started; the rule is for files that were made in another way.",
    affects: "every objective",
    why: "What such a worker offered and counted is not what the plan of the run says.",
    next: "Use one build of plimsoll for coordinator and workers, and run again.",
    affected: AffectedClaims::Everything,
    check: Check::Run(check),
};

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let finding = |what| RULE.finding(Severity::Invalid, Scope::default(), what);
    facts.workers.all.iter().filter_map(|worker| difference(facts, worker)).map(finding).collect()
}

fn difference(facts: &Facts<'_>, state: &WorkerState) -> Option<String> {
    let (worker, run) = (&state.worker, &facts.workers);
    if worker.version != run.version {
        return Some(format!(
            "A part of the load was offered by plimsoll {}, and recorded by plimsoll {}: {}.",
            worker.version,
            run.version,
            state.name()
        ));
    }
    (worker.workload_digest != run.workload_digest)
        .then(|| format!("Another workload than the run's was read by {}.", state.name()))
}

#[cfg(test)]
mod tests {
    use evidence::manifest::Worker;

    use crate::testing::{Load, TestRun, worker};

    fn with(change: impl Fn(&mut Worker)) -> String {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(100));
        test_run.edit(|manifest| {
            let mut one = worker(1);
            one.version = manifest.generator.get("version").cloned().unwrap_or_default();
            one.workload_digest = manifest.workload_digest.clone();
            change(&mut one);
            manifest.workers = vec![one];
        });
        test_run.findings(super::check)
    }

    #[test]
    fn another_version_or_workload_is_invalid() {
        assert_eq!(with(|_| {}), "nothing");
        let version = with(|worker| worker.version = "0.0.9".to_owned());
        assert!(version.contains("A part of the load was offered by plimsoll 0.0.9"), "{version}");
        let workload = with(|worker| worker.workload_digest = "feed".to_owned());
        assert!(workload.contains("Another workload than the run's was read by"), "{workload}");
    }
}
