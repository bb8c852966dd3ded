//! The players' operations. Every transport calls these and nothing else, so that all give the same results.

use std::sync::Arc;

use kit::clock::UtcMs;

use crate::catalog::{Catalog, GoalIndex};
use crate::claims::{ClaimError, Claims};
use crate::rules::{Activation, ClaimRefusal, GoalRow, UserGoals};
use crate::store::{Initialized, Store, StoreError};
use crate::user::UserId;

/// The message of every refusal for overload.
pub const OVERLOADED_MESSAGE: &str = "too many requests at once; try again";

/// Why an operation was refused.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Refusal {
    /// No challenge has this id.
    #[error("no challenge has the id {0:?}")]
    UnknownChallenge(String),
    /// The challenge has no goal of this id.
    #[error("the challenge has no goal with the id {0:?}")]
    UnknownGoal(String),
    /// The goal's reward cannot be claimed.
    #[error("{}", claim_refusal(*.0))]
    NotClaimable(ClaimRefusal),
    /// The reward could not be granted; the claim may be repeated.
    #[error("the reward could not be granted; claim again")]
    NotGranted,
    /// As many claims or writes wait as may; nothing was begun.
    #[error("{OVERLOADED_MESSAGE}")]
    Overloaded,
    /// The store did not answer.
    #[error("the store does not answer; try again")]
    Unavailable,
}

fn claim_refusal(refusal: ClaimRefusal) -> &'static str {
    match refusal {
        ClaimRefusal::NotActive => "the goal is not active",
        ClaimRefusal::AlreadyClaimed => "the reward has been claimed",
        ClaimRefusal::NotCompleted => "the goal is not completed",
        ClaimRefusal::PrerequisitesUnmet => "a prerequisite of the goal is not completed",
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        if matches!(error, StoreError::Full) {
            return Self::Overloaded;
        }
        tracing::error!(%error, "an operation failed");
        Self::Unavailable
    }
}

impl From<ClaimError> for Refusal {
    fn from(error: ClaimError) -> Self {
        match error {
            ClaimError::Refused(refusal) => Self::NotClaimable(refusal),
            ClaimError::Store(error) => error.into(),
            ClaimError::Full => Self::Overloaded,
            ClaimError::NotGranted(_) => {
                tracing::error!(%error, "a reward was not granted");
                Self::NotGranted
            }
        }
    }
}

/// Operations on one catalogue and one store.
pub struct Operations {
    /// The challenges.
    pub catalog: Arc<Catalog>,
    store: Arc<Store>,
    claims: Arc<Claims>,
}

impl Operations {
    /// Operations on `catalog` and `store`, with claims carried out by `claims`.
    #[must_use]
    pub fn new(catalog: Arc<Catalog>, store: Arc<Store>, claims: Arc<Claims>) -> Self {
        Self { catalog, store, claims }
    }

    /// The user's goals now. Reading assigns nothing.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn goals(&self, user: &UserId) -> Result<UserGoals, Refusal> {
        #[cfg(feature = "faults")]
        let _held = kit::faults::inject().await;
        Ok(self.store.user(user).await?)
    }

    /// Assigns the default goals that the user lacks. When none is missing, this only reads.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn initialize(&self, user: UserId) -> Result<Initialized, Refusal> {
        #[cfg(feature = "faults")]
        let _held = kit::faults::inject().await;
        let goals = self.store.user(&user).await?;
        if self.catalog.defaults().iter().all(|goal| goals.row(*goal).is_some()) {
            return Ok(Initialized { new_assignments: 0, goals });
        }
        Ok(self.store.initialize(user).await?)
    }

    /// Makes a goal active or inactive for the user.
    ///
    /// # Errors
    /// When the goal is unknown or the store does not answer.
    pub async fn set_active(
        &self,
        user: UserId,
        goal: GoalIndex,
        activation: Activation,
    ) -> Result<GoalRow, Refusal> {
        #[cfg(feature = "faults")]
        let _held = kit::faults::inject().await;
        Ok(self.store.set_active(user, goal, activation).await?)
    }

    /// Grants the goal's reward, once. Returns the time of the grant.
    ///
    /// # Errors
    /// When the rules refuse, the reward client fails, or the store does not answer.
    pub async fn claim(&self, user: UserId, goal: GoalIndex) -> Result<UtcMs, Refusal> {
        #[cfg(feature = "faults")]
        let _held = kit::faults::inject().await;
        Ok(self.claims.claim(user, goal).await?)
    }

    /// The goal of a challenge.
    ///
    /// # Errors
    /// When either is unknown, or the goal belongs to another challenge.
    pub fn find(&self, challenge_id: &str, goal_id: &str) -> Result<GoalIndex, Refusal> {
        let unknown = || Refusal::UnknownChallenge(shortened(challenge_id));
        let challenge = self.catalog.find_challenge(challenge_id).ok_or_else(unknown)?;
        let goal = self.catalog.find(goal_id).filter(|goal| self.catalog.goal(*goal).challenge == challenge);
        goal.ok_or_else(|| Refusal::UnknownGoal(shortened(goal_id)))
    }
}

/// A caller's text at a bounded length, for use in a message.
fn shortened(id: &str) -> String {
    id.chars().take(100).collect()
}
