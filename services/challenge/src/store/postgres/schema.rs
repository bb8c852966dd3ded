//! The schema in PostgreSQL: forward only, one entry per version.

use kit::store::Migrations;

/// Each entry brings the schema from its version to the next. Entries are never changed, only added.
///
/// The user is the first column of every table and part of every key: partitioned by user, each statement stays on one
/// shard. `players` has a row for each user who was ever written: locking it serialises the user's writes over all
/// replicas. `user_goal_progress` has no index besides its key, so that an update of a row stays on its page.
/// `event_ids` is written in the order of time, so a block-range index finds expired ids at no cost to writes.
pub(super) const MIGRATIONS: Migrations =
    Migrations { service: "challenge", first_table: "players", steps: &STEPS };

const STEPS: [&str; 3] = [
    "
    CREATE TABLE players (
        user_id TEXT PRIMARY KEY
    );
    CREATE TABLE user_goal_progress (
        user_id TEXT NOT NULL,
        goal_id TEXT NOT NULL,
        value INTEGER NOT NULL CHECK (value >= 0),
        baseline_value INTEGER,
        is_active BOOLEAN NOT NULL,
        assigned_at TIMESTAMPTZ,
        completed_at TIMESTAMPTZ,
        claimed_at TIMESTAMPTZ CHECK (claimed_at IS NULL OR completed_at IS NOT NULL),
        period BIGINT NOT NULL DEFAULT 0,
        expires_at TIMESTAMPTZ,
        baseline_version BIGINT,
        baseline_told_at TIMESTAMPTZ,
        PRIMARY KEY (user_id, goal_id)
    ) WITH (fillfactor = 85);
    CREATE TABLE event_ids (
        user_id TEXT NOT NULL,
        event_key UUID NOT NULL,
        seen_at TIMESTAMPTZ NOT NULL,
        PRIMARY KEY (user_id, event_key)
    );
    CREATE INDEX event_ids_seen_at ON event_ids USING brin (seen_at);
    CREATE TABLE claims (
        user_id TEXT NOT NULL,
        goal_id TEXT NOT NULL,
        period BIGINT NOT NULL,
        idempotency_key TEXT NOT NULL,
        reward_type TEXT NOT NULL,
        reward_id TEXT NOT NULL,
        quantity INTEGER NOT NULL CHECK (quantity > 0),
        requested_at TIMESTAMPTZ NOT NULL,
        granted_at TIMESTAMPTZ,
        PRIMARY KEY (user_id, goal_id, period)
    );
    CREATE INDEX claims_pending ON claims (requested_at) WHERE granted_at IS NULL;
    CREATE TABLE reward_ledger (
        user_id TEXT NOT NULL,
        idempotency_key TEXT NOT NULL,
        reward_type TEXT NOT NULL,
        reward_id TEXT NOT NULL,
        quantity INTEGER NOT NULL CHECK (quantity > 0),
        granted_at TIMESTAMPTZ NOT NULL,
        PRIMARY KEY (user_id, idempotency_key)
    );
    ",
    // When an open claim is tried again, and how one ends that is always refused. A replica of the version before this
    // one begins claims with the default.
    "
    ALTER TABLE claims
        ADD COLUMN retry_at TIMESTAMPTZ NOT NULL DEFAULT now() + interval '2 minutes',
        ADD COLUMN refusals INTEGER NOT NULL DEFAULT 0,
        ADD COLUMN refused_at TIMESTAMPTZ;
    DROP INDEX claims_pending;
    CREATE INDEX claims_open ON claims (retry_at) WHERE granted_at IS NULL AND refused_at IS NULL;
    ",
    // When a goal that counts once a day counted last. `expires_at` is no longer used, and was never written: when a
    // period ends is computed from the goal's schedule. It stays for replicas of the version before this one.
    "
    ALTER TABLE user_goal_progress ADD COLUMN counted_at TIMESTAMPTZ;
    ",
];
