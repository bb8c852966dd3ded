//! When the goals of a challenge begin again.

use kit::clock::UtcMs;
use serde::Serialize;

use super::seconds_until;
use crate::catalog::{Catalog, ChallengeIndex, GoalIndex, Period};

/// The response to `rotation`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RotationStatus<'a> {
    pub challenge_id: &'a str,
    pub rotation: RotationView,
}

/// The rotation of a challenge: of those of its goals, the one with the shortest periods.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RotationView {
    /// Whether one of its goals has periods; if not, everything else is empty.
    pub enabled: bool,
    /// `global`: the periods are the same for every user.
    pub r#type: &'static str,
    /// `daily`, `weekly` or `monthly`.
    pub schedule: &'static str,
    /// The period that has begun.
    pub current_period: PeriodView,
    /// The one after it.
    pub next_period: PeriodView,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PeriodView {
    /// When it begins.
    pub start_time: String,
    /// When the next one begins.
    pub end_time: String,
    /// Whole seconds until its end.
    pub expires_in_seconds: i32,
}

impl<'a> RotationStatus<'a> {
    /// The challenge's rotation at `now`.
    #[must_use]
    pub fn new(catalog: &'a Catalog, challenge: ChallengeIndex, now: UtcMs) -> Self {
        let challenge = catalog.challenge(challenge);
        let rotations = challenge.goals.clone().filter_map(|goal| catalog.goal(GoalIndex(goal)).rotation);
        let shortest = rotations.map(|rotation| rotation.schedule).min();
        let rotation = shortest.map_or_else(RotationView::default, |schedule| {
            let current = schedule.period(now);
            RotationView {
                enabled: true,
                r#type: "global",
                schedule: schedule.name(),
                current_period: PeriodView::new(current, now),
                next_period: PeriodView::new(schedule.period(current.end), now),
            }
        });
        Self { challenge_id: &challenge.id, rotation }
    }
}

impl PeriodView {
    fn new(period: Period, now: UtcMs) -> Self {
        Self {
            start_time: period.start.to_string(),
            end_time: period.end.to_string(),
            expires_in_seconds: seconds_until(period.end, now),
        }
    }
}
