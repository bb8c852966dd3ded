//! The challenges of a deployment: read from one JSON file, validated as a whole, immutable afterwards, and
//! indexed by everything that rules look up.
//!
//! Nothing here depends on a user. Start at [`Catalog::parse`].

mod fields;
mod generate;
mod prerequisites;
mod read;
mod schedule;

use std::collections::HashMap;
use std::path::Path;

pub use fields::Problem;
pub use generate::{CatalogSize, generate};
pub use schedule::{Period, Schedule, day};

/// Bytes that a challenge file may have: enough for a thousand times the goals of the generated one.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// A goal's index in document order, over all challenges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GoalIndex(pub u32);

/// A challenge's index in document order: in [`Catalog::challenges`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChallengeIndex(usize);

/// The goals that one kind of event may move: an index into [`Catalog`]'s table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Trigger(u32);

/// Where a goal's progress comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventSource {
    /// Each login counts one.
    Login,
    /// A statistic's latest value.
    Statistic,
}

/// How events become progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressMode {
    /// The statistic's value itself.
    Absolute,
    /// The increase of the statistic's value since the goal's first event.
    Relative,
    /// Each event counts one, as each login does.
    EachEvent,
    /// Each day in UTC on which there is an event counts one.
    EachDay,
}

/// What happens to a goal when a period ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotation {
    /// Its periods.
    pub schedule: Schedule,
    /// What their ends reset.
    pub resets: Resets,
}

/// What the end of a period resets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resets {
    /// Nothing: progress is kept.
    Nothing,
    /// Progress, unless the reward was granted: it is granted once.
    Unclaimed,
    /// Progress, and then the reward can be claimed again.
    Everything,
}

/// What a goal grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reward {
    /// `ITEM` or `WALLET`.
    pub kind: &'static str,
    /// The item or currency.
    pub id: String,
    /// How many, at least 1.
    pub quantity: i32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Goal {
    /// Unique over the whole file.
    pub id: String,
    /// Display text.
    pub name: String,
    /// Display text.
    pub description: String,
    /// Which events may move it.
    pub source: EventSource,
    /// Assigned to every user automatically.
    pub is_default: bool,
    /// Must match the event's, for statistics.
    pub stat_code: String,
    /// Progress at which the goal is completed, at least 1.
    pub target: i32,
    /// How events become progress.
    pub mode: ProgressMode,
    /// Its periods, when it has any.
    pub rotation: Option<Rotation>,
    /// What a claim grants.
    pub reward: Reward,
    /// Goals to be completed first, as written.
    pub prerequisite_ids: Vec<String>,
    /// The same as indexes.
    pub prerequisites: Vec<GoalIndex>,
    /// The challenge that it belongs to.
    pub challenge: ChallengeIndex,
}

/// One challenge: a name for consecutive goals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// Unique over the whole file.
    pub id: String,
    /// Display text.
    pub name: String,
    /// Display text.
    pub description: String,
    /// The indexes of its goals.
    pub goals: std::ops::Range<u32>,
}

/// Why a challenge file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The file could not be read.
    #[error("{file}: {source}")]
    Unreadable { file: String, source: std::io::Error },
    /// The text is not JSON.
    #[error("{file}: {source}")]
    Malformed {
        file: String,
        /// The parser's error, with line and column.
        source: serde_json::Error,
    },
    /// The JSON violates rules; every violation found is listed.
    #[error("{}", listed(file, problems))]
    Invalid {
        file: String,
        /// At least one.
        problems: Vec<Problem>,
    },
}

fn listed(file: &str, problems: &[Problem]) -> String {
    let lines: Vec<String> = problems.iter().map(|p| format!("{file}: {p}")).collect();
    lines.join("\n")
}

/// All challenges of a deployment.
#[derive(Debug)]
pub struct Catalog {
    /// In document order.
    pub challenges: Vec<Challenge>,
    /// What the file contains that has no effect.
    pub warnings: Vec<Problem>,
    goals: Vec<Goal>,
    defaults: Vec<GoalIndex>,
    rotating: Vec<GoalIndex>,
    dependants: Vec<Vec<GoalIndex>>,
    by_id: HashMap<String, GoalIndex>,
    challenge_by_id: HashMap<String, ChallengeIndex>,
    by_stat_code: HashMap<String, Trigger>,
    login: Option<Trigger>,
    triggered: Vec<Vec<GoalIndex>>,
}

