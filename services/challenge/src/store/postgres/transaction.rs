//! The two halves of a group's transaction. All statements of a half are sent before the first answer is waited for,
//! in the order in which they stand, so that each half costs one round trip.

use super::rows::{self, ClaimColumns, Columns, GrantColumns};
use super::statements::Writing;
use super::types::Stamp;
use crate::catalog::Catalog;
use crate::rewards::Grant;
use crate::store::batch::{Changes, Loaded, Needs};
use crate::store::claims::ClaimIntent;
use crate::store::command::EventKey;
use kit::clock::UtcMs;
use std::collections::HashSet;
use tokio_postgres::{Client, Error, Row};

/// Begins, makes the users' other writers wait, remembers the events and reads. Each statement sees what was
/// committed before it began, so what is read after the lock is what the last writer left.
pub(super) async fn load(
    client: &Client,
    statements: &Writing,
    (needs, catalog): (&Needs<'_>, &Catalog),
    now: UtcMs,
) -> Result<Loaded, Error> {
    let users: Vec<&str> = needs.users.iter().map(|user| user.as_str()).collect();
    let begin = client.batch_execute("BEGIN");
    let lock = async { client.execute(&statements.lock_players, &[&users]).await };
    let applied = take_ids(client, statements, (needs, now));
    let rows = async { client.query(&statements.users, &[&users]).await };
    let claims = load_claims(client, statements, needs);
    let ((), _locked, applied, rows, claims) = tokio::try_join!(biased; begin, lock, applied, rows, claims)?;
    let claims = claims.iter().filter_map(|row| rows::claim(row).transpose());
    let claims =
        claims.map(|claim| claim.map(|claim| (claim.intent.key(), claim))).collect::<Result<_, _>>()?;
    Ok(Loaded { users: rows::goals(&rows, catalog)?, applied, claims })
}

/// Remembers the group's events, to be committed with their effect; returns those that were known before.
async fn take_ids(
    client: &Client,
    statements: &Writing,
    (needs, now): (&Needs<'_>, UtcMs),
) -> Result<HashSet<EventKey>, Error> {
    let keys: Vec<EventKey> = needs.keys.iter().map(|(_, key)| *key).collect();
    let mut known: HashSet<EventKey> = keys.iter().copied().collect();
    if keys.is_empty() {
        return Ok(known);
    }
    let users: Vec<&str> = needs.keys.iter().map(|(user, _)| user.as_str()).collect();
    for fresh in client.query(&statements.take_ids, &[&users, &keys, &Stamp(now)]).await? {
        known.remove(&fresh.try_get(0)?);
    }
    Ok(known)
}

async fn load_claims(client: &Client, statements: &Writing, needs: &Needs<'_>) -> Result<Vec<Row>, Error> {
    if needs.claims.is_empty() {
        return Ok(Vec::new());
    }
    let users: Vec<&str> = needs.claims.iter().map(|(user, _)| user.as_str()).collect();
    let goals: Vec<&str> = needs.claims.iter().map(|(_, goal)| *goal).collect();
    client.query(&statements.claims, &[&users, &goals]).await
}

/// Writes and commits. The commit is sent with the rest: a statement that fails makes the server turn it into a
/// rollback, and the statement's error is returned. Each part must therefore be one statement.
pub(super) async fn write(
    client: &Client,
    statements: &Writing,
    (changes, catalog): (&Changes, &Catalog),
    now: UtcMs,
) -> Result<(), Error> {
    let rows = async {
        if changes.rows.is_empty() {
            return Ok(0);
        }
        client.execute(&statements.save_rows, &Columns::of(&changes.rows, catalog).parameters()).await
    };
    let claims = async {
        if changes.claims.is_empty() {
            return Ok(0);
        }
        client.execute(&statements.save_claims, &ClaimColumns::of(&changes.claims, now).parameters()).await
    };
    let unlisted = mark_claimed(client, statements, (&changes.unlisted, now));
    let grants = enter_grants(client, statements, (&changes.grants, now));
    let commit = client.batch_execute("COMMIT");
    tokio::try_join!(biased; rows, claims, unlisted, grants, commit).map(drop)
}

async fn mark_claimed(
    client: &Client,
    statements: &Writing,
    (unlisted, now): (&[ClaimIntent], UtcMs),
) -> Result<u64, Error> {
    if unlisted.is_empty() {
        return Ok(0);
    }
    let users: Vec<&str> = unlisted.iter().map(|claim| claim.user.as_str()).collect();
    let goals: Vec<&str> = unlisted.iter().map(|claim| claim.goal_id.as_str()).collect();
    let periods: Vec<i64> = unlisted.iter().map(|claim| claim.period).collect();
    client.execute(&statements.mark_claimed, &[&users, &goals, &periods, &Stamp(now)]).await
}

async fn enter_grants(
    client: &Client,
    statements: &Writing,
    (grants, now): (&[Grant], UtcMs),
) -> Result<u64, Error> {
    if grants.is_empty() {
        return Ok(0);
    }
    let columns = GrantColumns::of(grants);
    let [users, keys, kinds, rewards, quantities] = columns.parameters();
    let at = Stamp(now);
    client.execute(&statements.enter_grants, &[users, keys, kinds, rewards, quantities, &at]).await
}
