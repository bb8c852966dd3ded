//! Which row of a data file an arrival gets.

use crate::draw::Draw;
use crate::index::ScenarioIndex;
use crate::model::{Pick, Workload};

#[cfg(test)]
mod tests;

/// Picks the rows of one data file for the arrivals of one scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowPicker {
    pick: Pick,
    rows: u64,
    /// Rows that the scenarios before this one use, if rows are unique.
    base: u64,
    salt: u64,
}

impl RowPicker {
    /// The picker for the data file `set` in `scenario`; none if the plan has no such file.
    pub fn new(workload: &Workload, scenario: impl Into<ScenarioIndex>, set: &str) -> Option<RowPicker> {
        let source = workload.data.get(set)?;
        let set_index = workload.data.keys().position(|name| name == set)? as u64;
        let base = match source.pick {
            Pick::Unique => rows_used_before(workload, scenario.into(), set),
            Pick::Sequential | Pick::Random => 0,
        };
        // Far from the salts that steps use for their own choices.
        Some(RowPicker { pick: source.pick, rows: source.rows, base, salt: u64::MAX - set_index })
    }

    /// The row, from 0, for the arrival of `draw`; 0 if there are no rows.
    pub fn row(&self, draw: &Draw) -> u64 {
        match self.pick {
            Pick::Random => draw.below(self.salt, self.rows),
            Pick::Sequential | Pick::Unique => {
                self.base.wrapping_add(draw.arrival()).checked_rem(self.rows).unwrap_or(0)
            }
        }
    }
}

/// How many rows of `set` the scenarios before `scenario` use: one for each of their arrivals.
fn rows_used_before(workload: &Workload, scenario: ScenarioIndex, set: &str) -> u64 {
    let before = (0..).zip(&workload.scenarios).take(scenario.0);
    before
        .filter(|(_, s)| s.uses_data(set))
        .filter_map(|(index, _)| workload.arrivals_planned(ScenarioIndex(index)))
        .map(|planned| planned.count)
        .sum()
}
