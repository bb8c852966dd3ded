//! Two faults that make the writing of events slow, injected on purpose.

use std::collections::BTreeSet;

use kit::faults::{FaultCounter, amount};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error};

use super::statements::WriterStatements;
use crate::faults::{GOAL_BY_GOAL, UNINDEXED};
use crate::store::read_set::ReadSet;

static GROUPS: FaultCounter = FaultCounter::new();

/// Injects them into a transaction that writes events.
pub(super) async fn strike(
    client: &Client,
    statements: &WriterStatements,
    read_set: &ReadSet<'_>,
) -> Result<(), Error> {
    let users: BTreeSet<&str> = read_set.events.iter().map(|event| event.user.as_str()).collect();
    if users.is_empty() {
        return Ok(());
    }
    for _ in 0..amount(GOAL_BY_GOAL).unwrap_or(0) {
        goal_by_goal(client, statements, &users).await?;
    }
    if GROUPS.hits_next(UNINDEXED) {
        unindexed(client, &users).await?;
    }
    Ok(())
}

async fn goal_by_goal(
    client: &Client,
    statements: &WriterStatements,
    users: &BTreeSet<&str>,
) -> Result<(), Error> {
    for user in users {
        for row in client.query(&statements.users, &[&[*user].as_slice()]).await? {
            let goal: &str = row.try_get(1)?;
            client.query(&statements.goals, &[&[*user].as_slice(), &[goal].as_slice()]).await?;
        }
    }
    Ok(())
}

async fn unindexed(client: &Client, users: &BTreeSet<&str>) -> Result<(), Error> {
    let users: Vec<&str> = users.iter().copied().collect();
    let read = "SELECT goal_id, value FROM user_goal_progress WHERE user_id || '' = ANY($1)";
    client.query_typed(read, &[(&users, Type::TEXT_ARRAY)]).await.map(drop)
}
