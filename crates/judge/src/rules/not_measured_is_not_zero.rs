//! Q9: an empty profile of a profiler that was off is not a measurement of nothing.

use evidence::{Finding, RuleId, Sampling, Scope, Severity};

use crate::facts::{CapturedProfile, Facts};
use crate::rule::{AffectedClaims, Check, Rule};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::Q9,
    title: "not-measured-is-not-zero",
    severity: Severity::Invalid,
    tests: "The profiler was switched off in the target, so that the profile is empty; where the target does not \
            report whether it was, it is a caution.",
    affects: "conclusions from an empty profile: no contention, no allocation",
    why: "A profiler that is off records nothing, whatever happens.",
    next: "Switch it on in the target: in Go, `runtime.SetMutexProfileFraction` and \
           `runtime.SetBlockProfileRate`.",
    affected: AffectedClaims::Named,
    check: Check::Run(check),
};

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    facts.profiles.iter().filter_map(finding).collect()
}

fn finding(profile: &CapturedProfile) -> Option<Finding> {
    let CapturedProfile { target, kind, mark, .. } = profile;
    let (severity, why) = match profile.sampling {
        Sampling::On => return None,
        Sampling::Off => (Severity::Invalid, "sampling was off"),
        Sampling::Unknown => (Severity::Caution, "whether samples were taken is unknown"),
    };
    let what =
        format!("The {kind} profile of `{target}` at {mark} does not show that there was nothing: {why}.");
    Some(RULE.finding(severity, Scope::default(), what))
}

#[cfg(test)]
mod tests {
    use evidence::{ProfileKind, Sampling};

    use crate::testing::{Load, TestRun};

    #[test]
    fn an_empty_profile_of_a_profiler_that_was_off_is_invalid() {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(100));
        test_run.profile(ProfileKind::Cpu, Sampling::On, 20..30);
        assert_eq!(test_run.findings(super::check), "nothing");
        test_run.profile(ProfileKind::Mutex, Sampling::Off, 20..30);
        test_run.profile(ProfileKind::Block, Sampling::Unknown, 20..30);
        let found = test_run.findings(super::check);
        assert!(found.contains("invalid [] The mutex profile of `web` at 20s does not show"), "{found}");
        assert!(found.contains("caution [] The block profile of `web` at 20s does not show"), "{found}");
    }
}
