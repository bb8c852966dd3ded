//! What is to be done now and then on a connection of its own: see whether the server answers, forget expired event
//! ids, look for open claims.

use super::rows;
use super::statements::Chores;
use crate::store::StoreError;
use crate::store::claims::{ClaimIntent, OnTheirWay};
use kit::postgres::Stamp;
use kit::postgres::{Connector, Link, within};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::MissedTickBehavior;
use tokio_postgres::types::ToSql;

/// Between two looks whether the server answers.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A look that takes longer counts as no answer.
const LOOK_WITHIN: Duration = Duration::from_secs(2);
/// Looks between two deletions of expired ids.
const LOOKS_A_DELETION: u64 = 60;
/// As `EXPIRED_IDS` says.
const DELETED_AT_ONCE: u64 = 20_000;

pub(super) struct Caretaker {
    link: tokio::sync::Mutex<Link<Chores>>,
    event_ids_for: Duration,
    seen: Mutex<Result<(), StoreError>>,
}

impl Caretaker {
    pub(super) fn new(connector: &Connector, event_ids_for: Duration) -> Self {
        let link = tokio::sync::Mutex::new(Link::new(connector.clone()));
        Self { link, event_ids_for, seen: Mutex::new(Ok(())) }
    }

    /// Whether the server answered when last looked.
    pub(super) fn last_seen(&self) -> Result<(), StoreError> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks every second, and deletes every minute, until the task is ended.
    pub(super) async fn run(self: Arc<Self>) {
        let mut ticks = tokio::time::interval(LOOK_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut has_more = false;
        for look in 0_u64.. {
            ticks.tick().await;
            let seen = self.look().await;
            *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = seen;
            if look % LOOKS_A_DELETION == 0 || has_more {
                has_more = self.forget_expired().await.unwrap_or_else(|error| {
                    tracing::warn!(%error, "expired event ids could not be deleted");
                    false
                });
            }
        }
    }

    async fn look(&self) -> Result<(), StoreError> {
        let mut link = self.link.lock().await;
        let session = link.session().await?;
        let outcome = within(LOOK_WITHIN, session.client().batch_execute("SELECT 1")).await;
        if let Err(error) = &outcome {
            link.recover(error).await;
        }
        outcome
    }

    /// Deletes some; true when there may be more. Replicas may do this at the same time: each deletes what the
    /// others have not.
    async fn forget_expired(&self) -> Result<bool, StoreError> {
        let age_s = self.event_ids_for.as_secs_f64();
        let mut link = self.link.lock().await;
        let patience = link.answer_timeout();
        let session = link.session().await?;
        let deleting = async { session.client().execute(&session.statements.expired_ids, &[&age_s]).await };
        let outcome = within(patience, deleting).await;
        if let Err(error) = &outcome {
            link.recover(error).await;
        }
        outcome.map(|ids| ids == DELETED_AT_ONCE)
    }

    pub(super) async fn pending_claims(&self, but: OnTheirWay) -> Result<Vec<ClaimIntent>, StoreError> {
        let mut link = self.link.lock().await;
        let patience = link.answer_timeout();
        let session = link.session().await?;
        let reading = async {
            let edges: [&(dyn ToSql + Sync); 2] = [&Stamp(but.from), &Stamp(but.until)];
            let rows = session.client().query(&session.statements.pending, &edges).await?;
            let claims = rows.iter().filter_map(|row| rows::claim(row).transpose());
            claims.map(|claim| claim.map(|recorded| recorded.intent)).collect::<Result<Vec<_>, _>>()
        };
        let outcome = within(patience, reading).await;
        if let Err(error) = &outcome {
            link.recover(error).await;
        }
        outcome
    }
}
