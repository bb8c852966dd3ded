//! The maintenance task: checks ten times a second whether the server answers, and reads the current generation of
//! cached answers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kit::postgres::{Connector, Link, Session};
use tokio::time::MissedTickBehavior;

use super::statements::MaintenanceStatements;
use crate::cache::{Cache, ObservedGeneration};
use crate::store::StoreError;

/// The interval of checks; a fifth of [`crate::cache::GENERATION_TTL`].
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// A check that takes longer has failed.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) struct MaintenanceTask {
    link: tokio::sync::Mutex<Link<MaintenanceStatements>>,
    cache: Cache,
    last_check: Mutex<Result<(), StoreError>>,
}

impl MaintenanceTask {
    pub(super) fn new(connector: &Connector, cache: Cache) -> Self {
        let link = tokio::sync::Mutex::new(Link::new(connector.clone()));
        Self { link, cache, last_check: Mutex::new(Ok(())) }
    }

    /// The outcome of the last check.
    pub(super) fn last_check(&self) -> Result<(), StoreError> {
        self.last_check.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Checks until the task is aborted.
    pub(super) async fn run(self: Arc<Self>) {
        let mut ticks = tokio::time::interval(CHECK_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let outcome = self.check().await;
            *self.last_check.lock().unwrap_or_else(PoisonError::into_inner) = outcome;
        }
    }

    pub(super) async fn check(&self) -> Result<(), StoreError> {
        let mut link = self.link.lock().await;
        let observed_at = Instant::now();
        let query = async |session: &Session<MaintenanceStatements>| {
            session.client().query_one(&session.statements.generation, &[]).await?.try_get(0)
        };
        let number = link.run(CHECK_TIMEOUT, query).await?;
        self.cache.use_generation(ObservedGeneration { number, observed_at });
        Ok(())
    }
}
