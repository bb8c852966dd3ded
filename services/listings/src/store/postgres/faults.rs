//! Ways in which PostgreSQL could be used badly, put in on purpose.

use super::statements::{Reading, Writing};
use crate::faults::{NARROW_STORE, READ_THEN_WRITE};
use crate::store::faults::{is_unindexed, sums_of_all};
use kit::faults::{FaultCounter, amount};
use kit::postgres::Session;
use tokio_postgres::{Error, Statement};

static GROUPS: FaultCounter = FaultCounter::new();

/// How many connections read.
pub(super) fn readers(configured: usize) -> usize {
    amount(NARROW_STORE).map_or(configured, |few| usize::try_from(few).unwrap_or(configured))
}

/// The listing whose writes are written together; none where they go to any writer.
pub(super) fn together(listing: Option<i64>) -> Option<i64> {
    listing.filter(|_| amount(READ_THEN_WRITE).is_none())
}

/// The statement that reads the rows that a group is decided on.
pub(super) fn read(statements: &Writing) -> &Statement {
    if GROUPS.hits_next(READ_THEN_WRITE) { &statements.without_lock } else { &statements.lock }
}

/// The statement that adds a storefront's sums up, when it is its turn.
pub(super) async fn sums(session: &Session<Reading>) -> Result<Option<Statement>, Error> {
    if !is_unindexed() {
        return Ok(None);
    }
    session.statements.page(session.client(), &sums_of_all('$')).await.map(Some)
}
