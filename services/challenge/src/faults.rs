//! The faults that only this service can inject. This module exists only in builds with the feature `faults`.

use kit::faults::Fault;

/// Reads goals one by one.
pub(crate) const GOAL_BY_GOAL: &str = "goal-by-goal";
/// Reads a whole table.
pub(crate) const UNINDEXED: &str = "unindexed";
/// Buffers more events than `EVENT_BUFFER`.
pub(crate) const BOUNDLESS: &str = "boundless";

/// Its own faults, beside [`kit::faults::COMMON`].
pub const FAULTS: &[Fault] = &[
    Fault {
        name: GOAL_BY_GOAL,
        amount: "times a user with events",
        does: "before a group of events is written, each goal of its users is read by a statement of its own (PostgreSQL)",
        shows: "events slower, CPU per event up; `pg_statement_calls` of the `SELECT` by user and goal many times the events; the profile names `store::postgres::faults::goal_by_goal`",
    },
    Fault {
        name: UNINDEXED,
        amount: "groups of events for each that does so",
        does: "the users' goals are looked for by an expression that no index serves (PostgreSQL)",
        shows: "events slower the more players there are; `pg_statement_time` of that `SELECT` and `pg_cache_hits` up, `host_cpu` up, the service's own CPU as it was",
    },
    Fault {
        name: BOUNDLESS,
        amount: "events held at most, instead of `EVENT_BUFFER`",
        does: "events are taken in that cannot be written in time",
        shows: "nothing is refused; `event_buffer_depth`, `rss` and the times of events rise as long as the load is above what the store can take",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_documented() {
        let documentation = include_str!("../../../docs/fault-injection.md");
        for fault in FAULTS {
            assert!(documentation.contains(&fault.row()), "docs/fault-injection.md lacks\n{}", fault.row());
        }
    }
}
