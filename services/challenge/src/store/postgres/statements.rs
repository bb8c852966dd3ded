//! Every statement, as text and prepared. Each names its users, except three: two find old rows (`EXPIRED_IDS`,
//! `OPEN_CLAIMS`), one checks whether the server answers.

use kit::postgres::Prepared;
use tokio_postgres::{Client, Error, Statement};

/// Inserts the missing rows of `players` and locks all of them, in the order given: two groups that share users can
/// wait for each other, but cannot deadlock. The condition keeps existing rows from being written.
pub(super) const LOCK_PLAYERS: &str = "
    INSERT INTO players (user_id) SELECT unnest($1::text[])
    ON CONFLICT (user_id) DO UPDATE SET user_id = excluded.user_id WHERE false";
/// Remembers events, stamped by the server, because the replicas' clocks differ. Returns those that were not known.
pub(super) const TAKE_IDS: &str = "
    INSERT INTO event_ids (user_id, event_key, seen_at)
    SELECT user_id, event_key, now() FROM unnest($1::text[], $2::uuid[]) AS taken (user_id, event_key)
    ON CONFLICT (user_id, event_key) DO NOTHING RETURNING event_key";
/// All goals of some users.
pub(super) const USERS: &str = "
    SELECT user_id, goal_id, value, baseline_value, is_active, assigned_at, completed_at, claimed_at, period,
           counted_at, baseline_version, baseline_told_at
    FROM user_goal_progress WHERE user_id = ANY($1)";
/// Some goals of some users.
pub(super) const GOALS: &str = "
    SELECT user_id, goal_id, value, baseline_value, is_active, assigned_at, completed_at, claimed_at, period,
           counted_at, baseline_version, baseline_told_at
    FROM user_goal_progress WHERE (user_id, goal_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))";
pub(super) const CLAIMS: &str = "
    SELECT user_id, goal_id, period, idempotency_key, reward_type, reward_id, quantity, requested_at, granted_at,
           retry_at, refusals, refused_at
    FROM claims WHERE (user_id, goal_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))";
pub(super) const SAVE_ROWS: &str = "
    INSERT INTO user_goal_progress (user_id, goal_id, value, baseline_value, is_active, assigned_at, completed_at,
                                    claimed_at, period, counted_at, baseline_version, baseline_told_at)
    SELECT * FROM unnest($1::text[], $2::text[], $3::int[], $4::int[], $5::bool[], $6::timestamptz[],
                         $7::timestamptz[], $8::timestamptz[], $9::bigint[], $10::timestamptz[], $11::bigint[],
                         $12::timestamptz[])
    ON CONFLICT (user_id, goal_id) DO UPDATE SET
        value = excluded.value, baseline_value = excluded.baseline_value, is_active = excluded.is_active,
        assigned_at = excluded.assigned_at, completed_at = excluded.completed_at,
        claimed_at = excluded.claimed_at, period = excluded.period, counted_at = excluded.counted_at,
        baseline_version = excluded.baseline_version, baseline_told_at = excluded.baseline_told_at";
/// Records claims, or how far recorded ones came.
pub(super) const SAVE_CLAIMS: &str = "
    INSERT INTO claims (user_id, goal_id, period, idempotency_key, reward_type, reward_id, quantity, requested_at,
                        granted_at, retry_at, refusals, refused_at)
    SELECT *
    FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::int[],
                $8::timestamptz[], $9::timestamptz[], $10::timestamptz[], $11::int[], $12::timestamptz[])
    ON CONFLICT (user_id, goal_id, period) DO UPDATE SET
        idempotency_key = excluded.idempotency_key, reward_type = excluded.reward_type,
        reward_id = excluded.reward_id, quantity = excluded.quantity, requested_at = excluded.requested_at,
        granted_at = excluded.granted_at, retry_at = excluded.retry_at, refusals = excluded.refusals,
        refused_at = excluded.refused_at";
/// For goals that were removed from the challenge file: if they come back, they are still claimed.
pub(super) const MARK_CLAIMED: &str = "
    UPDATE user_goal_progress AS row SET claimed_at = $4, completed_at = coalesce(completed_at, $4)
    FROM unnest($1::text[], $2::text[], $3::bigint[]) AS claimed (user_id, goal_id, period)
    WHERE row.user_id = claimed.user_id AND row.goal_id = claimed.goal_id AND row.period = claimed.period";
pub(super) const ENTER_GRANTS: &str = "
    INSERT INTO reward_ledger (user_id, idempotency_key, reward_type, reward_id, quantity, granted_at)
    SELECT user_id, idempotency_key, reward_type, reward_id, quantity, $6
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int[])
        AS granted (user_id, idempotency_key, reward_type, reward_id, quantity)
    ON CONFLICT (user_id, idempotency_key) DO NOTHING";
/// Open claims, those first that are due the longest.
pub(super) const OPEN_CLAIMS: &str = "
    SELECT user_id, goal_id, period, idempotency_key, reward_type, reward_id, quantity, requested_at, granted_at,
           retry_at, refusals, refused_at
    FROM claims WHERE granted_at IS NULL AND refused_at IS NULL AND (retry_at <= $1 OR retry_at > $2)
    ORDER BY retry_at LIMIT 1000";
/// Ids seen longer ago than a number of seconds. A bounded number at a time, so that a backlog of any size is deleted
/// within the limit on a statement.
pub(super) const EXPIRED_IDS: &str = "
    DELETE FROM event_ids WHERE (user_id, event_key) IN
        (SELECT user_id, event_key FROM event_ids WHERE seen_at < now() - make_interval(secs => $1) LIMIT 20000)";

pub(super) struct WriterStatements {
    pub(super) lock_players: Statement,
    pub(super) take_ids: Statement,
    pub(super) users: Statement,
    pub(super) goals: Statement,
    pub(super) claims: Statement,
    pub(super) save_rows: Statement,
    pub(super) save_claims: Statement,
    pub(super) mark_claimed: Statement,
    pub(super) enter_grants: Statement,
}

impl Prepared for WriterStatements {
    async fn prepare(client: &Client) -> Result<Self, Error> {
        Ok(Self {
            lock_players: client.prepare(LOCK_PLAYERS).await?,
            take_ids: client.prepare(TAKE_IDS).await?,
            users: client.prepare(USERS).await?,
            goals: client.prepare(GOALS).await?,
            claims: client.prepare(CLAIMS).await?,
            save_rows: client.prepare(SAVE_ROWS).await?,
            save_claims: client.prepare(SAVE_CLAIMS).await?,
            mark_claimed: client.prepare(MARK_CLAIMED).await?,
            enter_grants: client.prepare(ENTER_GRANTS).await?,
        })
    }
}

pub(super) struct ReaderStatements {
    pub(super) users: Statement,
}

impl Prepared for ReaderStatements {
    async fn prepare(client: &Client) -> Result<Self, Error> {
        Ok(Self { users: client.prepare(USERS).await? })
    }
}

/// The statements of the maintenance task.
pub(super) struct MaintenanceStatements {
    pub(super) open_claims: Statement,
    pub(super) expired_ids: Statement,
}

impl Prepared for MaintenanceStatements {
    async fn prepare(client: &Client) -> Result<Self, Error> {
        Ok(Self {
            open_claims: client.prepare(OPEN_CLAIMS).await?,
            expired_ids: client.prepare(EXPIRED_IDS).await?,
        })
    }
}
