//! Q9: an empty profile of a profiler that was off is not a measurement of nothing.

use evidence::{Finding, Sampling, Scope, Severity};

use crate::facts::{CapturedProfile, Facts};
use crate::rule::rule_by_id;

pub(crate) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
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
    Some(rule_by_id("Q9").finding(severity, Scope::default(), what))
}

#[cfg(test)]
mod tests {
    use evidence::{ProfileKind, Sampling};

    use crate::testing::{Load, TestRun};

    #[test]
    fn an_empty_profile_of_a_profiler_that_was_off_is_invalid() {
        let mut test_run = TestRun::new().offer("steady", "list", Load::of(100));
        test_run.profile(ProfileKind::Cpu, Sampling::On, 20..30);
        assert_eq!(test_run.findings(super::rule), "nothing");
        test_run.profile(ProfileKind::Mutex, Sampling::Off, 20..30);
        test_run.profile(ProfileKind::Block, Sampling::Unknown, 20..30);
        let found = test_run.findings(super::rule);
        assert!(found.contains("invalid [] The mutex profile of `web` at 20s does not show"), "{found}");
        assert!(found.contains("caution [] The block profile of `web` at 20s does not show"), "{found}");
    }
}
