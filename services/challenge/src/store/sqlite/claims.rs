//! Claims and the reward ledger in SQLite.

use crate::rewards::Grant;
use crate::store::claims::{ClaimIntent, OnTheirWay, Recorded};
use crate::user::UserId;
use kit::clock::UtcMs;
use rusqlite::{Connection, Row, params};

const COLUMNS: &str =
    "user_id, goal_id, period, idempotency_key, reward_type, reward_id, quantity, granted_at";

/// The claims of a user's goal, of every period.
pub(super) fn load(
    connection: &Connection,
    (user, goal_id): (&UserId, &str),
) -> rusqlite::Result<Vec<Recorded>> {
    let mut select = connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM claims WHERE user_id = ?1 AND goal_id = ?2"))?;
    let claims = select.query_map(params![user.as_str(), goal_id], read)?;
    claims.collect()
}

/// Claims that were left open, oldest first.
pub(super) fn pending(connection: &Connection, but: OnTheirWay) -> rusqlite::Result<Vec<ClaimIntent>> {
    let mut select = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM claims WHERE granted_at IS NULL AND (requested_at < ?1 OR requested_at > ?2)
         ORDER BY requested_at"
    ))?;
    let claims = select.query_map([but.from.0, but.until.0], read)?;
    claims.map(|recorded| recorded.map(|recorded| recorded.intent)).collect()
}

fn read(row: &Row<'_>) -> rusqlite::Result<Recorded> {
    let unfit = || rusqlite::Error::InvalidColumnType(0, "user_id".into(), rusqlite::types::Type::Text);
    let user = UserId::new(row.get_ref(0)?.as_str()?).ok_or_else(unfit)?;
    let grant = Grant {
        idempotency_key: row.get(3)?,
        user: user.clone(),
        reward_type: row.get(4)?,
        reward_id: row.get(5)?,
        quantity: row.get(6)?,
    };
    let is_granted = row.get::<_, Option<i64>>(7)?.is_some();
    Ok(Recorded {
        intent: ClaimIntent { user, goal_id: row.get(1)?, period: row.get(2)?, grant },
        is_granted,
    })
}

/// Records a claim, or that a recorded one was granted.
pub(super) fn save(
    connection: &Connection,
    (intent, granted_at): &(ClaimIntent, Option<UtcMs>),
    now: UtcMs,
) -> rusqlite::Result<()> {
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
            granted_at.map(|at| at.0)
        ])
        .map(drop)
}

/// Marks the row of a goal that has left the file, so that it is still claimed should it come back.
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

/// Enters a grant into the ledger; a key that is there already is left as it is.
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
