//! Claims and the reward ledger in SQLite.

use kit::clock::UtcMs;
use rusqlite::{Connection, Row, params};

use crate::grant::Grant;
use crate::store::claims::{ClaimIntent, OpenClaims, StoredClaim};
use crate::store::read_set::ClaimRef;

const COLUMNS: &str = "user_id, goal_id, period, idempotency_key, reward_type, reward_id, quantity, requested_at, \
                       granted_at, retry_at, refusals, refused_at";

/// The claims of a user's goal in every period.
pub(super) fn load(connection: &Connection, claim: ClaimRef<'_>) -> rusqlite::Result<Vec<StoredClaim>> {
    let mut select = connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM claims WHERE user_id = ?1 AND goal_id = ?2"))?;
    let claims = select.query_map(params![claim.user.as_str(), claim.goal_id], read)?;
    claims.filter_map(Result::transpose).collect()
}

/// Open claims, those first that are due the longest.
pub(super) fn open(connection: &Connection, which: OpenClaims) -> rusqlite::Result<Vec<ClaimIntent>> {
    let mut select = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM claims
         WHERE granted_at IS NULL AND refused_at IS NULL AND (retry_at <= ?1 OR retry_at > ?2)
         ORDER BY retry_at LIMIT 1000"
    ))?;
    let claims = select.query_map(which.edges().map(|edge| edge.0), read)?;
    claims.filter_map(Result::transpose).map(|stored| stored.map(|stored| stored.intent)).collect()
}

/// `None` when the user id is invalid.
fn read(row: &Row<'_>) -> rusqlite::Result<Option<StoredClaim>> {
    let idempotency_key: String = row.get(3)?;
    let Some(user) = StoredClaim::user(row.get_ref(0)?.as_str()?, &idempotency_key) else { return Ok(None) };
    let grant = Grant {
        idempotency_key,
        user: user.clone(),
        reward_type: row.get(4)?,
        reward_id: row.get(5)?,
        quantity: row.get(6)?,
    };
    let begun_at = UtcMs(row.get(7)?);
    Ok(Some(StoredClaim {
        intent: ClaimIntent { user, goal_id: row.get(1)?, period: row.get(2)?, grant, begun_at },
        granted_at: row.get::<_, Option<i64>>(8)?.map(UtcMs),
        retry_at: UtcMs(row.get(9)?),
        refusals: row.get(10)?,
        refused_at: row.get::<_, Option<i64>>(11)?.map(UtcMs),
        is_changed: false,
    }))
}

/// Records a claim, or how far a recorded one came.
pub(super) fn save(connection: &Connection, claim: &StoredClaim) -> rusqlite::Result<()> {
    let intent = &claim.intent;
    connection
        .prepare_cached(&format!(
            "INSERT INTO claims ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
             ON CONFLICT (user_id, goal_id, period) DO UPDATE SET idempotency_key = excluded.idempotency_key,
                 reward_type = excluded.reward_type, reward_id = excluded.reward_id, quantity = excluded.quantity,
                 requested_at = excluded.requested_at, granted_at = excluded.granted_at,
                 retry_at = excluded.retry_at, refusals = excluded.refusals, refused_at = excluded.refused_at"
        ))?
        .execute(params![
            intent.user.as_str(),
            intent.goal_id,
            intent.period,
            intent.grant.idempotency_key,
            intent.grant.reward_type,
            intent.grant.reward_id,
            intent.grant.quantity,
            intent.begun_at.0,
            claim.granted_at.map(|at| at.0),
            claim.retry_at.0,
            claim.refusals,
            claim.refused_at.map(|at| at.0)
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
