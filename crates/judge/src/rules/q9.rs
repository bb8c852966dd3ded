//! Q9: a profiler that was off saw nothing, which is not the same as that there was nothing.

use evidence::{Finding, Sampling, Scope, Severity};

use crate::facts::{Captured, Facts};
use crate::rule::named;

pub(crate) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    facts.profiles.iter().filter_map(doubt).collect()
}

fn doubt(profile: &Captured) -> Option<Finding> {
    let Captured { target, kind, mark, .. } = profile;
    let (severity, why) = match profile.sampling {
        Sampling::On => return None,
        Sampling::Off => (Severity::Invalid, "sampling was off"),
        Sampling::Unknown => (Severity::Caution, "whether samples were taken is unknown"),
    };
    let what =
        format!("The {kind} profile of `{target}` at {mark} says nothing of what it does not show: {why}.");
    Some(named("Q9").finding(severity, Scope::default(), what))
}

#[cfg(test)]
mod tests {
    use evidence::{ProfileKind, Sampling};

    use crate::testing::{Bench, Load};

    #[test]
    fn a_profiler_that_was_off_saw_nothing() {
        let mut bench = Bench::new().offer("steady", "list", Load::of(100));
        bench.profile((ProfileKind::Cpu, Sampling::On), 20..30);
        assert_eq!(bench.findings(super::rule), "nothing");
        bench.profile((ProfileKind::Mutex, Sampling::Off), 20..30);
        bench.profile((ProfileKind::Block, Sampling::Unknown), 20..30);
        let found = bench.findings(super::rule);
        assert!(found.contains("invalid [] The mutex profile of `web` at 20s says nothing"), "{found}");
        assert!(found.contains("caution [] The block profile of `web` at 20s says nothing"), "{found}");
    }
}
