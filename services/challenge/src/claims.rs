//! A claim from start to end: record the intent, grant the reward, record the end. A claim that fails in between is
//! resumed with the same key, so that a reward is granted exactly once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kit::clock::UtcMs;
use kit::drain::Draining;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::catalog::{Catalog, GoalIndex};
use crate::rewards::{GrantError, RewardClient};
use crate::rules::ClaimRefusal;
use crate::store::{ClaimEnd, ClaimIntent, ClaimStart, InFlightWindow, Store, StoreError};
use crate::user::UserId;

/// Open claims resumed concurrently.
const RESUMED_AT_ONCE: usize = 16;

/// Why a claim did not grant anything.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ClaimError {
    /// The rules refuse it.
    #[error("the claim is refused")]
    Refused(ClaimRefusal),
    /// The reward client failed; the claim stays open and may be repeated.
    #[error(transparent)]
    NotGranted(#[from] GrantError),
    /// The store failed; the claim, if begun, is resumed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A user's goal by its id: a claim may remain open after its goal was removed from the challenge file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ClaimLockKey {
    user: UserId,
    goal_id: String,
}

type ClaimLock = Arc<tokio::sync::Mutex<()>>;

/// When claims that were left open are resumed.
#[derive(Debug, Clone, Copy)]
pub struct ClaimMaintenance {
    /// Time between two searches for open claims.
    pub period: Duration,
    /// How long ago a claim must have begun: longer than any claim that is still in flight.
    pub min_age: Duration,
}

/// The result of resuming a claim that was left open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResumeOutcome {
    Ended,
    /// The user claims the same goal now.
    Busy,
    Refused,
    Unanswered,
}

/// Carries claims out, one at a time for each user and goal.
pub struct Claims {
    catalog: Arc<Catalog>,
    store: Arc<Store>,
    rewards: Arc<dyn RewardClient>,
    locks: Mutex<HashMap<ClaimLockKey, ClaimLock>>,
}

impl Claims {
    /// Claims of the catalogue's goals on `store`, granted by `rewards`.
    #[must_use]
    pub fn new(catalog: Arc<Catalog>, store: Arc<Store>, rewards: Arc<dyn RewardClient>) -> Self {
        Self { catalog, store, rewards, locks: Mutex::new(HashMap::new()) }
    }

    /// Claims a goal's reward. The claim is carried to its end even when the caller is dropped.
    ///
    /// # Errors
    /// When the rules refuse, the grant fails, or the store does.
    pub async fn claim(self: &Arc<Self>, user: UserId, goal: GoalIndex) -> Result<UtcMs, ClaimError> {
        let claims = Arc::clone(self);
        let task = tokio::spawn(async move { claims.claim_exclusively(user, goal).await });
        task.await.unwrap_or(Err(ClaimError::Store(StoreError::Closed)))
    }

    /// Resumes open claims periodically, so that a reward is granted even when its player never claims again. Returns
    /// when the drain begins; a grant in flight is then left to the next start, with its key.
    pub async fn run_maintenance(self: Arc<Self>, maintenance: ClaimMaintenance, mut draining: Draining) {
        let mut ticks = tokio::time::interval(maintenance.period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first tick is immediate, and the start has just searched.
        ticks.tick().await;
        let every_tick = async {
            loop {
                ticks.tick().await;
                if let Err(error) =
                    self.resume(InFlightWindow::around(UtcMs::now(), maintenance.min_age)).await
                {
                    tracing::error!(%error, "open claims could not be read");
                }
            }
        };
        tokio::select! {
            () = every_tick => {}
            () = draining.begun() => {}
        }
    }

    /// Ends the claims that were left open, except those that may be in flight; returns how many it ended. When the
    /// reward service answers none of a group, the remaining groups are left for the next search.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn resume(self: &Arc<Self>, in_flight: InFlightWindow) -> Result<usize, StoreError> {
        let open = self.store.pending_claims(in_flight).await?;
        let mut outcomes = Vec::new();
        for group in open.chunks(RESUMED_AT_ONCE) {
            let resumed = self.resume_group(group).await;
            let is_unanswered = resumed.iter().all(|outcome| *outcome == ResumeOutcome::Unanswered);
            outcomes.extend(resumed);
            if is_unanswered {
                break;
            }
        }
        let count = |expected| outcomes.iter().filter(|outcome| **outcome == expected).count();
        let (ended, refused, unanswered) =
            (count(ResumeOutcome::Ended), count(ResumeOutcome::Refused), count(ResumeOutcome::Unanswered));
        if !open.is_empty() {
            let found = open.len();
            tracing::warn!(found, ended, refused, unanswered, "open claims were resumed");
        }
        Ok(ended)
    }

    async fn resume_group(self: &Arc<Self>, group: &[ClaimIntent]) -> Vec<ResumeOutcome> {
        let mut tasks = JoinSet::new();
        for intent in group.iter().cloned() {
            let claims = Arc::clone(self);
            tasks.spawn(async move { claims.resume_one(intent).await });
        }
        tasks.join_all().await
    }

    async fn resume_one(&self, intent: ClaimIntent) -> ResumeOutcome {
        let key = ClaimLockKey { user: intent.user.clone(), goal_id: intent.goal_id.clone() };
        let lock = self.lock(&key);
        let outcome = match lock.try_lock() {
            Err(_locked) => ResumeOutcome::Busy,
            Ok(_guard) => match self.finish(intent).await {
                Ok(_) | Err(ClaimError::Refused(_)) => ResumeOutcome::Ended,
                Err(ClaimError::NotGranted(GrantError::Refused(_))) => ResumeOutcome::Refused,
                Err(ClaimError::NotGranted(_) | ClaimError::Store(_)) => ResumeOutcome::Unanswered,
            },
        };
        self.release(&key, lock);
        outcome
    }

    /// Simultaneous claims of one goal wait for each other, so that the reward client is called once and the others
    /// see the result.
    async fn claim_exclusively(&self, user: UserId, goal: GoalIndex) -> Result<UtcMs, ClaimError> {
        let key = ClaimLockKey { user: user.clone(), goal_id: self.catalog.goal(goal).id.clone() };
        let lock = self.lock(&key);
        let guard = lock.lock().await;
        let outcome = self.begin_and_finish(user, goal).await;
        drop(guard);
        self.release(&key, lock);
        outcome
    }

    fn lock(&self, key: &ClaimLockKey) -> ClaimLock {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(locks.entry(key.clone()).or_default())
    }

    /// The last user of a lock removes it: one reference is the map's, the other this caller's.
    fn release(&self, key: &ClaimLockKey, lock: ClaimLock) {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        if Arc::strong_count(&lock) == 2 {
            locks.remove(key);
        }
    }

    async fn begin_and_finish(&self, user: UserId, goal: GoalIndex) -> Result<UtcMs, ClaimError> {
        match self.store.begin_claim(user, goal).await? {
            ClaimStart::Begun(intent) => self.finish(intent).await,
            ClaimStart::Refused(refusal) => Err(ClaimError::Refused(refusal)),
        }
    }

    async fn finish(&self, intent: ClaimIntent) -> Result<UtcMs, ClaimError> {
        let grant = intent.grant.clone();
        self.rewards.grant(grant).await?;
        match self.store.end_claim(intent).await? {
            ClaimEnd::Claimed(at) => Ok(at),
            ClaimEnd::AlreadyClaimed => Err(ClaimError::Refused(ClaimRefusal::AlreadyClaimed)),
        }
    }
}
