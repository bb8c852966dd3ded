//! Which row of a data file an arrival gets.

use std::ops::Range;

use crate::draw::{Draw, FIRST_EXTRA};
use crate::index::ScenarioIndex;
use crate::model::{Flow, Pick, Scenario, Step, Workload};
use crate::template::Value;

#[cfg(test)]
mod tests;

/// Who gets rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowTaker {
    /// The run's setup.
    Setup,
    /// The virtual users of a scenario, in their setup.
    Users(ScenarioIndex),
    Arrivals(ScenarioIndex),
}

/// Picks the rows of one data file for one taker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowPicker {
    pick: Pick,
    rows: u64,
    /// Rows that the takers before this one use, if rows are unique.
    base: u64,
    /// The first row that is used beside the schedule, if rows are unique.
    spare: u64,
    salt: u64,
}

impl RowPicker {
    /// The picker of `taker` for the data file `set`; none if the plan has no such file.
    pub fn new(workload: &Workload, taker: RowTaker, set: &str) -> Option<RowPicker> {
        let source = workload.data.get(set)?;
        let set_index = workload.data.keys().position(|name| name == set)? as u64;
        let (base, spare) = match source.pick {
            Pick::Unique => {
                let before = workload.row_takers(set).take_while(|(other, _)| *other != taker);
                let base = before.filter_map(|(_, rows)| rows).fold(0, u64::saturating_add);
                (base, workload.spare_rows(set, taker).start)
            }
            Pick::Sequential | Pick::Random => (0, 0),
        };
        // Far from the salts that steps use for their own choices.
        Some(RowPicker { pick: source.pick, rows: source.rows, base, spare, salt: u64::MAX - set_index })
    }

    /// The row, from 0, for the arrival or the virtual user of `draw`; 0 if there are no rows. A request beside the schedule
    /// gets no unique row that the schedule uses, if there are enough, and of rows in turn one of the last.
    pub fn row(&self, draw: &Draw) -> u64 {
        let row = match (self.pick, draw.arrival().checked_sub(FIRST_EXTRA)) {
            (Pick::Random, _) => draw.below(self.salt, self.rows),
            (Pick::Unique, Some(extra)) => self.spare.saturating_add(extra),
            (Pick::Sequential, Some(extra)) => self.rows.wrapping_sub(1).wrapping_sub(extra),
            (Pick::Sequential | Pick::Unique, None) => self.base.wrapping_add(draw.arrival()),
        };
        row.checked_rem(self.rows).unwrap_or(0)
    }
}

impl Workload {
    /// The data file that has too few unique rows for the steps of this scenario to be sent once beside the schedule, if
    /// there is one.
    pub fn without_spare_rows(&self, scenario: impl Into<ScenarioIndex>) -> Option<&str> {
        let index = scenario.into();
        let takers = [RowTaker::Users(index), RowTaker::Arrivals(index)];
        let unique = self.data.iter().filter(|(_, source)| source.pick == Pick::Unique);
        let mut lacking = unique.filter(|(set, source)| {
            let takes = |taker: &RowTaker| self.row_takers(set).any(|(other, _)| other == *taker);
            takers.iter().filter(|taker| takes(taker)).any(|t| self.spare_rows(set, *t).end > source.rows)
        });
        lacking.next().map(|(set, _)| set.as_str())
    }

    /// The rows of a data file with unique rows that this taker uses beside the schedule: behind those that the schedule
    /// uses, and those that the takers before this one use beside it.
    fn spare_rows(&self, set: &str, taker: RowTaker) -> Range<u64> {
        let used = self.row_takers(set).filter_map(|(_, rows)| rows).fold(0, u64::saturating_add);
        let before = self.row_takers(set).take_while(|(other, _)| *other != taker);
        let start = before.map(|(other, _)| self.extra_rows(other)).fold(used, u64::saturating_add);
        start..start.saturating_add(self.extra_rows(taker))
    }

    /// How many requests beside the schedule need a row each: the steps of a mix are sent one by one.
    fn extra_rows(&self, taker: RowTaker) -> u64 {
        match taker {
            RowTaker::Setup => 0,
            RowTaker::Users(_) => 1,
            RowTaker::Arrivals(index) => match self.scenarios.get(index.0).map(|scenario| &scenario.flow) {
                Some(Flow::Mix(steps)) => steps.len() as u64,
                _ => 1,
            },
        }
    }

    /// Everyone who takes rows of the data file `set`, in order, with the number of rows that each needs where they are
    /// unique; none for a scenario that makes as many iterations as it can.
    pub fn row_takers(&self, set: &str) -> impl Iterator<Item = (RowTaker, Option<u64>)> {
        let setup = use_data(self.setup.iter(), set).then_some((RowTaker::Setup, Some(1)));
        let of_scenario = move |(index, scenario): (usize, &Scenario)| {
            let index = ScenarioIndex(index);
            let users = use_data(scenario.setup.iter(), set)
                .then(|| (RowTaker::Users(index), Some(u64::from(scenario.max_vus))));
            let arrivals = use_data(scenario.flow.steps(), set).then(|| {
                (RowTaker::Arrivals(index), self.arrivals_planned(index).map(|planned| planned.count))
            });
            users.into_iter().chain(arrivals)
        };
        setup.into_iter().chain(self.scenarios.iter().enumerate().flat_map(of_scenario))
    }
}

/// Whether a step takes values from the data file `set`.
fn use_data<'a>(mut steps: impl Iterator<Item = &'a Step>, set: &str) -> bool {
    let is_set = |value: &Value| matches!(value, Value::Data { set: used, .. } if used == set);
    steps.any(|step| step.templates().iter().any(|template| template.values().any(is_set)))
}
