//! Looks ten times a second whether the server answers, and which generation of remembered answers it says may be
//! believed.

use super::statements::Care;
use crate::cache::Cache;
use crate::store::StoreError;
use kit::postgres::{Connector, Link, within};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::time::MissedTickBehavior;

/// Between two looks; as [`crate::cache::BELIEVED_FOR`] needs it.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// A look that takes longer counts as no answer.
const LOOK_WITHIN: Duration = Duration::from_secs(2);

pub(super) struct Caretaker {
    link: tokio::sync::Mutex<Link<Care>>,
    cache: Cache,
    seen: Mutex<Result<(), StoreError>>,
}

impl Caretaker {
    pub(super) fn new(connector: &Connector, cache: Cache) -> Self {
        let link = tokio::sync::Mutex::new(Link::new(connector.clone()));
        Self { link, cache, seen: Mutex::new(Ok(())) }
    }

    /// Whether the server answered when last looked.
    pub(super) fn last_seen(&self) -> Result<(), StoreError> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks until the task is ended.
    pub(super) async fn run(self: Arc<Self>) {
        let mut ticks = tokio::time::interval(LOOK_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let seen = self.look().await;
            *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = seen;
        }
    }

    pub(super) async fn look(&self) -> Result<(), StoreError> {
        let mut link = self.link.lock().await;
        let began = Instant::now();
        let session = link.session().await?;
        let asked = session.client().query_one(&session.statements.generation, &[]);
        let outcome = within(LOOK_WITHIN, asked).await;
        let row = match outcome {
            Ok(row) => row,
            Err(error) => {
                link.recover(&error).await;
                return Err(error);
            }
        };
        let generation = row.try_get(0).map_err(|error| StoreError::Failed(error.to_string().into()))?;
        self.cache.believe((generation, began));
        Ok(())
    }
}
