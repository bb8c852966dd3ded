//! M4: an objective that speaks of a leak, on evidence that shows none nor excludes one.
//!
//! A bound on memory says how much was used. That nothing is held on to takes the long look of [`crate::leaks`], so an
//! objective on a series whose name speaks of a leak is answered only where that look excludes one.

use evidence::{Finding, Severity};
use workload::Measure;

use crate::facts::{Asked, Facts};
use crate::leaks::{Leak, LeakAnswer};
use crate::rule::named;

/// How a name speaks of a leak.
const WORD: &str = "leak";

/// Whether the name of an objective speaks of a leak.
pub(crate) fn speaks_of_a_leak(name: &str) -> bool {
    name.to_lowercase().contains(WORD)
}

pub(crate) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    facts
        .asked
        .iter()
        .filter(|asked| speaks_of_a_leak(asked.name()))
        .filter_map(|a| claim(facts, a))
        .collect()
}

fn claim(facts: &Facts<'_>, asked: &Asked<'_>) -> Option<Finding> {
    let Measure::Series { name, target, .. } = &asked.objective.measure else { return None };
    let is_its = |answer: &&LeakAnswer| {
        *answer.series.name == **name && target.as_ref().is_none_or(|t| *answer.series.target == **t)
    };
    let answers: Vec<&LeakAnswer> = facts.leaks.iter().filter(is_its).collect();
    let what = match answers.iter().find(|answer| answer.answer != Leak::NoLeak) {
        Some(LeakAnswer { answer, because, .. }) => {
            format!("It speaks of a leak, and the answer on `{name}` is {answer}: {because}")
        }
        None if answers.is_empty() => format!(
            "It speaks of a leak, and `{name}` was not watched, or is no series that shows what is held on to."
        ),
        None => return None,
    };
    Some(named("M4").finding(Severity::Invalid, asked.scope(), what))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use evidence::SeriesKey;

    use crate::testing::{Bench, Load};

    fn held(seconds: u32, objective: (&str, &str)) -> Bench {
        let mut bench = Bench::new().offer("steady", "list", Load::of(100)).asks(objective.0, objective.1);
        bench.workload.phases[1].end = Duration::from_secs(u64::from(seconds));
        for second in (0..seconds).step_by(2) {
            let noise = f64::from((second.wrapping_mul(2_654_435_761)) >> 20);
            bench.run.observe(&SeriesKey::new("rss", "web", "bytes"), second, 2e8 + noise);
        }
        bench
    }

    #[test]
    fn a_bound_on_memory_in_a_minute_excludes_no_leak() {
        let bench = held(70, ("no-leak", "max(rss) < 500000000"));
        insta::assert_snapshot!(bench.findings(super::rule), @"invalid [no-leak] It speaks of a leak, and the answer on `rss` is UNDETERMINED: 68 s of it act like 7 independent values; 12 are needed.");
        let unseen = held(70, ("no-leak", "max(widgets, target = web) < 5"));
        insta::assert_snapshot!(unseen.findings(super::rule), @"invalid [no-leak] It speaks of a leak, and `widgets` was not watched, or is no series that shows what is held on to.");
    }

    #[test]
    fn a_bound_on_memory_that_says_no_more_is_one() {
        assert_eq!(held(70, ("memory", "max(rss) < 500000000")).findings(super::rule), "nothing");
        assert_eq!(held(70, ("leaky", "p95(list) < 50ms")).findings(super::rule), "nothing");
    }

    #[test]
    fn half_an_hour_without_growth_does() {
        let bench = held(2_000, ("no-leak", "max(rss) < 500000000"));
        assert_eq!(bench.findings(super::rule), "nothing");
    }
}
