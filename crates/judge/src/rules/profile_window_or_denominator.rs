//! Q7: a profile whose cost per request cannot be computed.

use evidence::{Finding, RuleId, Scope, Severity};

use crate::facts::{CapturedProfile, Facts};
use crate::rule::{AffectedClaims, Check, Rule};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::Q7,
    title: "profile-window-or-denominator",
    severity: Severity::Invalid,
    tests: "No request ended in the window of a profile; or a heap, mutex or block profile has no snapshot \
            from the beginning of its window, so that it counts from the start of the process.",
    affects: "costs per request in that profile",
    why: "A cost per request needs the requests of exactly that window.",
    next: "Set the mark inside a phase with load, and find out why the first snapshot is missing.",
    affected: AffectedClaims::Named,
    check: Check::Run(check),
};

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    facts.profiles.iter().filter_map(finding).collect()
}

fn finding(profile: &CapturedProfile) -> Option<Finding> {
    let CapturedProfile { target, kind, mark, .. } = profile;
    let what = if !profile.is_of_window {
        format!(
            "The {kind} profile of `{target}` at {mark} counts from the start of the process: there is no earlier snapshot to \
             subtract."
        )
    } else if profile.completed == 0 {
        format!(
            "No request ended while the {kind} profile of `{target}` at {mark} was taken: a cost per request cannot be computed."
        )
    } else {
        return None;
    };
    Some(RULE.finding(Severity::Invalid, Scope::default(), what))
}

#[cfg(test)]
mod tests {
    use evidence::{ProfileKind, Sampling};

    use crate::testing::{Load, TestRun};

    #[test]
    fn a_profile_needs_requests_and_a_first_snapshot() {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(100));
        test_run.profile(ProfileKind::Cpu, Sampling::On, 20..30);
        assert_eq!(test_run.findings(super::check), "nothing");
        test_run.profile(ProfileKind::Heap, Sampling::On, 20..30);
        test_run.profile(ProfileKind::Cpu, Sampling::On, 2..5);
        let found = test_run.findings(super::check);
        assert_eq!(found.matches("invalid").count(), 2, "{found}");
        assert!(
            found.contains("The heap profile of `web` at 20s counts from the start of the process"),
            "{found}"
        );
        assert!(found.contains("No request ended while the cpu profile of `web` at 2s"), "{found}");
        let mut complete = TestRun::new().offer("steady", "list", Load::ok(100));
        complete.profile(ProfileKind::Heap, Sampling::On, 20..30);
        complete.profile_at_begin(ProfileKind::Heap, Sampling::On, 20);
        assert_eq!(complete.findings(super::check), "nothing");
    }
}
