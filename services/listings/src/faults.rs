//! The faults that only this service can be started with. This module exists in builds with the feature `faults` alone.

use kit::faults::Fault;

/// Forgets everything at once, again and again.
pub(crate) const STAMPEDE: &str = "stampede";
/// Asks so that no index serves.
pub(crate) const UNINDEXED: &str = "unindexed";
/// Has too few connections.
pub(crate) const NARROW_STORE: &str = "narrow-store";
/// Moves stock without a lock.
pub(crate) const READ_THEN_WRITE: &str = "read-then-write";

/// Its own faults, beside [`kit::faults::COMMON`].
pub const FAULTS: &[Fault] = &[
    Fault {
        name: STAMPEDE,
        amount: "milliseconds between two moments at which everything remembered is forgotten",
        does: "all answers are forgotten at once, and callers who ask the same at the same time each ask the store instead of sharing a query",
        shows: "`listings_cache_misses_total` rises in steps as far apart as that; `pg_statement_calls` in bursts; after each the times of reads rise for a moment, so that p99 lies far from p50",
    },
    Fault {
        name: UNINDEXED,
        amount: "sums, lists and searches asked of the store for each that is asked so",
        does: "sums are added up over all listings, lists and searches compare an expression that no index serves",
        shows: "`listings_grpc_request_duration_seconds` of `GetProductStats`, `ListListings` and `SearchListings` longer the more listings there are; with PostgreSQL `pg_statement_time` of statements over `listings` and `listing_words` and `pg_cache_hits` up, the service's own CPU as it was; with SQLite the service's CPU up, the profile in `sqlite3`",
    },
    Fault {
        name: NARROW_STORE,
        amount: "connections that read, instead of `DB_READERS`",
        does: "reads wait for a connection (PostgreSQL)",
        shows: "`listings_db_waits_total` rises with the load, `listings_db_connections_idle` stays at 0, times of reads rise; `pg_connections` in state `active` at most the amount, and the database's CPU idle",
    },
    Fault {
        name: READ_THEN_WRITE,
        amount: "groups of writes for each that does so",
        does: "writes of one listing go to any connection, and its row is read without a lock and written as it was decided, whoever has written in between (PostgreSQL)",
        shows: "no time, no error and no CPU tells; of movements of one product at the same time some are lost: its stock is not what the acknowledged movements add up to, nor what `inventory_movements` says, and a storefront's `total_value` not what its products are worth",
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
