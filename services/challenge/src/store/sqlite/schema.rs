//! The schema in SQLite: forward only, one entry per version.

use kit::store::Migrations;

/// Each entry brings the schema from its version to the next. Entries are never changed, only added.
///
/// Times are UTC milliseconds. Without a rowid, a user's rows lie together, so that one page read serves a request.
/// `event_ids` is appended to in the order of commits, one row a group: however random the ids, no old page is written.
pub(super) const MIGRATIONS: Migrations =
    Migrations { service: "challenge", first_table: "user_goal_progress", steps: &STEPS };

const STEPS: [&str; 4] = [
    "
    CREATE TABLE user_goal_progress (
        user_id TEXT NOT NULL,
        goal_id TEXT NOT NULL,
        value INTEGER NOT NULL CHECK (value >= 0),
        baseline_value INTEGER,
        is_active INTEGER NOT NULL CHECK (is_active IN (0, 1)),
        assigned_at INTEGER,
        completed_at INTEGER,
        claimed_at INTEGER CHECK (claimed_at IS NULL OR completed_at IS NOT NULL),
        period INTEGER NOT NULL DEFAULT 0,
        expires_at INTEGER,
        PRIMARY KEY (user_id, goal_id)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE event_ids (
        group_no INTEGER PRIMARY KEY,
        seen_at INTEGER NOT NULL,
        ids BLOB NOT NULL
    ) STRICT;
    CREATE TABLE claims (
        user_id TEXT NOT NULL,
        goal_id TEXT NOT NULL,
        period INTEGER NOT NULL,
        idempotency_key TEXT NOT NULL,
        reward_type TEXT NOT NULL,
        reward_id TEXT NOT NULL,
        quantity INTEGER NOT NULL CHECK (quantity > 0),
        requested_at INTEGER NOT NULL,
        granted_at INTEGER,
        PRIMARY KEY (user_id, goal_id, period)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX claims_pending ON claims (requested_at) WHERE granted_at IS NULL;
    CREATE TABLE reward_ledger (
        idempotency_key TEXT PRIMARY KEY,
        user_id TEXT NOT NULL,
        reward_type TEXT NOT NULL,
        reward_id TEXT NOT NULL,
        quantity INTEGER NOT NULL CHECK (quantity > 0),
        granted_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    ",
    // Which event a relative goal's baseline came from, so that an earlier one that arrives late can move it.
    "
    ALTER TABLE user_goal_progress ADD COLUMN baseline_version INTEGER;
    ALTER TABLE user_goal_progress ADD COLUMN baseline_told_at INTEGER;
    ",
    // When an open claim is tried again, and how one ends that is always refused.
    "
    ALTER TABLE claims ADD COLUMN retry_at INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE claims ADD COLUMN refusals INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE claims ADD COLUMN refused_at INTEGER;
    DROP INDEX claims_pending;
    CREATE INDEX claims_open ON claims (retry_at) WHERE granted_at IS NULL AND refused_at IS NULL;
    ",
    // When a goal that counts once a day counted last. When a period ends is computed from the goal's schedule; the
    // column meant for it was never written.
    "
    ALTER TABLE user_goal_progress RENAME COLUMN expires_at TO counted_at;
    ",
];

#[cfg(test)]
mod tests {
    use super::*;

    use kit::sqlite::{DatabaseFile, Sync, open_writer};
    use rusqlite::Connection;

    #[test]
    fn a_database_of_the_first_version_is_brought_up_and_keeps_its_rows() {
        let place = DatabaseFile::acquire(None, "challenge.db").unwrap();
        let first = Connection::open(place.path()).unwrap();
        first.execute_batch(STEPS[0]).unwrap();
        first.pragma_update(None, "user_version", 1).unwrap();
        let row = "('ann', 'g', 7, 3, 1, 1000, NULL, NULL, 0, NULL)";
        first.execute_batch(&format!("INSERT INTO user_goal_progress VALUES {row}")).unwrap();
        drop(first);
        let now = open_writer(&place, Sync::Normal, &MIGRATIONS).unwrap();
        let kept = "SELECT count(*) FROM user_goal_progress WHERE value = 7 AND baseline_version IS NULL";
        assert_eq!(now.query_row(kept, [], |row| row.get::<_, i64>(0)).unwrap(), 1);
    }

    #[test]
    fn opening_again_migrates_nothing_twice() {
        let place = DatabaseFile::acquire(None, "challenge.db").unwrap();
        drop(open_writer(&place, Sync::Full, &MIGRATIONS).unwrap());
        let again = open_writer(&place, Sync::Full, &MIGRATIONS).unwrap();
        let sync: i64 = again.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap();
        assert_eq!(sync, 2, "FULL");
    }
}
