//! Fault injection: inefficient and incorrect uses of PostgreSQL.

use kit::faults::{FaultCounter, amount};
use kit::postgres::Session;
use tokio_postgres::{Error, Statement};

use super::statements::{ReaderStatements, WriterStatements};
use crate::faults::{NARROW_STORE, READ_THEN_WRITE};
use crate::store::faults::{is_unindexed, stats_over_all_listings};

static GROUPS: FaultCounter = FaultCounter::new();

/// The number of reader connections.
pub(super) fn readers(configured: usize) -> usize {
    amount(NARROW_STORE).map_or(configured, |count| usize::try_from(count).unwrap_or(configured))
}

/// The listing whose writes go to the same writer; `None` when they go to any writer.
pub(super) fn same_writer_key(listing: Option<i64>) -> Option<i64> {
    listing.filter(|_| amount(READ_THEN_WRITE).is_none())
}

/// The statement that loads the rows of a group.
pub(super) fn load_statement(statements: &WriterStatements) -> &Statement {
    if GROUPS.hits_next(READ_THEN_WRITE) { &statements.without_lock } else { &statements.lock }
}

/// The statement that computes a storefront's statistics over all listings, for reads without an index.
pub(super) async fn stats_statement(session: &Session<ReaderStatements>) -> Result<Option<Statement>, Error> {
    if !is_unindexed() {
        return Ok(None);
    }
    session.statements.page(session.client(), &stats_over_all_listings('$')).await.map(Some)
}
