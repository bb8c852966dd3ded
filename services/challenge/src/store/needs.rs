//! What must be read before a group of commands can run: of each user only the goals that the group may touch, where
//! that is known to be enough.
//!
//! It is not enough for who may still lack default goals: they are given with the first write, and which are missing
//! can only be seen in all rows. Who has them all keeps them all: the catalogue stays as it is while a process runs,
//! rules make rows and never take one away, and no store deletes any. So writers remember such users ([`Complete`]).
//! Should somebody else delete rows in the database, that shows in a part that lacks a default goal ([`Needs::widen`]).

use super::command::{Command, EventKey};
use crate::catalog::{Catalog, GoalIx};
use crate::rules::UserGoals;
use crate::user::UserId;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

/// Users that a writer remembers at least; it remembers at most twice as many, in about a megabyte a half.
const REMEMBERED: usize = 50_000;

/// What a group needs to know before it can run.
pub(super) struct Needs<'a> {
    /// Whose rows and which of them, in the order of users: stores lock them in this order.
    pub(super) users: BTreeMap<&'a UserId, Extent>,
    /// Events that may have been applied before, each once.
    pub(super) keys: Vec<(&'a UserId, EventKey)>,
    /// Goals whose claims are begun or ended.
    pub(super) claims: Vec<(&'a UserId, &'a str)>,
}

/// How much of a user is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Extent {
    /// Every row.
    Whole,
    /// The rows of these goals.
    Part(BTreeSet<GoalIx>),
}

/// The rows of a user that were read. Only of a whole user can be told which goals are missing.
#[derive(Debug, Clone)]
pub(super) enum Held {
    /// Every row; and whether the default goals are known to be among them.
    Whole(UserGoals, Defaults),
    /// The rows of the goals that the group may touch, of a user who lacks no default goal or is to be given none.
    Part(UserGoals),
}

/// Whether a user has all default goals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Defaults {
    /// Not looked yet.
    Unknown,
    /// All of them.
    Given,
}

impl<'a> Needs<'a> {
    pub(super) fn of(group: &'a [Command], catalog: &'a Catalog, complete: &Complete) -> Self {
        let mut users: BTreeMap<&UserId, Extent> = BTreeMap::new();
        for command in group {
            let extent = users.entry(command.user()).or_insert_with(|| Extent::Part(BTreeSet::new()));
            extent.touch(command, catalog, complete);
        }
        let mut distinct = HashSet::new();
        let keys = group.iter().filter_map(|command| match command {
            Command::Event(event, _) => event.key.map(|key| (&event.user, key)),
            _ => None,
        });
        let claims = group.iter().filter_map(|command| match command {
            Command::BeginClaim { user, goal, .. } => Some((user, catalog.goal(*goal).id.as_str())),
            Command::EndClaim(intent, _) => Some((&intent.user, intent.goal_id.as_str())),
            _ => None,
        });
        Self {
            users,
            keys: keys.filter(|(_, key)| distinct.insert(*key)).collect(),
            claims: claims.collect(),
        }
    }

    /// Users of whom every row is to be read.
    pub(super) fn whole(&self) -> impl Iterator<Item = &'a UserId> {
        self.users.iter().filter(|(_, extent)| **extent == Extent::Whole).map(|(user, _)| *user)
    }

    /// Users and the goals of theirs that are to be read.
    pub(super) fn parts(&self) -> impl Iterator<Item = (&'a UserId, &BTreeSet<GoalIx>)> {
        self.users.iter().filter_map(|(user, extent)| match extent {
            Extent::Part(goals) => Some((*user, goals)),
            Extent::Whole => None,
        })
    }

    /// Makes those whole in whose part a default goal is missing, and returns them: they are to be read again.
    pub(super) fn widen(&mut self, found: &HashMap<UserId, UserGoals>, catalog: &Catalog) -> Vec<&'a UserId> {
        let nothing = UserGoals::default();
        let mut widened = Vec::new();
        for (user, extent) in &mut self.users {
            let rows = found.get(*user).unwrap_or(&nothing);
            let is_missing = |goal: &GoalIx| catalog.goal(*goal).is_default && rows.row(*goal).is_none();
            if matches!(extent, Extent::Part(goals) if goals.iter().any(is_missing)) {
                *extent = Extent::Whole;
                widened.push(*user);
            }
        }
        widened
    }

    /// What was found of each user, with the extent in which it was read. Users without rows may be left out.
    pub(super) fn held(&self, mut found: HashMap<UserId, UserGoals>) -> HashMap<UserId, Held> {
        let of = |(user, extent): (&&UserId, &Extent)| {
            let rows = found.remove(*user).unwrap_or_default();
            let held = match extent {
                Extent::Whole => Held::Whole(rows, Defaults::Unknown),
                Extent::Part(_) => Held::Part(rows),
            };
            ((*user).clone(), held)
        };
        self.users.iter().map(of).collect()
    }
}

impl Extent {
    /// Takes in the goals that a command reads or changes.
    fn touch(&mut self, command: &Command, catalog: &Catalog, complete: &Complete) {
        match command {
            Command::Initialize(..) => *self = Self::Whole,
            Command::Event(event, _) if complete.contains(&event.user) => {
                self.add(catalog.triggered(event.trigger), catalog);
            }
            Command::SetActive { user, goal, .. } if complete.contains(user) => self.add(&[*goal], catalog),
            Command::Event(..) | Command::SetActive { .. } => *self = Self::Whole,
            // Claims give no default goals, so they need to know of none.
            Command::BeginClaim { goal, .. } => {
                self.add(&[*goal], catalog);
                self.add(&catalog.goal(*goal).prerequisites, catalog);
            }
            Command::EndClaim(intent, _) => self.add(catalog.find(&intent.goal_id).as_slice(), catalog),
            Command::EnterGrant(..) => {}
        }
    }

    /// A row found by its own key costs more than one read along with its neighbours, so a part that is not much less
    /// than the default goals, which nearly every user has, is not worth asking for.
    fn add(&mut self, goals: &[GoalIx], catalog: &Catalog) {
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

/// Users who are known to have all default goals. It forgets the ones it heard of first; who is forgotten costs one
/// reading of all rows. 64 bits of a keyed hash stand for a user: nobody can choose an id that is taken for another's.
pub(super) struct Complete {
    hasher: RandomState,
    recent: HashSet<u64>,
    earlier: HashSet<u64>,
    remembered: usize,
}

impl Default for Complete {
    fn default() -> Self {
        Self::remembering(REMEMBERED)
    }
}

impl Complete {
    fn remembering(users: usize) -> Self {
        let (recent, earlier) = Default::default();
        Self { hasher: RandomState::new(), recent, earlier, remembered: users }
    }

    fn contains(&self, user: &UserId) -> bool {
        let user = self.hasher.hash_one(user);
        self.recent.contains(&user) || self.earlier.contains(&user)
    }

    /// Remembers users after the transaction that found or made them complete was committed.
    pub(super) fn remember(&mut self, users: &[UserId]) {
        for user in users {
            if self.recent.len() >= self.remembered {
                self.earlier = std::mem::take(&mut self.recent);
            }
            self.recent.insert(self.hasher.hash_one(user));
        }
    }
}

#[cfg(test)]
mod tests;
