//! Indices that more than one module uses.

/// Which scenario of a workload: its index in the plan's order, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScenarioIndex(pub usize);

impl From<usize> for ScenarioIndex {
    fn from(index: usize) -> ScenarioIndex {
        ScenarioIndex(index)
    }
}
