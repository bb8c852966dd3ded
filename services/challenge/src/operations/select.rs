//! Selections of goals, and when the goals of a challenge begin again.

use kit::clock::UtcMs;

use super::{Operations, Refusal, shortened};
use crate::catalog::{ChallengeIndex, GoalIndex};
use crate::rules::{ActiveGoals, Choice, Draw, OtherGoals, SelectRefusal, Selection};
use crate::user::UserId;
use crate::view::{RotationStatus, SelectionView};

/// A selection by name.
#[derive(Debug, Clone)]
pub struct NamedRequest {
    /// The goals' ids, at least one.
    pub goal_ids: Vec<String>,
    /// What becomes of the challenge's other goals.
    pub others: OtherGoals,
}

/// A selection at random.
#[derive(Debug, Clone, Copy)]
pub struct DrawRequest {
    /// How many goals, at least 1.
    pub count: i32,
    /// Whether goals that are active may be drawn.
    pub active: ActiveGoals,
    /// What becomes of the challenge's other goals.
    pub others: OtherGoals,
}

impl Operations {
    /// Makes the named goals of a challenge active for the user.
    ///
    /// # Errors
    /// When none is named, one is unknown or cannot be selected, or the store does not answer.
    pub async fn select_named(
        &self,
        user: UserId,
        challenge: ChallengeIndex,
        request: NamedRequest,
    ) -> Result<SelectionView<'_>, Refusal> {
        if request.goal_ids.is_empty() {
            return Err(Refusal::Invalid("goal_ids must name at least one goal"));
        }
        let goals =
            request.goal_ids.iter().map(|id| self.goal_of(challenge, id)).collect::<Result<_, _>>()?;
        let selection = Selection { challenge, choice: Choice::Named(goals), others: request.others };
        self.select(user, selection).await
    }

    /// Makes randomly drawn goals of a challenge active for the user.
    ///
    /// # Errors
    /// When the count is below 1, no goal is left to draw, or the store does not answer.
    pub async fn select_drawn(
        &self,
        user: UserId,
        challenge: ChallengeIndex,
        request: DrawRequest,
    ) -> Result<SelectionView<'_>, Refusal> {
        let count = usize::try_from(request.count).ok().filter(|count| *count > 0);
        let count = count.ok_or(Refusal::Invalid("count must be at least 1"))?;
        let seed = self.seeds.next(&user, &self.catalog.challenge(challenge).id);
        let choice = Choice::Drawn(Draw { count, active: request.active, seed });
        self.select(user, Selection { challenge, choice, others: request.others }).await
    }

    async fn select(&self, user: UserId, selection: Selection) -> Result<SelectionView<'_>, Refusal> {
        #[cfg(feature = "faults")]
        let _held = kit::faults::inject().await;
        let challenge = selection.challenge;
        let selected = self.store.select(user, selection).await?.map_err(|refusal| self.refused(refusal))?;
        Ok(SelectionView::new(&self.catalog, challenge, &selected))
    }

    fn refused(&self, refusal: SelectRefusal) -> Refusal {
        let id = |goal: GoalIndex| self.catalog.goal(goal).id.clone();
        match refusal {
            SelectRefusal::Locked(goal) => Refusal::SelectedLocked(id(goal)),
            SelectRefusal::Completed(goal) => Refusal::SelectedCompleted(id(goal)),
            SelectRefusal::Claimed(goal) => Refusal::SelectedClaimed(id(goal)),
            SelectRefusal::NoneLeft => Refusal::NoGoalLeft,
        }
    }

    /// When the goals of a challenge begin again.
    #[must_use]
    pub fn rotation(&self, challenge: ChallengeIndex) -> RotationStatus<'_> {
        RotationStatus::new(&self.catalog, challenge, UtcMs::now())
    }

    /// The challenge with an id.
    ///
    /// # Errors
    /// When there is none.
    pub fn find_challenge(&self, challenge_id: &str) -> Result<ChallengeIndex, Refusal> {
        let unknown = || Refusal::UnknownChallenge(shortened(challenge_id));
        self.catalog.find_challenge(challenge_id).ok_or_else(unknown)
    }

    /// The goal of a challenge.
    ///
    /// # Errors
    /// When either is unknown, or the goal belongs to another challenge.
    pub fn find(&self, challenge_id: &str, goal_id: &str) -> Result<GoalIndex, Refusal> {
        self.goal_of(self.find_challenge(challenge_id)?, goal_id)
    }

    fn goal_of(&self, challenge: ChallengeIndex, goal_id: &str) -> Result<GoalIndex, Refusal> {
        let goal = self.catalog.find(goal_id).filter(|goal| self.catalog.goal(*goal).challenge == challenge);
        goal.ok_or_else(|| Refusal::UnknownGoal(shortened(goal_id)))
    }
}
