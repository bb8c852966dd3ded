//! Indexes of a program's parts and of a loop's virtual users, operations and connections.
//!
//! Each kind of index is a type of its own, so that one cannot be passed where another is meant.

/// The index of an endpoint in the program, over all scenarios.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EndpointIndex(pub usize);

/// The index of a step in the program among those whose requests are all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConstantIndex(pub(crate) usize);

/// The index of an origin in the program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OriginIndex(pub usize);

/// The index of a check in its endpoint's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckIndex(pub u16);

/// The index of a check of iterations, over all scenarios.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckNameIndex(pub(crate) usize);

/// The index of a phase in the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PhaseIndex(pub(crate) u32);

/// The index of a scenario in the program; one past the last for the run's setup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScenarioIndex(pub(crate) usize);

/// The index of a virtual user in its loop, over all scenarios.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct UserIndex(pub(crate) u32);

/// The index of a VU slot of a closed scenario in its loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct VuSlotIndex(pub(crate) u32);

/// The index of an operation in its loop's pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OperationIndex(pub(crate) u32);

/// The index of a connection in its loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConnectionIndex(pub(crate) usize);

/// The index of a pool of connections in its loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PoolIndex(pub(crate) u32);

/// The part of an endpoint's load that is due in one phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EndpointPhase {
    pub(crate) endpoint: EndpointIndex,
    pub(crate) phase: PhaseIndex,
}

/// The part of a scenario's load that is due in one phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScenarioPhase {
    pub(crate) scenario: ScenarioIndex,
    pub(crate) phase: PhaseIndex,
}

/// The entry of a list that grows as far as its indexes do; `empty` is what entries between them contain.
pub(crate) fn grown<T: Clone>(list: &mut Vec<T>, index: usize, empty: T) -> &mut T {
    if index >= list.len() {
        list.resize(index + 1, empty);
    }
    &mut list[index]
}
