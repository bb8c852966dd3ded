//! Claims on disk: the intent with its idempotency key, recorded before the reward is asked for, and the ledger.

use super::command::EventKey;
use crate::catalog::{Catalog, GoalIx};
use crate::rewards::Grant;
use crate::rules::{ClaimRefusal, GoalRow};
use crate::user::UserId;
use kit::clock::UtcMs;
use rusqlite::{Connection, OptionalExtension, Row, params};

/// A claim that was begun: what to grant, under which key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimIntent {
    /// Whose claim.
    pub user: UserId,
    /// Which goal, by id: the goal may have left the file since.
    pub goal_id: String,
    /// The rotation period that the claim is for; 0 for goals that never rotate.
    pub period: i64,
    /// What to grant.
    pub grant: Grant,
}

/// How a claim begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimStart {
    /// The intent is durable: the reward may be asked for.
    Begun(ClaimIntent),
    /// The rules say no.
    Refused(ClaimRefusal),
}

/// How a claim ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimEnd {
    /// This call ended it.
    Claimed(UtcMs),
    /// It had been ended before.
    Already,
}

/// The intent of an unfinished claim on this row, or a new one, recorded.
pub(super) fn begin(
    connection: &Connection,
    (catalog, user): (&Catalog, &UserId),
    row: &GoalRow,
    now: UtcMs,
) -> rusqlite::Result<ClaimIntent> {
    let goal_id = &catalog.goal(row.goal).id;
    let recorded = connection
        .prepare_cached(
            "SELECT user_id, goal_id, period, idempotency_key, reward_type, reward_id, quantity FROM claims
             WHERE user_id = ?1 AND goal_id = ?2 AND period = ?3",
        )?
        .query_row(params![user.as_str(), goal_id, row.period], read)
        .optional()?;
    if let Some(intent) = recorded {
        return Ok(intent);
    }
    let intent = intent(catalog, user, row.goal, row.period);
    connection.prepare_cached("INSERT INTO claims VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, NULL)")?.execute(
        params![
            user.as_str(),
            goal_id,
            row.period,
            intent.grant.idempotency_key,
            intent.grant.reward_type,
            intent.grant.reward_id,
            intent.grant.quantity,
            now.0
        ],
    )?;
    Ok(intent)
}

fn intent(catalog: &Catalog, user: &UserId, goal: GoalIx, period: i64) -> ClaimIntent {
    let goal = catalog.goal(goal);
    let key = EventKey::new("claim", user, &format!("{period}/{}", goal.id));
    let grant = Grant {
        idempotency_key: format!("claim-{:032x}", key.0),
        user: user.clone(),
        reward_type: goal.reward.kind.to_owned(),
        reward_id: goal.reward.id.clone(),
        quantity: goal.reward.quantity,
    };
    ClaimIntent { user: user.clone(), goal_id: goal.id.clone(), period, grant }
}

/// Marks the claim as granted; false when it was so already.
pub(super) fn end(connection: &Connection, intent: &ClaimIntent, now: UtcMs) -> rusqlite::Result<bool> {
    let changed = connection
        .prepare_cached(
            "UPDATE claims SET granted_at = ?4
             WHERE user_id = ?1 AND goal_id = ?2 AND period = ?3 AND granted_at IS NULL",
        )?
        .execute(params![intent.user.as_str(), intent.goal_id, intent.period, now.0])?;
    Ok(changed == 1)
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

/// Claims begun and not ended, oldest first.
pub(super) fn pending(connection: &Connection) -> rusqlite::Result<Vec<ClaimIntent>> {
    let mut select = connection.prepare(
        "SELECT user_id, goal_id, period, idempotency_key, reward_type, reward_id, quantity FROM claims
         WHERE granted_at IS NULL ORDER BY requested_at",
    )?;
    let intents = select.query_map([], read)?;
    intents.collect()
}

fn read(row: &Row<'_>) -> rusqlite::Result<ClaimIntent> {
    let unfit = || rusqlite::Error::InvalidColumnType(0, "user_id".into(), rusqlite::types::Type::Text);
    let user = UserId::new(row.get_ref(0)?.as_str()?).ok_or_else(unfit)?;
    let grant = Grant {
        idempotency_key: row.get(3)?,
        user: user.clone(),
        reward_type: row.get(4)?,
        reward_id: row.get(5)?,
        quantity: row.get(6)?,
    };
    Ok(ClaimIntent { user, goal_id: row.get(1)?, period: row.get(2)?, grant })
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
