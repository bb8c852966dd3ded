//! The two halves of a group's transaction. All statements of a half are sent before the first result is awaited, in
//! the order of their text, so that each half costs one round trip.

use std::collections::HashSet;

use kit::clock::UtcMs;
use kit::postgres::Stamp;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row};

use super::rows::{self, ClaimColumns, GrantColumns, RowColumns};
use super::statements::WriterStatements;
use crate::catalog::Catalog;
use crate::grant::Grant;
use crate::store::batch::{GroupChanges, LoadedGroup};
use crate::store::claims::ClaimIntent;
use crate::store::event_key::EventKey;
use crate::store::read_set::ReadSet;
use crate::user::UserId;

/// One transaction of a writer.
#[derive(Clone, Copy)]
pub(super) struct GroupTransaction<'a> {
    pub(super) client: &'a Client,
    pub(super) statements: &'a WriterStatements,
    pub(super) catalog: &'a Catalog,
}

impl GroupTransaction<'_> {
    /// Begins, locks the users, remembers the events and reads. Each statement sees what was committed before it
    /// began, so what is read after the lock is what the last writer committed. One round trip, or two if another
    /// program deleted rows.
    pub(super) async fn load(self, read_set: &mut ReadSet<'_>) -> Result<LoadedGroup, Error> {
        let users: Vec<&str> = read_set.users.keys().map(|user| user.as_str()).collect();
        let begin = self.client.batch_execute("BEGIN");
        let lock = async { self.client.execute(&self.statements.lock_players, &[&users]).await };
        let applied = self.take_ids(read_set);
        let whole = self.load_whole(read_set.whole().collect());
        let parts = self.load_parts(read_set);
        let claims = self.load_claims(read_set);
        let ((), _locked, applied, whole, parts, claims) =
            tokio::try_join!(biased; begin, lock, applied, whole, parts, claims)?;
        #[cfg(feature = "faults")]
        super::faults::strike(self.client, self.statements, read_set).await?;
        let mut found = rows::goals(&parts, self.catalog)?;
        let again = self.load_whole(read_set.widen(&found, self.catalog)).await?;
        found.extend(rows::goals(&whole, self.catalog)?);
        found.extend(rows::goals(&again, self.catalog)?);
        let claims = claims.iter().filter_map(|row| rows::claim(row).transpose());
        let claims =
            claims.map(|claim| claim.map(|claim| (claim.intent.key(), claim))).collect::<Result<_, _>>()?;
        Ok(LoadedGroup { users: read_set.loaded(found), applied, claims })
    }

    /// Remembers the group's events, to be committed with their effect; returns those that were known before.
    async fn take_ids(self, read_set: &ReadSet<'_>) -> Result<HashSet<EventKey>, Error> {
        let keys: Vec<EventKey> = read_set.events.iter().map(|event| event.key).collect();
        let mut known: HashSet<EventKey> = keys.iter().copied().collect();
        if keys.is_empty() {
            return Ok(known);
        }
        let users: Vec<&str> = read_set.events.iter().map(|event| event.user.as_str()).collect();
        for fresh in self.client.query(&self.statements.take_ids, &[&users, &keys]).await? {
            known.remove(&fresh.try_get(0)?);
        }
        Ok(known)
    }

    async fn load_whole(self, users: Vec<&UserId>) -> Result<Vec<Row>, Error> {
        if users.is_empty() {
            return Ok(Vec::new());
        }
        let users: Vec<&str> = users.into_iter().map(UserId::as_str).collect();
        self.client.query(&self.statements.users, &[&users]).await
    }

    async fn load_parts(self, read_set: &ReadSet<'_>) -> Result<Vec<Row>, Error> {
        let (mut users, mut ids) = (Vec::new(), Vec::new());
        for part in read_set.parts() {
            users.extend(part.goals.iter().map(|_| part.user.as_str()));
            ids.extend(part.goals.iter().map(|goal| self.catalog.goal(*goal).id.as_str()));
        }
        if users.is_empty() {
            return Ok(Vec::new());
        }
        self.client.query(&self.statements.goals, &[&users, &ids]).await
    }

    async fn load_claims(self, read_set: &ReadSet<'_>) -> Result<Vec<Row>, Error> {
        if read_set.claims.is_empty() {
            return Ok(Vec::new());
        }
        let users: Vec<&str> = read_set.claims.iter().map(|claim| claim.user.as_str()).collect();
        let goals: Vec<&str> = read_set.claims.iter().map(|claim| claim.goal_id).collect();
        self.client.query(&self.statements.claims, &[&users, &goals]).await
    }

    /// Writes and commits. The commit is sent with the rest: when a statement fails, the server turns the commit into a
    /// rollback, and the statement's error is returned. Each part must therefore be one statement.
    pub(super) async fn write(self, changes: &GroupChanges, now: UtcMs) -> Result<(), Error> {
        let rows = async {
            if changes.rows.is_empty() {
                return Ok(0);
            }
            let columns = RowColumns::new(&changes.rows, self.catalog);
            self.client.execute(&self.statements.save_rows, &columns.parameters()).await
        };
        let claims = async {
            if changes.claims.is_empty() {
                return Ok(0);
            }
            let columns = ClaimColumns::new(&changes.claims);
            self.client.execute(&self.statements.save_claims, &columns.parameters()).await
        };
        let unlisted = self.mark_claimed(&changes.unlisted, now);
        let grants = self.enter_grants(&changes.grants, now);
        let commit = self.client.batch_execute("COMMIT");
        tokio::try_join!(biased; rows, claims, unlisted, grants, commit).map(drop)
    }

    async fn mark_claimed(self, unlisted: &[ClaimIntent], now: UtcMs) -> Result<u64, Error> {
        if unlisted.is_empty() {
            return Ok(0);
        }
        let users: Vec<&str> = unlisted.iter().map(|claim| claim.user.as_str()).collect();
        let goals: Vec<&str> = unlisted.iter().map(|claim| claim.goal_id.as_str()).collect();
        let periods: Vec<i64> = unlisted.iter().map(|claim| claim.period).collect();
        let parameters: [&(dyn ToSql + Sync); 4] = [&users, &goals, &periods, &Stamp(now)];
        self.client.execute(&self.statements.mark_claimed, &parameters).await
    }

    async fn enter_grants(self, grants: &[Grant], now: UtcMs) -> Result<u64, Error> {
        if grants.is_empty() {
            return Ok(0);
        }
        let columns = GrantColumns::new(grants);
        let [users, keys, kinds, rewards, quantities] = columns.parameters();
        let at = Stamp(now);
        let parameters = [users, keys, kinds, rewards, quantities, &at];
        self.client.execute(&self.statements.enter_grants, &parameters).await
    }
}
