//! The players' operations. Every transport calls these and nothing else, so that all give the same results.

mod select;

use std::sync::Arc;

use kit::clock::UtcMs;

use crate::catalog::{Catalog, GoalIndex};
use crate::claims::{ClaimError, Claims};
use crate::rules::{Activation, ClaimRefusal, GoalRow, UserGoals, rotate};
use crate::seeds::Seeds;
use crate::store::{Initialized, Store, StoreError};
use crate::user::{UserId, UserPlace};
pub use select::{DrawRequest, NamedRequest};

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
    /// The request lacks something, or a number is out of range.
    #[error("{0}")]
    Invalid(&'static str),
    /// A prerequisite of a selected goal is not completed.
    #[error("a prerequisite of the goal {0:?} is not completed; nothing was selected")]
    SelectedLocked(String),
    /// A selected goal is completed, and not active.
    #[error("the goal {0:?} is completed already; nothing was selected")]
    SelectedCompleted(String),
    /// The reward of a selected goal was granted, and it is not active.
    #[error("the reward of the goal {0:?} has been claimed; nothing was selected")]
    SelectedClaimed(String),
    /// No goal is left to draw.
    #[error(
        "no goal is left to select: all are active, completed, or have a prerequisite that is not completed"
    )]
    NoGoalLeft,
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

/// A user's goals at an instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoalsAt {
    /// The rows, each in the period that had begun by then.
    pub goals: UserGoals,
    /// The instant.
    pub at: UtcMs,
}

/// Operations on one catalogue and one store.
pub struct Operations {
    /// The challenges.
    pub catalog: Arc<Catalog>,
    store: Arc<Store>,
    claims: Arc<Claims>,
    seeds: Seeds,
}

impl Operations {
    /// Operations on `catalog` and `store`, with claims carried out by `claims`, and random selections from `seeds`.
    #[must_use]
    pub fn new(catalog: Arc<Catalog>, store: Arc<Store>, claims: Arc<Claims>, seeds: Seeds) -> Self {
        Self { catalog, store, claims, seeds }
    }

    /// The user's goals now. Reading assigns nothing.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn goals(&self, user: &UserId) -> Result<GoalsAt, Refusal> {
        #[cfg(feature = "faults")]
        let _held = kit::faults::inject().await;
        self.read(user).await
    }

    async fn read(&self, user: &UserId) -> Result<GoalsAt, Refusal> {
        let mut goals = self.store.user(user).await?;
        let at = UtcMs::now();
        rotate(&self.catalog, &mut goals, at);
        Ok(GoalsAt { goals, at })
    }

    /// Assigns the default goals that the user lacks. When none is missing, this only reads.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn initialize(&self, user: UserId) -> Result<Initialized, Refusal> {
        #[cfg(feature = "faults")]
        let _held = kit::faults::inject().await;
        let GoalsAt { goals, at } = self.read(&user).await?;
        if self.catalog.defaults().iter().all(|goal| goals.row(*goal).is_some()) {
            return Ok(Initialized { new_assignments: 0, goals, at });
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

    /// Grants the goal's reward, once. Returns the time of the grant. The claim has the user's place until it ends.
    ///
    /// # Errors
    /// When the rules refuse, the reward client fails, or the store does not answer.
    pub async fn claim(&self, place: UserPlace, goal: GoalIndex) -> Result<UtcMs, Refusal> {
        #[cfg(feature = "faults")]
        let _held = kit::faults::inject().await;
        Ok(self.claims.claim(place, goal).await?)
    }
}

/// A caller's text at a bounded length, for use in a message.
fn shortened(id: &str) -> String {
    id.chars().take(100).collect()
}
