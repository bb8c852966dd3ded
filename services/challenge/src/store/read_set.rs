//! What must be read before a group of commands can run: of each user only the goals that the group may change, where
//! that is known to be enough.
//!
//! It is not enough for a user who may lack default goals: they are assigned with the first write, and only all rows
//! show which are missing. A user who has them all keeps them all: the catalogue stays the same while a process runs,
//! rules add rows and never remove one, and no store deletes any. So stores remember such users ([`CompleteUsers`]).
//! If another program deletes rows in the database, a part lacks a default goal ([`ReadSet::widen`]).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use super::command::Command;
use super::event_key::EventKey;
use crate::catalog::{Catalog, GoalIndex};
use crate::rules::UserGoals;
use crate::user::UserId;

/// Users that a store remembers at least; it remembers at most twice as many, in about two megabytes a half.
const REMEMBERED_USERS: usize = 100_000;

/// What a group reads before it can run.
pub(super) struct ReadSet<'a> {
    /// How much of which user, in the order of users: stores lock them in this order.
    pub(super) users: BTreeMap<&'a UserId, ReadExtent>,
    /// Events that may have been applied before, each once.
    pub(super) events: Vec<EventRef<'a>>,
    /// Goals whose claims are begun or ended.
    pub(super) claims: Vec<ClaimRef<'a>>,
}

/// An event of a user.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventRef<'a> {
    pub(super) user: &'a UserId,
    pub(super) key: EventKey,
}

/// The claims of a user's goal.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClaimRef<'a> {
    pub(super) user: &'a UserId,
    pub(super) goal_id: &'a str,
}

/// Some goals of a user.
#[derive(Debug, Clone, Copy)]
pub(super) struct UserPart<'a, 'b> {
    pub(super) user: &'a UserId,
    pub(super) goals: &'b BTreeSet<GoalIndex>,
}

/// How much of a user is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReadExtent {
    /// Every row.
    Whole,
    /// The rows of these goals.
    Part(BTreeSet<GoalIndex>),
}

/// The rows of a user that were read. Which goals are missing shows only when all rows were read.
#[derive(Debug, Clone)]
pub(super) enum LoadedGoals {
    /// Every row; and whether the default goals are known to be among them.
    Whole(UserGoals, DefaultGoals),
    /// The rows of the goals that the group may change, of a user who lacks no default goal or is assigned none.
    Part(UserGoals),
}

impl LoadedGoals {
    pub(super) fn goals_mut(&mut self) -> &mut UserGoals {
        match self {
            Self::Whole(goals, _) | Self::Part(goals) => goals,
        }
    }
}

/// Whether a user has all default goals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DefaultGoals {
    /// Not checked yet.
    Unknown,
    Assigned,
}

impl<'a> ReadSet<'a> {
    pub(super) fn collect(group: &'a [Command], catalog: &'a Catalog, complete: &CompleteUsers) -> Self {
        let mut users: BTreeMap<&UserId, ReadExtent> = BTreeMap::new();
        for command in group {
            let extent = users.entry(command.user()).or_insert_with(|| ReadExtent::Part(BTreeSet::new()));
            extent.include(command, catalog, complete);
        }
        let mut distinct = HashSet::new();
        let events = group.iter().filter_map(|command| match command {
            Command::Event(event, _) => event.key.map(|key| EventRef { user: &event.user, key }),
            _ => None,
        });
        let claims = group.iter().filter_map(|command| match command {
            Command::BeginClaim { user, goal, .. } => {
                Some(ClaimRef { user, goal_id: &catalog.goal(*goal).id })
            }
            Command::EndClaim(intent, _) | Command::LeaveClaim(intent, ..) => {
                Some(ClaimRef { user: &intent.user, goal_id: &intent.goal_id })
            }
            _ => None,
        });
        Self {
            users,
            events: events.filter(|event| distinct.insert(event.key)).collect(),
            claims: claims.collect(),
        }
    }

