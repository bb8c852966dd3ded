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
        amount: "how often each goal is read",
        does: "before a group of events is written, each goal of its users is read by a separate statement (PostgreSQL)",
        shows: "response times and CPU per event rise; `pg_statement_calls` of the `SELECT` by user and goal is many times the number of events; the profile names `store::postgres::faults::goal_by_goal`",
    },
    Fault {
        name: UNINDEXED,
        amount: "N: one in N groups of events does this",
        does: "the users' goals are looked up by an expression that no index serves (PostgreSQL)",
        shows: "response times of events rise with the number of players; `pg_statement_time` of that `SELECT`, `pg_cache_hits` and `host_cpu` rise; the service's own CPU does not change",
    },
    Fault {
        name: BOUNDLESS,
        amount: "limit on buffered events, instead of `EVENT_BUFFER`",
        does: "events are accepted that cannot be written in time",
        shows: "nothing is refused; `event_buffer_depth`, `rss` and response times of events rise as long as the load exceeds the store's rate",
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