impl Catalog {
    /// Reads and validates a file.
    ///
    /// # Errors
    /// When it cannot be read, is not JSON, or violates a rule.
    pub fn load(path: &Path) -> Result<Self, CatalogError> {
        let file = path.display().to_string();
        let unreadable = |source| CatalogError::Unreadable { file: file.clone(), source };
        let bytes = std::fs::metadata(path).map_err(unreadable)?.len();
        if bytes > MAX_FILE_BYTES {
            return Err(unreadable(std::io::ErrorKind::FileTooLarge.into()));
        }
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        Self::parse(&file, &text)
    }

    /// Reads and validates the text of `file`, a name used in errors only.
    ///
    /// # Errors
    /// When it is not JSON or violates a rule; all violations are listed.
    pub fn parse(file: &str, text: &str) -> Result<Self, CatalogError> {
        let value = serde_json::from_str(text)
            .map_err(|source| CatalogError::Malformed { file: file.to_owned(), source })?;
        let read = read::challenges(&value)
            .map_err(|problems| CatalogError::Invalid { file: file.to_owned(), problems })?;
        Ok(Self::index(read))
    }

    fn index(read::ReadFile { challenges, goals, warnings }: read::ReadFile) -> Self {
        let mut catalog = Self {
            by_id: goals.iter().zip(0..).map(|(goal, index)| (goal.id.clone(), GoalIndex(index))).collect(),
            challenge_by_id: challenges
                .iter()
                .enumerate()
                .map(|(i, challenge)| (challenge.id.clone(), ChallengeIndex(i)))
                .collect(),
            warnings,
            defaults: Vec::new(),
            rotating: Vec::new(),
            dependants: vec![Vec::new(); goals.len()],
            by_stat_code: HashMap::new(),
            login: None,
            triggered: Vec::new(),
            challenges,
            goals,
        };
        for index in (0..).map(GoalIndex).take(catalog.goals.len()) {
            catalog.index_goal(index);
        }
        catalog
    }

    fn index_goal(&mut self, index: GoalIndex) {
        let goal = &self.goals[index.0 as usize];
        if goal.is_default {
            self.defaults.push(index);
        }
        if goal.rotation.is_some() {
            self.rotating.push(index);
        }
        for prerequisite in &goal.prerequisites {
            self.dependants[prerequisite.0 as usize].push(index);
        }
        let next = Trigger(u32::try_from(self.triggered.len()).unwrap_or(u32::MAX));
        let trigger = match goal.source {
            EventSource::Login => *self.login.get_or_insert(next),
            EventSource::Statistic => *self.by_stat_code.entry(goal.stat_code.clone()).or_insert(next),
        };
        if trigger == next {
            self.triggered.push(Vec::new());
        }
        self.triggered[trigger.0 as usize].push(index);
    }

    #[must_use]
    pub fn goal(&self, index: GoalIndex) -> &Goal {
        &self.goals[index.0 as usize]
    }

    /// The goals of all challenges in document order.
    pub fn goals(&self) -> impl Iterator<Item = (GoalIndex, &Goal)> {
        (0..).map(GoalIndex).zip(&self.goals)
    }

    /// The index of a goal id.
    #[must_use]
    pub fn find(&self, goal_id: &str) -> Option<GoalIndex> {
        self.by_id.get(goal_id).copied()
    }

    /// The challenge that a goal belongs to.
    #[must_use]
    pub fn challenge_of(&self, goal: &Goal) -> &Challenge {
        &self.challenges[goal.challenge.0]
    }

    /// The index of a challenge id.
    #[must_use]
    pub fn find_challenge(&self, challenge_id: &str) -> Option<ChallengeIndex> {
        self.challenge_by_id.get(challenge_id).copied()
    }

    /// Goals assigned to every user, in document order.
    #[must_use]
    pub fn defaults(&self) -> &[GoalIndex] {
        &self.defaults
    }

    /// Goals that have periods, in document order.
    #[must_use]
    pub fn rotating(&self) -> &[GoalIndex] {
        &self.rotating
    }

    #[must_use]
    pub fn challenge(&self, index: ChallengeIndex) -> &Challenge {
        &self.challenges[index.0]
    }

    /// Goals that name `goal` as a prerequisite.
    #[must_use]
    pub fn dependants(&self, goal: GoalIndex) -> &[GoalIndex] {
        &self.dependants[goal.0 as usize]
    }

    /// The goals that a login moves, if there are any.
    #[must_use]
    pub fn login_trigger(&self) -> Option<Trigger> {
        self.login
    }

    /// The goals that a statistic moves, if there are any: source and stat code must both match.
    #[must_use]
    pub fn statistic_trigger(&self, stat_code: &str) -> Option<Trigger> {
        self.by_stat_code.get(stat_code).copied()
    }

    #[must_use]
    pub fn triggered(&self, trigger: Trigger) -> &[GoalIndex] {
        &self.triggered[trigger.0 as usize]
    }
}

#[cfg(test)]
mod tests;
