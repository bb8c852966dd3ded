//! A user's rows to and from the table.

use kit::clock::UtcMs;
use rusqlite::{Connection, Row, params};

use crate::catalog::Catalog;
use crate::rules::{GoalRow, UserGoals};
use crate::store::batch::ChangedRow;
use crate::store::read_set::UserPart;
use crate::user::UserId;

/// The columns that [`read`] expects.
macro_rules! columns {
    () => {
        "SELECT goal_id, value, baseline_value, is_active, assigned_at, completed_at, claimed_at, period,
                counted_at, baseline_version, baseline_told_at"
    };
}

/// All rows of a user. Rows of goals that are not in the challenge file are skipped and stay in the table: if the goal
/// comes back, so does its row.
pub(super) fn load(connection: &Connection, catalog: &Catalog, user: &UserId) -> rusqlite::Result<UserGoals> {
    let mut select =
        connection.prepare_cached(concat!(columns!(), " FROM user_goal_progress WHERE user_id = ?1"))?;
    let mut found = select.query([user.as_str()])?;
    let mut rows = Vec::with_capacity(catalog.defaults().len());
    while let Some(row) = found.next()? {
        rows.extend(read(row, catalog)?);
    }
    Ok(UserGoals::new(rows))
}

/// The rows of some of the user's goals.
pub(super) fn load_part(
    connection: &Connection,
    catalog: &Catalog,
    part: UserPart<'_, '_>,
) -> rusqlite::Result<UserGoals> {
    let one = concat!(columns!(), " FROM user_goal_progress WHERE user_id = ?1 AND goal_id = ?2");
    let mut select = connection.prepare_cached(one)?;
    let mut rows = Vec::with_capacity(part.goals.len());
    for goal in part.goals {
        let mut found = select.query([part.user.as_str(), catalog.goal(*goal).id.as_str()])?;
        if let Some(row) = found.next()? {
            rows.extend(read(row, catalog)?);
        }
    }
    Ok(UserGoals::new(rows))
}

fn read(row: &Row<'_>, catalog: &Catalog) -> rusqlite::Result<Option<GoalRow>> {
    let Some(goal) = catalog.find(row.get_ref(0)?.as_str()?) else { return Ok(None) };
    let time = |column| row.get::<_, Option<i64>>(column).map(|ms| ms.map(UtcMs));
    Ok(Some(GoalRow {
        goal,
        value: row.get(1)?,
        baseline: row.get(2)?,
        is_active: row.get(3)?,
        assigned_at: time(4)?,
        completed_at: time(5)?,
        claimed_at: time(6)?,
        period: row.get(7)?,
        counted_at: time(8)?,
        baseline_version: row.get(9)?,
        baseline_occurred_at: time(10)?,
        is_changed: false,
    }))
}

/// Writes one row.
pub(super) fn save(connection: &Connection, catalog: &Catalog, changed: &ChangedRow) -> rusqlite::Result<()> {
    let row = &changed.row;
    let mut upsert = connection.prepare_cached(
        "INSERT INTO user_goal_progress VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
         ON CONFLICT (user_id, goal_id) DO UPDATE SET
             value = excluded.value, baseline_value = excluded.baseline_value,
             is_active = excluded.is_active, assigned_at = excluded.assigned_at,
             completed_at = excluded.completed_at, claimed_at = excluded.claimed_at,
             period = excluded.period, counted_at = excluded.counted_at,
             baseline_version = excluded.baseline_version, baseline_told_at = excluded.baseline_told_at",
    )?;
    let ms = |time: Option<UtcMs>| time.map(|time| time.0);
    upsert
        .execute(params![
            changed.user.as_str(),
            catalog.goal(row.goal).id,
            row.value,
            row.baseline,
            row.is_active,
            ms(row.assigned_at),
            ms(row.completed_at),
            ms(row.claimed_at),
            row.period,
            ms(row.counted_at),
            row.baseline_version,
            ms(row.baseline_occurred_at),
        ])
        .map(drop)
}
