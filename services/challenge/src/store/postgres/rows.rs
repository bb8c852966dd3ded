//! Rows to and from PostgreSQL: a group's rows are sent as one array per column.

use std::collections::HashMap;

use kit::clock::UtcMs;
use kit::postgres::Stamp;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

use crate::catalog::Catalog;
use crate::grant::Grant;
use crate::rules::{GoalRow, UserGoals};
use crate::store::batch::ChangedRow;
use crate::store::claims::{ClaimIntent, StoredClaim};
use crate::user::UserId;

/// The goals of each user among rows of `USERS` or `GOALS`. Rows of goals that are not in the challenge file are skipped
/// and stay in the table: if the goal comes back, so does its row.
pub(super) fn goals(rows: &[Row], catalog: &Catalog) -> Result<HashMap<UserId, UserGoals>, Error> {
    let mut by_user: HashMap<&str, Vec<GoalRow>> = HashMap::new();
    for row in rows {
        if let Some(goal) = goal(row, catalog)? {
            by_user.entry(row.try_get(0)?).or_default().push(goal);
        }
    }
    // Every stored id was valid when it was written.
    let users =
        by_user.into_iter().filter_map(|(user, rows)| Some((UserId::new(user)?, UserGoals::new(rows))));
    Ok(users.collect())
}

fn goal(row: &Row, catalog: &Catalog) -> Result<Option<GoalRow>, Error> {
    let Some(goal) = catalog.find(row.try_get(1)?) else { return Ok(None) };
    let time = |column: usize| Ok::<_, Error>(row.try_get::<_, Option<Stamp>>(column)?.map(|stamp| stamp.0));
    Ok(Some(GoalRow {
        goal,
        value: row.try_get(2)?,
        baseline: row.try_get(3)?,
        is_active: row.try_get(4)?,
        assigned_at: time(5)?,
        completed_at: time(6)?,
        claimed_at: time(7)?,
        period: row.try_get(8)?,
        counted_at: time(9)?,
        baseline_version: row.try_get(10)?,
        baseline_occurred_at: time(11)?,
        is_changed: false,
    }))
}

/// A row of `CLAIMS` or `OPEN_CLAIMS`; `None` when its user id is invalid.
pub(super) fn claim(row: &Row) -> Result<Option<StoredClaim>, Error> {
    let idempotency_key: String = row.try_get(3)?;
    let Some(user) = StoredClaim::user(row.try_get(0)?, &idempotency_key) else { return Ok(None) };
    let grant = Grant {
        idempotency_key,
        user: user.clone(),
        reward_type: row.try_get(4)?,
        reward_id: row.try_get(5)?,
        quantity: row.try_get(6)?,
    };
    let Stamp(begun_at) = row.try_get(7)?;
    let time = |column: usize| Ok::<_, Error>(row.try_get::<_, Option<Stamp>>(column)?.map(|stamp| stamp.0));
    let Stamp(retry_at) = row.try_get(9)?;
    Ok(Some(StoredClaim {
        intent: ClaimIntent { user, goal_id: row.try_get(1)?, period: row.try_get(2)?, grant, begun_at },
        granted_at: time(8)?,
        retry_at,
        refusals: row.try_get(10)?,
        refused_at: time(11)?,
        is_changed: false,
    }))
}

/// Rows as one array per column, in the order of `SAVE_ROWS`.
#[derive(Default)]
pub(super) struct RowColumns<'a> {
    users: Vec<&'a str>,
    goals: Vec<&'a str>,
    values: Vec<i32>,
    baselines: Vec<Option<i32>>,
    active: Vec<bool>,
    assigned_at: Vec<Option<Stamp>>,
    completed_at: Vec<Option<Stamp>>,
    claimed_at: Vec<Option<Stamp>>,
    periods: Vec<i64>,
    counted_at: Vec<Option<Stamp>>,
    baseline_versions: Vec<Option<i64>>,
    baselines_occurred_at: Vec<Option<Stamp>>,
}

