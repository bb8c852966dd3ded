//! Periodic work on a connection of its own: check whether the server answers, delete expired event ids, find open
//! claims.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kit::postgres::{Connector, Link, Session, Stamp};
use tokio::time::MissedTickBehavior;
use tokio_postgres::types::ToSql;

use super::rows;
use super::statements::MaintenanceStatements;
use crate::store::StoreError;
use crate::store::claims::{ClaimIntent, OpenClaims};

/// Between two checks whether the server answers.
const CHECK_PERIOD: Duration = Duration::from_secs(1);
/// A check that takes longer counts as no answer.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);
/// Checks between two deletions of expired ids.
const CHECKS_PER_DELETION: u64 = 60;
/// The limit in `EXPIRED_IDS`.
const MAX_DELETED: u64 = 20_000;

pub(super) struct MaintenanceTask {
    link: tokio::sync::Mutex<Link<MaintenanceStatements>>,
    event_ids_for: Duration,
    last_check: Mutex<Result<(), StoreError>>,
}

impl MaintenanceTask {
    pub(super) fn new(connector: &Connector, event_ids_for: Duration) -> Self {
        let link = tokio::sync::Mutex::new(Link::new(connector.clone()));
        Self { link, event_ids_for, last_check: Mutex::new(Ok(())) }
    }

    /// Whether the server answered the last check.
    pub(super) fn last_check(&self) -> Result<(), StoreError> {
        self.last_check.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Checks every second, and deletes every minute, until the task is ended.
    pub(super) async fn run(self: Arc<Self>) {
        let mut ticks = tokio::time::interval(CHECK_PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut has_more = false;
        for check in 0_u64.. {
            ticks.tick().await;
            let answered = self.check().await;
            *self.last_check.lock().unwrap_or_else(PoisonError::into_inner) = answered;
            if check % CHECKS_PER_DELETION == 0 || has_more {
                has_more = self.delete_expired().await.unwrap_or_else(|error| {
                    tracing::warn!(%error, "expired event ids could not be deleted");
                    false
                });
            }
        }
    }

    async fn check(&self) -> Result<(), StoreError> {
        let mut link = self.link.lock().await;
        link.run(CHECK_TIMEOUT, async |session| session.client().batch_execute("SELECT 1").await).await
    }

    /// Deletes expired event ids, a bounded number at once; true when there may be more. Replicas may do this at the
    /// same time: each deletes what the others have not.
    async fn delete_expired(&self) -> Result<bool, StoreError> {
        let age_s = self.event_ids_for.as_secs_f64();
        let mut link = self.link.lock().await;
        let patience = link.answer_timeout();
        let deleting = async |session: &Session<MaintenanceStatements>| {
            session.client().execute(&session.statements.expired_ids, &[&age_s]).await
        };
        Ok(link.run(patience, deleting).await? == MAX_DELETED)
    }

    pub(super) async fn open_claims(&self, which: OpenClaims) -> Result<Vec<ClaimIntent>, StoreError> {
        let mut link = self.link.lock().await;
        let patience = link.answer_timeout();
        let reading = async |session: &Session<MaintenanceStatements>| {
            let [until, after] = which.edges().map(Stamp);
            let edges: [&(dyn ToSql + Sync); 2] = [&until, &after];
            let rows = session.client().query(&session.statements.open_claims, &edges).await?;
            let claims = rows.iter().filter_map(|row| rows::claim(row).transpose());
            claims.map(|claim| claim.map(|stored| stored.intent)).collect::<Result<Vec<_>, _>>()
        };
        link.run(patience, reading).await
    }
}
