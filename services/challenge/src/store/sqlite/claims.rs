//! Claims and the reward ledger in SQLite.

use kit::clock::UtcMs;
use rusqlite::{Connection, Row, params};

use crate::grant::Grant;
use crate::store::claims::{ClaimChange, ClaimIntent, InFlightWindow, StoredClaim};
use crate::store::read_set::ClaimRef;
use crate::user::UserId;

const COLUMNS: &str =
    "user_id, goal_id, period, idempotency_key, reward_type, reward_id, quantity, granted_at";

/// The claims of a user's goal in every period.
pub(super) fn load(connection: &Connection, claim: ClaimRef<'_>) -> rusqlite::Result<Vec<StoredClaim>> {
    let mut select = connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM claims WHERE user_id = ?1 AND goal_id = ?2"))?;
    let claims = select.query_map(params![claim.user.as_str(), claim.goal_id], read)?;
    claims.collect()
}

/// Claims that were left open, oldest first.
pub(super) fn pending(
    connection: &Connection,
    in_flight: InFlightWindow,
) -> rusqlite::Result<Vec<ClaimIntent>> {
    let mut select = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM claims WHERE granted_at IS NULL AND (requested_at < ?1 OR requested_at > ?2)
         ORDER BY requested_at"
    ))?;
    let claims = select.query_map([in_flight.from.0, in_flight.until.0], read)?;
    claims.map(|stored| stored.map(|stored| stored.intent)).collect()
}

fn read(row: &Row<'_>) -> rusqlite::Result<StoredClaim> {
    let invalid = || rusqlite::Error::InvalidColumnType(0, "user_id".into(), rusqlite::types::Type::Text);
    let user = UserId::new(row.get_ref(0)?.as_str()?).ok_or_else(invalid)?;
    let grant = Grant {
        idempotency_key: row.get(3)?,
        user: user.clone(),
        reward_type: row.get(4)?,
        reward_id: row.get(5)?,
        quantity: row.get(6)?,
    };
    let is_granted = row.get::<_, Option<i64>>(7)?.is_some();
    Ok(StoredClaim {
        intent: ClaimIntent { user, goal_id: row.get(1)?, period: row.get(2)?, grant },
        is_granted,
    })
}

/// Records a claim, or that a recorded one was granted.
pub(super) fn save(connection: &Connection, claim: &ClaimChange, now: UtcMs) -> rusqlite::Result<()> {
    let intent = &claim.intent;
    connection
        .prepare_cached(
            "INSERT INTO claims VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
             ON CONFLICT (user_id, goal_id, period) DO UPDATE SET granted_at = excluded.granted_at",
        )?
        .execute(params![
            intent.user.as_str(),
            intent.goal_id,
            intent.period,
            intent.grant.idempotency_key,
            intent.grant.reward_type,
            intent.grant.reward_id,
            intent.grant.quantity,
            now.0,
            claim.granted_at.map(|at| at.0)
        ])
        .map(drop)
}

/// Marks the row of a goal that was removed from the challenge file: if the goal comes back, it is still claimed.
pub(super) fn mark_unlisted(
    connection: &Connection,
    intent: &ClaimIntent,
    now: UtcMs,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE user_goal_progress SET claimed_at = ?4, completed_at = coalesce(completed_at, ?4)
             WHERE user_id = ?1 AND goal_id = ?2 AND period = ?3",
        )?
        .execute(params![intent.user.as_str(), intent.goal_id, intent.period, now.0])
        .map(drop)
}

/// Enters a grant into the ledger, unless its key is already in it.
pub(super) fn enter(connection: &Connection, grant: &Grant, now: UtcMs) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT INTO reward_ledger VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING")?
        .execute(params![
            grant.idempotency_key,
            grant.user.as_str(),
            grant.reward_type,
            grant.reward_id,
            grant.quantity,
            now.0
        ])
        .map(drop)
}
