//! How many virtual users an open scenario needed, and how many it had.

use std::collections::BTreeMap;

use evidence::run::ReadError;
use evidence::{Histogram, Run, SeriesKey};
use serde::Serialize;
use workload::{Scenario, Workload};

use super::sweep::Sweep;
use crate::number;

/// The virtual users of an open scenario, which the plan does not ask for: its arrivals do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VirtualUsers {
    /// Its highest rate × the mean time of its iterations: how many are under way at once on average (Little, "A
    /// Proof for the Queuing Formula: L = λW", Operations Research 9, 1961); none where no iteration ended.
    pub needed: Option<f64>,
    /// No more were under way at once; none where nobody watched. With several loops it is the sum of what each
    /// had at most in the same second.
    pub used_at_most: Option<f64>,
    /// How many it may have.
    pub cap: u32,
}

impl VirtualUsers {
    /// As a sentence's end: what follows the scenario's name.
    pub(crate) fn in_words(&self) -> String {
        let needed = self.needed.map(|n| format!("needed about {} virtual users (Little)", about(n)));
        let used = self.used_at_most.map(|n| format!("used at most {}", number::count(n as u64)));
        let words: Vec<_> = needed.into_iter().chain(used).collect();
        format!("{} of a cap of {}", words.join(", "), number::count(u64::from(self.cap)))
    }
}

/// A number of virtual users: whole from ten on.
fn about(users: f64) -> String {
    if users >= 10.0 { number::count(users.round() as u64) } else { number::significant(users, 2) }
}

/// The virtual users of each open scenario that was watched, by its name.
pub(super) fn of(
    run: &dyn Run,
    workload: &Workload,
    sweep: &Sweep,
) -> Result<BTreeMap<String, VirtualUsers>, ReadError> {
    let mut users = BTreeMap::new();
    for scenario in workload.scenarios.iter().filter(|s| s.executor.is_open()) {
        let used_at_most = used_at_most(run, &scenario.name)?;
        let needed = needed(scenario, sweep);
        let is_known = used_at_most.is_some();
        let its = VirtualUsers { needed, used_at_most, cap: scenario.max_vus };
        users.extend(is_known.then(|| (scenario.name.clone(), its)));
    }
    Ok(users)
}

fn needed(scenario: &Scenario, sweep: &Sweep) -> Option<f64> {
    let mut iterations = Histogram::new();
    for (_, tally) in sweep.places.iter().filter(|(place, _)| *place.scenario == *scenario.name) {
        iterations.merge(&tally.iteration);
    }
    Some(scenario.executor.peak_rate() * iterations.mean_us()? / 1e6)
}

/// A loop's series is named after the scenario, and from the second loop on after both.
fn used_at_most(run: &dyn Run, scenario: &str) -> Result<Option<f64>, ReadError> {
    let is_its = |series: &&SeriesKey| {
        let rest = series.part.strip_prefix(scenario);
        &*series.target == SeriesKey::GENERATOR
            && &*series.name == "active_max"
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(" loop "))
    };
    let mut seconds: BTreeMap<u32, f64> = BTreeMap::new();
    for series in run.series().iter().filter(is_its) {
        for sample in run.samples(series, run.whole())? {
            *seconds.entry(sample.at.second()).or_default() += sample.value;
        }
    }
    Ok(seconds.into_values().reduce(f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_needed_used_and_allowed_is_one_sentence() {
        let users = |needed, used_at_most| VirtualUsers { needed, used_at_most, cap: 1_200 }.in_words();
        assert_eq!(
            users(Some(3.12), Some(9.0)),
            "needed about 3.1 virtual users (Little), used at most 9 of a cap of 1,200"
        );
        assert_eq!(
            users(Some(1_023.6), Some(1_190.0)),
            "needed about 1,024 virtual users (Little), used at most 1,190 of a cap of 1,200"
        );
        assert_eq!(users(None, Some(0.0)), "used at most 0 of a cap of 1,200");
    }
}
