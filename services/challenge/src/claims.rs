//! A claim from end to end: record the intent, grant, record the end. Whatever breaks in between is taken up again
//! with the same key, so that a reward is granted exactly once.

use crate::catalog::GoalIx;
use crate::rewards::RewardClient;
use crate::rules::ClaimRefusal;
use crate::store::{ClaimEnd, ClaimIntent, ClaimStart, Store, StoreError};
use crate::user::UserId;
use kit::clock::UtcMs;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Why a claim did not grant anything.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ClaimError {
    /// The rules say no.
    #[error("the claim is refused")]
    Refused(ClaimRefusal),
    /// The reward client failed; the claim stays open and may be asked for again.
    #[error("{0}")]
    NotGranted(String),
    /// The store failed; the claim, if begun, is taken up again.
    #[error(transparent)]
    Store(#[from] StoreError),
}

type Key = (UserId, GoalIx);

/// Carries claims out, one at a time for each user and goal.
pub struct Claims {
    store: Arc<Store>,
    rewards: Arc<dyn RewardClient>,
    turns: Mutex<HashMap<Key, Arc<tokio::sync::Mutex<()>>>>,
}

impl Claims {
    /// Claims on `store`, granted by `rewards`.
    #[must_use]
    pub fn new(store: Arc<Store>, rewards: Arc<dyn RewardClient>) -> Self {
        Self { store, rewards, turns: Mutex::new(HashMap::new()) }
    }

    /// Claims a goal's reward. It runs to its end even when the caller goes away.
    ///
    /// # Errors
    /// When the rules refuse, the grant fails, or the store does.
    pub async fn claim(self: &Arc<Self>, user: UserId, goal: GoalIx) -> Result<UtcMs, ClaimError> {
        let claims = Arc::clone(self);
        let task = tokio::spawn(async move { claims.in_turn((user, goal)).await });
        task.await.unwrap_or(Err(ClaimError::Store(StoreError::Closed)))
    }

    /// Ends the claims that an earlier process left open; returns how many it ended.
    ///
    /// # Errors
    /// When the store fails. A grant that fails is logged and left open for the next claim or start.
    pub async fn resume(&self) -> Result<usize, StoreError> {
        let mut ended = 0;
        for intent in self.store.pending_claims()? {
            match self.finish(intent).await {
                Ok(_) => ended += 1,
                Err(error) => tracing::error!(%error, "a claim could not be taken up again"),
            }
        }
        Ok(ended)
    }

    /// Simultaneous claims of one goal wait for each other, so that the reward client is asked once and the others
    /// learn how it ended.
    async fn in_turn(&self, key: Key) -> Result<UtcMs, ClaimError> {
        let turn = self.turn(&key);
        let held = turn.lock().await;
        let outcome = self.begin_and_finish(key.clone()).await;
        drop(held);
        self.forget(&key, turn);
        outcome
    }

    fn turn(&self, key: &Key) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(turns.entry(key.clone()).or_default())
    }

    /// The last one out removes the turn: one reference is the map's, the other this caller's.
    fn forget(&self, key: &Key, turn: Arc<tokio::sync::Mutex<()>>) {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if Arc::strong_count(&turn) == 2 {
            turns.remove(key);
        }
    }

    async fn begin_and_finish(&self, (user, goal): Key) -> Result<UtcMs, ClaimError> {
        match self.store.begin_claim(user, goal).await? {
            ClaimStart::Begun(intent) => self.finish(intent).await,
            ClaimStart::Refused(refusal) => Err(ClaimError::Refused(refusal)),
        }
    }

    async fn finish(&self, intent: ClaimIntent) -> Result<UtcMs, ClaimError> {
        let grant = intent.grant.clone();
        self.rewards.grant(grant).await.map_err(|e| ClaimError::NotGranted(e.to_string()))?;
        match self.store.end_claim(intent).await? {
            ClaimEnd::Claimed(at) => Ok(at),
            ClaimEnd::Already => Err(ClaimError::Refused(ClaimRefusal::AlreadyClaimed)),
        }
    }
}
