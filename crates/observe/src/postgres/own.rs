//! What a session knows about itself and its server.

/// Transactions of the observer itself, which the server counts like any others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct OwnTransactions {
    pub(super) commits: u64,
    pub(super) rollbacks: u64,
}

/// The extension `pg_stat_statements`, where it is installed.
#[derive(Debug, Clone)]
pub(super) struct StatementsView {
    /// Its schema, quoted.
    pub(super) schema: String,
    /// Whether it says when it was reset, which it does since PostgreSQL 14.
    pub(super) has_info: bool,
}
