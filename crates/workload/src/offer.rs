//! What a workload would offer, second by second, without sending anything.

use crate::model::Workload;

/// Arrivals of each scenario in a stretch of equal seconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferRow {
    /// The first second, from the start of the run.
    pub from: u32,
    /// The second after the last.
    pub to: u32,
    /// The phase the first second lies in.
    pub phase: String,
    /// For each scenario, in the plan's order, what it offers in each of these seconds.
    pub offered: Vec<Offered>,
}

/// What one scenario offers in one second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offered {
    /// Open model: this many arrivals.
    Arrivals(u64),
    /// Closed model: this many virtual users, each as fast as the target lets it.
    Users(u32),
    /// It has not begun or is over.
    Nothing,
}

/// Everything a workload would offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The scenarios' names, in the plan's order.
    pub scenarios: Vec<String>,
    /// Equal seconds folded into one row.
    pub rows: Vec<OfferRow>,
    /// For each scenario all of its arrivals; none for closed ones.
    pub totals: Vec<Option<u64>>,
}

/// What `workload` would offer.
pub fn offer(_workload: &Workload) -> Offer {
    todo!()
}

impl Offer {
    /// As a table of text.
    pub fn render(&self) -> String {
        todo!()
    }
}
