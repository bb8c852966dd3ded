//! Two ways in which the writing of events could be slow, put in on purpose.

use super::statements::Writing;
use crate::faults::{GOAL_BY_GOAL, UNINDEXED};
use crate::store::needs::Needs;
use kit::faults::{FaultCounter, amount};
use std::collections::BTreeSet;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error};

static GROUPS: FaultCounter = FaultCounter::new();

/// Puts them into a transaction that writes events.
pub(super) async fn strike(client: &Client, statements: &Writing, needs: &Needs<'_>) -> Result<(), Error> {
    let users: BTreeSet<&str> = needs.keys.iter().map(|(user, _)| user.as_str()).collect();
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

async fn goal_by_goal(client: &Client, statements: &Writing, users: &BTreeSet<&str>) -> Result<(), Error> {
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
