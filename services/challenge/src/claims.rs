//! A claim from start to end: record the intent, grant the reward, record the end. A claim that fails in between is
//! resumed with the same key, so that a reward is granted exactly once.

mod locks;

use std::sync::Arc;
use std::time::Duration;

use kit::clock::UtcMs;
use kit::drain::Draining;
use kit::limit::{Limit, Permit};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::catalog::{Catalog, GoalIndex};
use crate::rewards::{GrantError, RewardClient};
use crate::rules::ClaimRefusal;
use crate::store::{
    ClaimEnd, ClaimFailure, ClaimFailureKind, ClaimIntent, ClaimStart, ClaimTerms, OpenClaims, Store,
    StoreError,
};
use crate::user::{UserId, UserPlace};
use locks::{ClaimLock, ClaimLockKey, ClaimLocks};

/// Open claims resumed concurrently.
const RESUMED_AT_ONCE: usize = 16;

/// Why a claim did not grant anything.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ClaimError {
    /// The rules refuse it.
    #[error("the claim is refused")]
    Refused(ClaimRefusal),
    /// As many claims are carried out as may be; nothing was begun.
    #[error("too many claims are carried out")]
    Full,
    /// The reward client failed; the claim stays open and may be repeated.
    #[error(transparent)]
    NotGranted(#[from] GrantError),
    /// The store failed; the claim, if begun, is resumed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How claims are carried out.
#[derive(Debug, Clone)]
pub struct ClaimPolicy {
    /// What all of them have in common.
    pub terms: ClaimTerms,
    /// Time between two searches for open claims.
    pub period: Duration,
    /// Players' claims carried out at once, also those whose players have left.
    pub in_flight: usize,
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
    locks: ClaimLocks,
    terms: Arc<ClaimTerms>,
    period: Duration,
    slots: Limit,
    /// Requests that wait for another claim of the same goal.
    waiting: Limit,
}

/// What a claim has until it ends: its slot, the lock of its user's goal, and its user's place.
struct ClaimSlot {
    _slot: Permit,
    _lock: ClaimLock,
    _place: UserPlace,
}

impl Claims {
    /// Claims of the catalogue's goals on `store`, granted by `rewards`.
    #[must_use]
    pub fn new(
        catalog: Arc<Catalog>,
        store: Arc<Store>,
        rewards: Arc<dyn RewardClient>,
        policy: ClaimPolicy,
    ) -> Self {
        let ClaimPolicy { terms, period, in_flight } = policy;
        let (locks, terms) = (ClaimLocks::default(), Arc::new(terms));
        let [slots, waiting] = [(); 2].map(|()| Limit::new(in_flight));
        Self { catalog, store, rewards, locks, terms, period, slots, waiting }
    }

    /// The slots of players' claims.
    #[must_use]
    pub fn slots(&self) -> &Limit {
        &self.slots
    }

    /// Claims a goal's reward. A claim that has begun is carried to its end even when the caller is dropped, and keeps
    /// its slot and its user's place until then. Simultaneous claims of one goal wait for each other, so that the reward
    /// client is called once and the others see the result.
    ///
    /// # Errors
    /// When every slot is taken, the rules refuse, the grant fails, or the store does.
    pub async fn claim(self: &Arc<Self>, place: UserPlace, goal: GoalIndex) -> Result<UtcMs, ClaimError> {
        let user = place.caller().clone();
        let key = ClaimLockKey { user: user.clone(), goal_id: self.catalog.goal(goal).id.clone() };
        let lock = self.lock(key).await?;
        let slot = self.slots.enter().ok_or(ClaimError::Full)?;
        let slot = ClaimSlot { _slot: slot, _lock: lock, _place: place };
        let claims = Arc::clone(self);
        let task = tokio::spawn(async move {
            let outcome = claims.begin_and_finish(user, goal).await;
            drop(slot);
            outcome
        });
        task.await.unwrap_or(Err(ClaimError::Store(StoreError::Closed)))
    }

    /// The lock of a user's goal. A request that waits for it has no slot, so that many for one goal take one slot; as
    /// many as there are slots may wait.
    async fn lock(&self, key: ClaimLockKey) -> Result<ClaimLock, ClaimError> {
        if let Some(lock) = self.locks.get(key.clone()).try_acquired() {
            return Ok(lock);
        }
        let _waiting = self.waiting.enter().ok_or(ClaimError::Full)?;
        Ok(self.locks.get(key).acquired().await)
    }

    /// Resumes open claims periodically, so that a reward is granted even when its player never claims again. Returns
    /// when the drain begins; a grant in flight is then left to the next start, with its key.
    pub async fn run_maintenance(self: Arc<Self>, mut draining: Draining) {
        let mut ticks = tokio::time::interval(self.period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first tick is immediate, and the start has just searched.
        ticks.tick().await;
        let every_tick = async {
            loop {
                ticks.tick().await;
                if let Err(error) = self.resume(self.due(UtcMs::now())).await {
                    tracing::error!(%error, "open claims could not be read");
                }
            }
        };
        tokio::select! {
            () = every_tick => {}
            () = draining.begun() => {}
        }
    }

    /// The open claims that are to be tried again at `now`.
    #[must_use]
    pub fn due(&self, now: UtcMs) -> OpenClaims {
        OpenClaims::due(now, self.terms.max_duration)
    }

    /// Ends open claims, those first that have waited the longest; returns how many it ended. When the reward service
    /// answers none of a group, the remaining groups are left for the next search: those that were tried are due later
    /// than they are.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn resume(self: &Arc<Self>, which: OpenClaims) -> Result<usize, StoreError> {
        let open = self.store.open_claims(which).await?;
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
        let Some(_lock) = self.locks.get(key).try_acquired() else { return ResumeOutcome::Busy };
        match self.finish(intent).await {
            Ok(_) | Err(ClaimError::Refused(_)) => ResumeOutcome::Ended,
            Err(ClaimError::NotGranted(GrantError::Refused(_))) => ResumeOutcome::Refused,
            Err(_) => ResumeOutcome::Unanswered,
        }
    }

    async fn begin_and_finish(&self, user: UserId, goal: GoalIndex) -> Result<UtcMs, ClaimError> {
        match self.store.begin_claim(user, goal, &self.terms).await? {
            ClaimStart::Begun(intent) => self.finish(intent).await,
            ClaimStart::Refused(refusal) => Err(ClaimError::Refused(refusal)),
        }
    }

    async fn finish(&self, intent: ClaimIntent) -> Result<UtcMs, ClaimError> {
        if let Err(error) = self.rewards.grant(intent.grant.clone()).await {
            self.leave(intent, &error).await;
            return Err(error.into());
        }
        match self.store.end_claim(intent).await? {
            ClaimEnd::Claimed(at) => Ok(at),
            ClaimEnd::AlreadyClaimed => Err(ClaimError::Refused(ClaimRefusal::AlreadyClaimed)),
        }
    }

    /// Records when the claim is tried again. If this fails, it is as soon as it would have been.
    async fn leave(&self, intent: ClaimIntent, error: &GrantError) {
        let kind = match error {
            GrantError::Refused(_) => ClaimFailureKind::Refused,
            GrantError::Unanswered(_) => ClaimFailureKind::Unanswered,
        };
        let failure = ClaimFailure::new(kind, &intent, self.terms.max_duration, UtcMs::now());
        if let Err(error) = self.store.leave_claim(intent, failure).await {
            tracing::warn!(%error, "a failed claim could not be recorded");
        }
    }
}
