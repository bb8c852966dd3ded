//! A claim from end to end: record the intent, grant, record the end. Whatever breaks in between is taken up again
//! with the same key, so that a reward is granted exactly once.

use crate::catalog::{Catalog, GoalIx};
use crate::rewards::{GrantError, RewardClient};
use crate::rules::ClaimRefusal;
use crate::store::{ClaimEnd, ClaimIntent, ClaimStart, OnTheirWay, Store, StoreError};
use crate::user::UserId;
use kit::clock::UtcMs;
use kit::drain::Draining;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

/// Claims taken up again at once.
const AT_ONCE: usize = 16;

/// Why a claim did not grant anything.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ClaimError {
    /// The rules say no.
    #[error("the claim is refused")]
    Refused(ClaimRefusal),
    /// The reward client failed; the claim stays open and may be asked for again.
    #[error(transparent)]
    NotGranted(#[from] GrantError),
    /// The store failed; the claim, if begun, is taken up again.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A user and a goal's id: a claim may outlive its goal's place in the file.
type Key = (UserId, String);
type Turn = Arc<tokio::sync::Mutex<()>>;

/// How claims that were left open are looked after.
#[derive(Debug, Clone, Copy)]
pub struct Tending {
    /// Time between two looks.
    pub period: Duration,
    /// How long ago a claim must have begun: longer than any takes that is still on its way.
    pub age: Duration,
}

/// What became of a claim that was left open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Again {
    Ended,
    /// Its user is at it.
    Busy,
    Refused,
    Unanswered,
}

/// Carries claims out, one at a time for each user and goal.
pub struct Claims {
    catalog: Arc<Catalog>,
    store: Arc<Store>,
    rewards: Arc<dyn RewardClient>,
    turns: Mutex<HashMap<Key, Turn>>,
}

impl Claims {
    /// Claims of the catalogue's goals on `store`, granted by `rewards`.
    #[must_use]
    pub fn new(catalog: Arc<Catalog>, store: Arc<Store>, rewards: Arc<dyn RewardClient>) -> Self {
        Self { catalog, store, rewards, turns: Mutex::new(HashMap::new()) }
    }

    /// Claims a goal's reward. It runs to its end even when the caller goes away.
    ///
    /// # Errors
    /// When the rules refuse, the grant fails, or the store does.
    pub async fn claim(self: &Arc<Self>, user: UserId, goal: GoalIx) -> Result<UtcMs, ClaimError> {
        let claims = Arc::clone(self);
        let task = tokio::spawn(async move { claims.in_turn(user, goal).await });
        task.await.unwrap_or(Err(ClaimError::Store(StoreError::Closed)))
    }

    /// Takes up again, at every period, what was left open; so a reward is not lost whose player never claims again.
    /// Returns when the drain begins. A grant on its way is then left to the next start, with its key.
    pub async fn tend(self: Arc<Self>, tending: Tending, mut draining: Draining) {
        let mut looks = tokio::time::interval(tending.period);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first tick comes at once, and the start has just looked.
        looks.tick().await;
        let every_look = async {
            loop {
                looks.tick().await;
                if let Err(error) = self.resume(OnTheirWay::at(UtcMs::now(), tending.age)).await {
                    tracing::error!(%error, "claims left open could not be looked for");
                }
            }
        };
        tokio::select! {
            () = every_look => {}
            () = draining.begun() => {}
        }
    }

    /// Ends the claims that were left open, which none that may be on its way is; returns how many it ended. When none
    /// of a group has an answer, the rest is left for the next look.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn resume(self: &Arc<Self>, but: OnTheirWay) -> Result<usize, StoreError> {
        let open = self.store.pending_claims(but).await?;
        let mut outcomes = Vec::new();
        for group in open.chunks(AT_ONCE) {
            let asked = self.all_again(group).await;
            let is_in_vain = asked.iter().all(|outcome| *outcome == Again::Unanswered);
            outcomes.extend(asked);
            if is_in_vain {
                break;
            }
        }
        let count = |wanted| outcomes.iter().filter(|outcome| **outcome == wanted).count();
        let (ended, refused, unanswered) =
            (count(Again::Ended), count(Again::Refused), count(Again::Unanswered));
        if !open.is_empty() {
            let found = open.len();
            tracing::warn!(found, ended, refused, unanswered, "claims left open were taken up again");
        }
        Ok(ended)
    }

    async fn all_again(self: &Arc<Self>, group: &[ClaimIntent]) -> Vec<Again> {
        let mut asked = JoinSet::new();
        for intent in group.iter().cloned() {
            let claims = Arc::clone(self);
            asked.spawn(async move { claims.again(intent).await });
        }
        asked.join_all().await
    }

    async fn again(&self, intent: ClaimIntent) -> Again {
        let key = (intent.user.clone(), intent.goal_id.clone());
        let turn = self.turn(&key);
        let outcome = match turn.try_lock() {
            Err(_held) => Again::Busy,
            Ok(_held) => match self.finish(intent).await {
                Ok(_) | Err(ClaimError::Refused(_)) => Again::Ended,
                Err(ClaimError::NotGranted(GrantError::Refused(_))) => Again::Refused,
                Err(ClaimError::NotGranted(_) | ClaimError::Store(_)) => Again::Unanswered,
            },
        };
        self.forget(&key, turn);
        outcome
    }

    /// Simultaneous claims of one goal wait for each other, so that the reward client is asked once and the others
    /// learn how it ended.
    async fn in_turn(&self, user: UserId, goal: GoalIx) -> Result<UtcMs, ClaimError> {
        let key = (user.clone(), self.catalog.goal(goal).id.clone());
        let turn = self.turn(&key);
        let held = turn.lock().await;
        let outcome = self.begin_and_finish(user, goal).await;
        drop(held);
        self.forget(&key, turn);
        outcome
    }

    fn turn(&self, key: &Key) -> Turn {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(turns.entry(key.clone()).or_default())
    }

    /// The last one out removes the turn: one reference is the map's, the other this caller's.
    fn forget(&self, key: &Key, turn: Turn) {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if Arc::strong_count(&turn) == 2 {
            turns.remove(key);
        }
    }

    async fn begin_and_finish(&self, user: UserId, goal: GoalIx) -> Result<UtcMs, ClaimError> {
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
            ClaimEnd::Already => Err(ClaimError::Refused(ClaimRefusal::AlreadyClaimed)),
        }
    }
}
