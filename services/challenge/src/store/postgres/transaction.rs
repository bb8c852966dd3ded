//! The two halves of a group's transaction. All statements of a half are sent before the first answer is waited for,
//! in the order in which they stand, so that each half costs one round trip.

use super::rows::{self, ClaimColumns, Columns, GrantColumns};
use super::statements::Writing;
use crate::catalog::Catalog;
use crate::rewards::Grant;
use crate::store::batch::{Changes, Loaded};
use crate::store::claims::ClaimIntent;
use crate::store::command::EventKey;
use crate::store::needs::Needs;
use crate::user::UserId;
use kit::clock::UtcMs;
use kit::postgres::Stamp;
use std::collections::HashSet;
use tokio_postgres::{Client, Error, Row};

/// Begins, makes the users' other writers wait, remembers the events and reads. Each statement sees what was
/// committed before it began, so what is read after the lock is what the last writer left. One round trip, unless
/// somebody else took rows away: then one more.
pub(super) async fn load(
    client: &Client,
    statements: &Writing,
    (needs, catalog): (&mut Needs<'_>, &Catalog),
) -> Result<Loaded, Error> {
    let users: Vec<&str> = needs.users.keys().map(|user| user.as_str()).collect();
    let begin = client.batch_execute("BEGIN");
    let lock = async { client.execute(&statements.lock_players, &[&users]).await };
    let applied = take_ids(client, statements, needs);
    let whole = load_whole(client, statements, needs.whole().collect());
    let parts = load_parts(client, statements, (needs, catalog));
    let claims = load_claims(client, statements, needs);
    let ((), _locked, applied, whole, parts, claims) =
        tokio::try_join!(biased; begin, lock, applied, whole, parts, claims)?;
    #[cfg(feature = "faults")]
    super::faults::strike(client, statements, needs).await?;
    let mut found = rows::goals(&parts, catalog)?;
    let again = load_whole(client, statements, needs.widen(&found, catalog)).await?;
    found.extend(rows::goals(&whole, catalog)?);
    found.extend(rows::goals(&again, catalog)?);
    let claims = claims.iter().filter_map(|row| rows::claim(row).transpose());
    let claims =
        claims.map(|claim| claim.map(|claim| (claim.intent.key(), claim))).collect::<Result<_, _>>()?;
    Ok(Loaded { users: needs.held(found), applied, claims })
}

/// Remembers the group's events, to be committed with their effect; returns those that were known before.
async fn take_ids(
    client: &Client,
    statements: &Writing,
    needs: &Needs<'_>,
) -> Result<HashSet<EventKey>, Error> {
    let keys: Vec<EventKey> = needs.keys.iter().map(|(_, key)| *key).collect();
    let mut known: HashSet<EventKey> = keys.iter().copied().collect();
    if keys.is_empty() {
        return Ok(known);
    }
    let users: Vec<&str> = needs.keys.iter().map(|(user, _)| user.as_str()).collect();
    for fresh in client.query(&statements.take_ids, &[&users, &keys]).await? {
        known.remove(&fresh.try_get(0)?);
    }
    Ok(known)
}

async fn load_whole(client: &Client, statements: &Writing, users: Vec<&UserId>) -> Result<Vec<Row>, Error> {
    if users.is_empty() {
        return Ok(Vec::new());
    }
    let users: Vec<&str> = users.into_iter().map(UserId::as_str).collect();
    client.query(&statements.users, &[&users]).await
}

async fn load_parts(
    client: &Client,
    statements: &Writing,
    (needs, catalog): (&Needs<'_>, &Catalog),
) -> Result<Vec<Row>, Error> {
    let (mut users, mut ids) = (Vec::new(), Vec::new());
    for (user, goals) in needs.parts() {
        users.extend(goals.iter().map(|_| user.as_str()));
        ids.extend(goals.iter().map(|goal| catalog.goal(*goal).id.as_str()));
    }
    if users.is_empty() {
        return Ok(Vec::new());
    }
    client.query(&statements.goals, &[&users, &ids]).await
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
