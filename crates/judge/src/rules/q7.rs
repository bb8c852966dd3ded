//! Q7: a profile whose cost for each request cannot be told.

use evidence::{Finding, Scope, Severity};

use crate::facts::{Captured, Facts};
use crate::rule::named;

pub(crate) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    facts.profiles.iter().filter_map(doubt).collect()
}

fn doubt(profile: &Captured) -> Option<Finding> {
    let Captured { target, kind, mark, .. } = profile;
    let what = if !profile.is_of_window {
        format!(
            "The {kind} profile of `{target}` at {mark} counts from the start of the process: nothing was kept to take \
             off it."
        )
    } else if profile.completed == 0 {
        format!(
            "No request ended while the {kind} profile of `{target}` at {mark} was taken: its cost has no measure."
        )
    } else {
        return None;
    };
    Some(named("Q7").finding(Severity::Invalid, Scope::default(), what))
}

#[cfg(test)]
mod tests {
    use evidence::{ProfileKind, Sampling};

    use crate::testing::{Bench, Load};

    #[test]
    fn a_profile_needs_requests_and_a_beginning() {
        let mut bench = Bench::new().offer("steady", "list", Load::of(100));
        bench.profile((ProfileKind::Cpu, Sampling::On), 20..30);
        assert_eq!(bench.findings(super::rule), "nothing");
        bench.profile((ProfileKind::Heap, Sampling::On), 20..30);
        bench.profile((ProfileKind::Cpu, Sampling::On), 2..5);
        let found = bench.findings(super::rule);
        assert_eq!(found.matches("invalid").count(), 2, "{found}");
        assert!(
            found.contains("The heap profile of `web` at 20s counts from the start of the process"),
            "{found}"
        );
        assert!(found.contains("No request ended while the cpu profile of `web` at 2s"), "{found}");
        let mut whole = Bench::new().offer("steady", "list", Load::of(100));
        whole.profile((ProfileKind::Heap, Sampling::On), 20..30);
        whole.profile_at_begin((ProfileKind::Heap, Sampling::On), 20);
        assert_eq!(whole.findings(super::rule), "nothing");
    }
}
