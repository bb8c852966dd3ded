//! How many virtual users an open scenario needed, used and was allowed.

use std::collections::BTreeMap;

use evidence::run::ReadError;
use evidence::{Coverage, Histogram, Run, SeriesKey, Window};
use serde::Serialize;
use workload::{Scenario, Workload};

use super::tally::RunTally;
use crate::number;

/// The virtual users of an open scenario. The plan sets its arrivals, not its virtual users.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VirtualUsers {
    /// The scenario's highest rate × the mean time of its iterations: how many are active at once on average (Little, "A
    /// Proof for the Queuing Formula: L = λW", Operations Research 9, 1961); none where no iteration ended.
    pub needed: Option<f64>,
    /// The most that were active at once; none where they were not counted. With several loops it is the sum of their
    /// maxima in the same second.
    pub used_at_most: Option<f64>,
    /// How many the scenario may use.
    pub cap: u32,
}

impl VirtualUsers {
    /// As the end of a sentence that begins with the scenario's name.
    pub(crate) fn in_words(&self) -> String {
        let needed = self
            .needed
            .map(|n| format!("needed about {} virtual users (Little's law)", number::significant(n, 2)));
        let used = self.used_at_most.map(|n| format!("used at most {}", number::count(n as u64)));
        let words: Vec<_> = needed.into_iter().chain(used).collect();
        format!("{} of {} allowed", words.join(", "), number::count(u64::from(self.cap)))
    }
}

/// The virtual users of each open scenario where they were counted, by the scenario's name.
pub(super) fn of(
    run: &dyn Run,
    workload: &Workload,
    tally: &RunTally,
) -> Result<BTreeMap<String, VirtualUsers>, ReadError> {
    let mut by_scenario = BTreeMap::new();
    for scenario in workload.scenarios.iter().filter(|s| s.executor.is_open()) {
        let used_at_most = used_at_most(run, &scenario.name)?;
        if used_at_most.is_some() {
            let needed = needed(scenario, tally);
            let users = VirtualUsers { needed, used_at_most, cap: scenario.max_vus };
            by_scenario.insert(scenario.name.clone(), users);
        }
    }
    Ok(by_scenario)
}

fn needed(scenario: &Scenario, tally: &RunTally) -> Option<f64> {
    let mut iterations = Histogram::new();
    for (_, counts) in tally.endpoints.iter().filter(|(key, _)| *key.scenario == *scenario.name) {
        iterations.merge(&counts.iteration);
    }
    Some(scenario.executor.peak_rate() * iterations.mean_us()? / 1e6)
}

/// Each loop has a series of the scenario.
fn used_at_most(run: &dyn Run, scenario: &str) -> Result<Option<f64>, ReadError> {
    let is_its = |series: &&SeriesKey| {
        &*series.target == SeriesKey::GENERATOR && &*series.name == "active_max" && &*series.part == scenario
    };
    let mut seconds: BTreeMap<u32, f64> = BTreeMap::new();
    for series in run.series().iter().filter(is_its) {
        for sample in Coverage::read(run, series)?.within(Window::new(&run.whole())) {
            *seconds.entry(sample.second()).or_default() += sample.value;
        }
    }
    Ok(seconds.into_values().reduce(f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_users_needed_used_and_allowed_are_one_sentence() {
        let users = |needed, used_at_most| VirtualUsers { needed, used_at_most, cap: 1_200 }.in_words();
        assert_eq!(
            users(Some(3.12), Some(9.0)),
            "needed about 3.1 virtual users (Little's law), used at most 9 of 1,200 allowed"
        );
        assert_eq!(
            users(Some(1_023.6), Some(1_190.0)),
            "needed about 1,024 virtual users (Little's law), used at most 1,190 of 1,200 allowed"
        );
        assert_eq!(users(None, Some(0.0)), "used at most 0 of 1,200 allowed");
    }
}
