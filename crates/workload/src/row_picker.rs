//! Which row of a data file an arrival gets.

use crate::draw::Draw;
use crate::index::ScenarioIndex;
use crate::model::{Pick, Scenario, Step, Workload};
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
    /// The arrivals of a scenario.
    Arrivals(ScenarioIndex),
}

/// Picks the rows of one data file for one taker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowPicker {
    pick: Pick,
    rows: u64,
    /// Rows that the takers before this one use, if rows are unique.
    base: u64,
    salt: u64,
}

impl RowPicker {
    /// The picker of `taker` for the data file `set`; none if the plan has no such file.
    pub fn new(workload: &Workload, taker: RowTaker, set: &str) -> Option<RowPicker> {
        let source = workload.data.get(set)?;
        let set_index = workload.data.keys().position(|name| name == set)? as u64;
        let base = match source.pick {
            Pick::Unique => {
                let before = workload.row_takers(set).take_while(|(other, _)| *other != taker);
                before.filter_map(|(_, rows)| rows).fold(0, u64::saturating_add)
            }
            Pick::Sequential | Pick::Random => 0,
        };
        // Far from the salts that steps use for their own choices.
        Some(RowPicker { pick: source.pick, rows: source.rows, base, salt: u64::MAX - set_index })
    }

    /// The row, from 0, for the arrival or the virtual user of `draw`; 0 if there are no rows.
    pub fn row(&self, draw: &Draw) -> u64 {
        match self.pick {
            Pick::Random => draw.below(self.salt, self.rows),
            Pick::Sequential | Pick::Unique => {
                self.base.wrapping_add(draw.arrival()).checked_rem(self.rows).unwrap_or(0)
            }
        }
    }
}

impl Workload {
    /// Everyone who takes rows of the data file `set`, in order, with the number of rows that each needs where they are
    /// unique; none for a scenario that makes as many iterations as it can.
    pub(crate) fn row_takers(&self, set: &str) -> impl Iterator<Item = (RowTaker, Option<u64>)> {
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
