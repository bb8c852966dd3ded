//! Which rows of data files the loops of one process can ask for. A row follows from the number of its arrival, and a loop has
//! every n-th arrival: where the numbers are known before the load, the others need not be kept.

use workload::LoadedPlan;
use workload::model::{DataFrom, Executor, Flow, Scenario};
use workload::schedule::Segment;
use workload::{Draw, RowPicker, RowSet, RowTaker, Workload};

use crate::loops::LoopGroup;

/// If more arrivals than this take rows of a file, all of its rows are kept: they would be looked at one by one, a few nanoseconds each.
const MOST_ARRIVALS: u64 = 20_000_000;

impl LoopGroup {
    /// Forget the rows of data files that no arrival of these loops takes. All are kept of files that the virtual users of a
    /// scenario take rows of, or a scenario that makes as many iterations as it can.
    pub fn keep_needed_rows(&self, plan: &mut LoadedPlan) {
        let LoadedPlan { workload, tables, .. } = plan;
        for (set, source) in &workload.data {
            if matches!(source.from, DataFrom::File(_))
                && let Some(table) = tables.get_mut(set)
                && let Some(rows) = self.needed_rows(workload, set, source.rows)
            {
                table.keep_only(rows);
            }
        }
    }

    /// The rows of one file; none if all are needed.
    fn needed_rows(&self, workload: &Workload, set: &str, rows: u64) -> Option<RowSet> {
        let mut needed = RowSet::none_of(rows);
        let mut looked_at = 0_u64;
        for (taker, arrivals) in workload.row_takers(set) {
            let index = match taker {
                // It is sent by the process that coordinates.
                RowTaker::Setup => continue,
                RowTaker::Users(_) => return None,
                RowTaker::Arrivals(index) => index,
            };
            looked_at = looked_at.saturating_add(arrivals?);
            let scenario = workload.scenarios.get(index.0)?;
            if looked_at > MOST_ARRIVALS || matches!(scenario.flow, Flow::InTurn { .. }) {
                return None;
            }
            let picker = RowPicker::new(workload, taker, set)?;
            let row = |number| picker.row(&Draw::new(workload.seed, index, number));
            self.each_number(scenario, arrivals?, |number| needed.insert(row(number)));
        }
        Some(needed)
    }

    /// Look at the number of each arrival of a scenario that these loops may make, of so many in all.
    fn each_number(&self, scenario: &Scenario, arrivals: u64, mut look: impl FnMut(u64)) {
        let of_loops = || (0..self.loops).map(|index| self.segment(index));
        let of_segment = |segment: Segment| {
            (0..).map(|k| segment.nth(k)).take_while(|number| *number < arrivals).for_each(&mut look);
        };
        match &scenario.executor {
            Executor::SharedIterations { .. } => {
                let own = self.of_shared(scenario.max_vus);
                (0..own.share(arrivals)).for_each(|k| look(own.nth(k)));
            }
            // The k-th iterations of all virtual users have consecutive numbers.
            Executor::PerVuIterations { vus, iterations, .. } => {
                let vus = u64::from(*vus);
                for segment in of_loops() {
                    let users = (0..segment.share(vus)).map(|slot| segment.nth(slot));
                    users.for_each(|user| (0..*iterations).for_each(|k| look(k.saturating_mul(vus) + user)));
                }
            }
            _ => of_loops().for_each(of_segment),
        }
    }
}

#[cfg(test)]
mod tests;
