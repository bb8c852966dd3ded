//! The challenges of a deployment: read from one JSON file, validated as a whole, immutable afterwards, and
//! indexed by everything that rules ask for.
//!
//! Nothing here knows a user. Start at [`Catalog::parse`].

mod fields;
mod generate;
mod prerequisites;
mod read;

pub use fields::Problem;
pub use generate::{Counts, generate};

use std::collections::HashMap;
use std::path::Path;

/// Bytes that a challenge file may have: a thousand times the generated one's goal count still fits.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// A goal's place in document order, over all challenges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GoalIx(pub u32);

/// Goals that one kind of event may move: a place in [`Catalog`]'s table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Trigger(u32);

/// Where a goal's progress comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Each login counts one.
    Login,
    /// A statistic's latest value.
    Statistic,
}

/// How a statistic's value becomes progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The value itself.
    Absolute,
    /// What the value has gained since the goal was assigned.
    Relative,
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

/// One goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Goal {
    /// Unique over the whole file.
    pub id: String,
    /// For people.
    pub name: String,
    /// For people.
    pub description: String,
    /// Which events may move it.
    pub source: Source,
    /// Assigned to every user without being asked for.
    pub is_default: bool,
    /// Must match the event's, for statistics.
    pub stat_code: String,
    /// Progress at which the goal is completed, at least 1.
    pub target: i32,
    /// How a value becomes progress.
    pub mode: Mode,
    /// What a claim grants.
    pub reward: Reward,
    /// Goals to be completed first, as written.
    pub prerequisite_ids: Vec<String>,
    /// The same as places.
    pub prerequisites: Vec<GoalIx>,
    /// The challenge it belongs to, as a place in [`Catalog::challenges`].
    pub challenge: usize,
}

/// One challenge: a name for consecutive goals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// Unique over the whole file.
    pub id: String,
    /// For people.
    pub name: String,
    /// For people.
    pub description: String,
    /// Its goals' places in document order.
    pub goals: std::ops::Range<u32>,
}

/// Why a challenge file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The file could not be read.
    #[error("{file}: {source}")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The text is no JSON.
    #[error("{file}: {source}")]
    Malformed {
        /// The file.
        file: String,
        /// Says line and column.
        source: serde_json::Error,
    },
    /// The JSON breaks rules; every breach found is listed.
    #[error("{}", listed(file, problems))]
    Invalid {
        /// The file.
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
    goals: Vec<Goal>,
    defaults: Vec<GoalIx>,
    dependants: Vec<Vec<GoalIx>>,
    by_id: HashMap<String, GoalIx>,
    challenge_by_id: HashMap<String, usize>,
    by_stat_code: HashMap<String, Trigger>,
    login: Option<Trigger>,
    triggered: Vec<Vec<GoalIx>>,
}

impl Catalog {
    /// Reads and validates a file.
    ///
    /// # Errors
    /// When it cannot be read, is no JSON, or breaks a rule.
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
    /// When it is no JSON or breaks a rule; all breaches are listed.
    pub fn parse(file: &str, text: &str) -> Result<Self, CatalogError> {
        let value = serde_json::from_str(text)
            .map_err(|source| CatalogError::Malformed { file: file.to_owned(), source })?;
        let (challenges, goals) = read::challenges(&value)
            .map_err(|problems| CatalogError::Invalid { file: file.to_owned(), problems })?;
        Ok(Self::index(challenges, goals))
    }

    fn index(challenges: Vec<Challenge>, goals: Vec<Goal>) -> Self {
        let mut catalog = Self {
            by_id: goals.iter().zip(0..).map(|(goal, ix)| (goal.id.clone(), GoalIx(ix))).collect(),
            challenge_by_id: challenges.iter().enumerate().map(|(i, c)| (c.id.clone(), i)).collect(),
            defaults: Vec::new(),
            dependants: vec![Vec::new(); goals.len()],
            by_stat_code: HashMap::new(),
            login: None,
            triggered: Vec::new(),
            challenges,
            goals,
        };
        for ix in (0..).map(GoalIx).take(catalog.goals.len()) {
            catalog.index_goal(ix);
        }
        catalog
    }

    fn index_goal(&mut self, ix: GoalIx) {
        let goal = &self.goals[ix.0 as usize];
        if goal.is_default {
            self.defaults.push(ix);
        }
        for prerequisite in &goal.prerequisites {
            self.dependants[prerequisite.0 as usize].push(ix);
        }
        let next = Trigger(u32::try_from(self.triggered.len()).unwrap_or(u32::MAX));
        let trigger = match goal.source {
            Source::Login => *self.login.get_or_insert(next),
            Source::Statistic => *self.by_stat_code.entry(goal.stat_code.clone()).or_insert(next),
        };
        if trigger == next {
            self.triggered.push(Vec::new());
        }
        self.triggered[trigger.0 as usize].push(ix);
    }

    /// The goal at a place of this catalogue.
    #[must_use]
    pub fn goal(&self, ix: GoalIx) -> &Goal {
        &self.goals[ix.0 as usize]
    }

    /// The goals of all challenges in document order.
    pub fn goals(&self) -> impl Iterator<Item = (GoalIx, &Goal)> {
        (0..).map(GoalIx).zip(&self.goals)
    }

    /// The place of a goal id.
    #[must_use]
    pub fn find(&self, goal_id: &str) -> Option<GoalIx> {
        self.by_id.get(goal_id).copied()
    }

    /// The place of a challenge id.
    #[must_use]
    pub fn find_challenge(&self, challenge_id: &str) -> Option<usize> {
        self.challenge_by_id.get(challenge_id).copied()
    }

    /// Goals assigned to every user, in document order.
    #[must_use]
    pub fn defaults(&self) -> &[GoalIx] {
        &self.defaults
    }

    /// Goals that name `goal` as a prerequisite.
    #[must_use]
    pub fn dependants(&self, goal: GoalIx) -> &[GoalIx] {
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

    /// The goals behind a trigger.
    #[must_use]
    pub fn triggered(&self, trigger: Trigger) -> &[GoalIx] {
        &self.triggered[trigger.0 as usize]
    }
}

#[cfg(test)]
mod tests;
