//! Faults that only this service can inject. This module exists only in builds with the feature `faults`.

use kit::faults::Fault;

/// Periodically discards every cached answer.
pub(crate) const STAMPEDE: &str = "stampede";
/// Reads without an index.
pub(crate) const UNINDEXED: &str = "unindexed";
/// Reads with too few connections.
pub(crate) const NARROW_STORE: &str = "narrow-store";
/// Moves stock without a lock.
pub(crate) const READ_THEN_WRITE: &str = "read-then-write";

/// The faults of this service, in addition to [`kit::faults::COMMON`].
pub const FAULTS: &[Fault] = &[
    Fault {
        name: STAMPEDE,
        amount: "milliseconds between two moments at which the whole cache is discarded",
        does: "all cached answers are discarded at once, and concurrent identical reads each query the store instead of sharing one query",
        shows: "`listings_cache_misses_total` rises in steps at this interval; `pg_statement_calls` rises in bursts; after each step response times of reads rise for a moment, so that p99 is far above p50",
    },
    Fault {
        name: UNINDEXED,
        amount: "N: one in N reads of statistics, lists and searches by the store is without an index",
        does: "statistics are computed over all listings; lists and searches compare an expression that no index covers",
        shows: "`listings_grpc_request_duration_seconds` of `GetProductStats`, `ListListings` and `SearchListings` rises with the number of listings; with PostgreSQL `pg_statement_time` of statements over `listings` and `listing_words` and `pg_cache_hits` rise, the service's own CPU does not change; with SQLite the service's CPU rises, in the profile under `sqlite3`",
    },
    Fault {
        name: NARROW_STORE,
        amount: "reader connections, instead of `DB_READERS` and of `DB_SEARCH_READERS`",
        does: "reads wait for a connection (PostgreSQL)",
        shows: "`listings_db_waits_total` rises with the load, `listings_db_connections_idle` stays at 0, response times of reads rise; `pg_connections` in state `active` is at most the amount, and the database's CPU is idle",
    },
    Fault {
        name: READ_THEN_WRITE,
        amount: "N: one in N groups of writes reads without a lock",
        does: "writes of one listing go to any connection; its row is read without a lock and then overwritten, although another connection may have written it in between (PostgreSQL)",
        shows: "response times, errors and CPU do not change; of concurrent movements of one product some are lost: its stock differs from the sum of the acknowledged movements and from `inventory_movements`, and a storefront's `total_value` from the value of its products",
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