    /// Users of whom every row is to be read.
    pub(super) fn whole(&self) -> impl Iterator<Item = &'a UserId> {
        self.users.iter().filter(|(_, extent)| **extent == ReadExtent::Whole).map(|(user, _)| *user)
    }

    /// Users of whom some goals are to be read.
    pub(super) fn parts(&self) -> impl Iterator<Item = UserPart<'a, '_>> {
        self.users.iter().filter_map(|(user, extent)| match extent {
            ReadExtent::Part(goals) => Some(UserPart { user, goals }),
            ReadExtent::Whole => None,
        })
    }

    /// Extends to all rows every part that lacks a default goal, and returns its user: the user is to be read again.
    pub(super) fn widen(&mut self, found: &HashMap<UserId, UserGoals>, catalog: &Catalog) -> Vec<&'a UserId> {
        let nothing = UserGoals::default();
        let mut widened = Vec::new();
        for (user, extent) in &mut self.users {
            let rows = found.get(*user).unwrap_or(&nothing);
            let is_missing = |goal: &GoalIndex| catalog.goal(*goal).is_default && rows.row(*goal).is_none();
            if matches!(extent, ReadExtent::Part(goals) if goals.iter().any(is_missing)) {
                *extent = ReadExtent::Whole;
                widened.push(*user);
            }
        }
        widened
    }

    /// The rows that were found of each user, with the extent that was read. `found` may lack users without rows.
    pub(super) fn loaded(&self, mut found: HashMap<UserId, UserGoals>) -> HashMap<UserId, LoadedGoals> {
        let of = |(user, extent): (&&UserId, &ReadExtent)| {
            let rows = found.remove(*user).unwrap_or_default();
            let loaded = match extent {
                ReadExtent::Whole => LoadedGoals::Whole(rows, DefaultGoals::Unknown),
                ReadExtent::Part(_) => LoadedGoals::Part(rows),
            };
            ((*user).clone(), loaded)
        };
        self.users.iter().map(of).collect()
    }
}

impl ReadExtent {
    /// Adds the goals that a command reads or changes.
    fn include(&mut self, command: &Command, catalog: &Catalog, complete: &CompleteUsers) {
        match command {
            // Which goals are locked, and which are active, shows only in all rows.
            Command::Initialize(..) | Command::Select { .. } => *self = Self::Whole,
            Command::Event(event, _) if complete.contains(&event.user) => {
                self.add(catalog.triggered(event.event.trigger), catalog);
            }
            Command::SetActive { user, goal, .. } if complete.contains(user) => self.add(&[*goal], catalog),
            Command::Event(..) | Command::SetActive { .. } => *self = Self::Whole,
            // Claims assign no default goals, so they do not depend on which are missing.
            Command::BeginClaim { goal, .. } => {
                self.add(&[*goal], catalog);
                self.add(&catalog.goal(*goal).prerequisites, catalog);
            }
            Command::EndClaim(intent, _) => self.add(catalog.find(&intent.goal_id).as_slice(), catalog),
            Command::LeaveClaim(..) | Command::EnterGrant(..) => {}
        }
    }

    /// A row found by its own key costs more than one read along with its neighbours, so a part is only worth it while
    /// it is at most half of the default goals, which nearly every user has.
    fn add(&mut self, goals: &[GoalIndex], catalog: &Catalog) {
        let most = catalog.defaults().len() / 2;
        if let Self::Part(part) = self {
            if goals.len() <= most {
                part.extend(goals);
            }
            if goals.len() > most || part.len() > most {
                *self = Self::Whole;
            }
        }
    }
}

/// Users known to have all default goals. The users remembered first are forgotten first; a forgotten user costs one
/// read of all rows. Each user is stored as 64 bits of a keyed hash, so that no caller can choose an id that collides
/// with another user's.
pub(super) struct CompleteUsers {
    hasher: RandomState,
    recent: HashSet<u64>,
    earlier: HashSet<u64>,
    /// Size at which `recent` becomes `earlier`.
    capacity: usize,
}

impl Default for CompleteUsers {
    fn default() -> Self {
        Self::with_capacity(REMEMBERED_USERS)
    }
}

impl CompleteUsers {
    fn with_capacity(capacity: usize) -> Self {
        let (recent, earlier) = Default::default();
        Self { hasher: RandomState::new(), recent, earlier, capacity }
    }

    fn contains(&self, user: &UserId) -> bool {
        let user = self.hasher.hash_one(user);
        self.recent.contains(&user) || self.earlier.contains(&user)
    }

    /// Remembers users after the transaction that found or made them complete was committed.
    pub(super) fn remember(&mut self, users: &[UserId]) {
        for user in users {
            if self.recent.len() >= self.capacity {
                self.earlier = std::mem::take(&mut self.recent);
            }
            self.recent.insert(self.hasher.hash_one(user));
        }
    }
}

#[cfg(test)]
mod tests;