impl<'a> RowColumns<'a> {
    pub(super) fn new(rows: &'a [ChangedRow], catalog: &'a Catalog) -> Self {
        let mut columns = Self::default();
        let stamp = |time: Option<UtcMs>| time.map(Stamp);
        for ChangedRow { user, row } in rows {
            columns.users.push(user.as_str());
            columns.goals.push(&catalog.goal(row.goal).id);
            columns.values.push(row.value);
            columns.baselines.push(row.baseline);
            columns.active.push(row.is_active);
            columns.assigned_at.push(stamp(row.assigned_at));
            columns.completed_at.push(stamp(row.completed_at));
            columns.claimed_at.push(stamp(row.claimed_at));
            columns.periods.push(row.period);
            columns.counted_at.push(stamp(row.counted_at));
            columns.baseline_versions.push(row.baseline_version);
            columns.baselines_occurred_at.push(stamp(row.baseline_occurred_at));
        }
        columns
    }

    pub(super) fn parameters(&self) -> [&(dyn ToSql + Sync); 12] {
        [
            &self.users,
            &self.goals,
            &self.values,
            &self.baselines,
            &self.active,
            &self.assigned_at,
            &self.completed_at,
            &self.claimed_at,
            &self.periods,
            &self.counted_at,
            &self.baseline_versions,
            &self.baselines_occurred_at,
        ]
    }
}

/// Claims as one array per column, in the order of `SAVE_CLAIMS`.
#[derive(Default)]
pub(super) struct ClaimColumns<'a> {
    users: Vec<&'a str>,
    goals: Vec<&'a str>,
    periods: Vec<i64>,
    keys: Vec<&'a str>,
    kinds: Vec<&'a str>,
    rewards: Vec<&'a str>,
    quantities: Vec<i32>,
    requested_at: Vec<Stamp>,
    granted_at: Vec<Option<Stamp>>,
    retry_at: Vec<Stamp>,
    refusals: Vec<i32>,
    refused_at: Vec<Option<Stamp>>,
}

impl<'a> ClaimColumns<'a> {
    pub(super) fn new(claims: &'a [StoredClaim]) -> Self {
        let mut columns = Self::default();
        for claim in claims {
            let intent = &claim.intent;
            columns.users.push(intent.user.as_str());
            columns.goals.push(&intent.goal_id);
            columns.periods.push(intent.period);
            columns.keys.push(&intent.grant.idempotency_key);
            columns.kinds.push(&intent.grant.reward_type);
            columns.rewards.push(&intent.grant.reward_id);
            columns.quantities.push(intent.grant.quantity);
            columns.requested_at.push(Stamp(intent.begun_at));
            columns.granted_at.push(claim.granted_at.map(Stamp));
            columns.retry_at.push(Stamp(claim.retry_at));
            columns.refusals.push(claim.refusals);
            columns.refused_at.push(claim.refused_at.map(Stamp));
        }
        columns
    }

    pub(super) fn parameters(&self) -> [&(dyn ToSql + Sync); 12] {
        [
            &self.users,
            &self.goals,
            &self.periods,
            &self.keys,
            &self.kinds,
            &self.rewards,
            &self.quantities,
            &self.requested_at,
            &self.granted_at,
            &self.retry_at,
            &self.refusals,
            &self.refused_at,
        ]
    }
}

/// Grants as one array per column, in the order of `ENTER_GRANTS`.
#[derive(Default)]
pub(super) struct GrantColumns<'a> {
    users: Vec<&'a str>,
    keys: Vec<&'a str>,
    kinds: Vec<&'a str>,
    rewards: Vec<&'a str>,
    quantities: Vec<i32>,
}

impl<'a> GrantColumns<'a> {
    pub(super) fn new(grants: &'a [Grant]) -> Self {
        let mut columns = Self::default();
        for grant in grants {
            columns.users.push(grant.user.as_str());
            columns.keys.push(&grant.idempotency_key);
            columns.kinds.push(&grant.reward_type);
            columns.rewards.push(&grant.reward_id);
            columns.quantities.push(grant.quantity);
        }
        columns
    }

    pub(super) fn parameters(&self) -> [&(dyn ToSql + Sync); 5] {
        [&self.users, &self.keys, &self.kinds, &self.rewards, &self.quantities]
    }
}
