//! How far the loops of a run have delivered their ticks.

use std::collections::BTreeMap;

use crate::instance::Instance;
use crate::tick::Tick;

/// The whole seconds that each loop of a run has delivered.
#[derive(Debug, Clone, Default)]
pub struct DeliveredSeconds {
    loops: usize,
    /// None of a loop that is over.
    by_loop: BTreeMap<Instance, Option<u32>>,
}

impl DeliveredSeconds {
    /// Of a run with so many loops.
    pub fn new(loops: u16) -> DeliveredSeconds {
        DeliveredSeconds { loops: usize::from(loops), by_loop: BTreeMap::new() }
    }

    /// A loop has delivered this tick.
    pub fn take(&mut self, tick: &Tick) {
        self.by_loop.insert(tick.instance, (!tick.is_last).then_some(tick.second + 1));
    }

    /// How many whole seconds every loop has delivered that is not over; none before each has delivered one, and when
    /// all are over.
    pub fn by_all(&self) -> Option<u32> {
        let has_each_delivered = self.by_loop.len() >= self.loops;
        self.by_loop.values().copied().flatten().min().filter(|_| has_each_delivered)
    }

    /// Of how many whole seconds nothing more will come: none before each loop has delivered one, and every one when all
    /// loops are over.
    pub fn complete(&self) -> u32 {
        if self.by_loop.len() < self.loops { 0 } else { self.by_all().unwrap_or(u32::MAX) }
    }
}
