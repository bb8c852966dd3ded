//! What a group of commands does, without any database: what the rules make of the rows that were loaded for it
//! (`read_set` defines which), and what must be written. Both stores call this, so that they cannot behave differently.
//! Each user is loaded and saved once, however many commands concern that user.

use std::collections::{HashMap, HashSet};

use kit::clock::UtcMs;

use super::claims::{ClaimEnd, ClaimFailure, ClaimIntent, ClaimKey, ClaimStart, ClaimTerms, StoredClaim};
use super::command::{Command, EventOutcome, EventReply, EventWrite, Initialized};
use super::event_key::EventKey;
use super::read_set::{DefaultGoals, LoadedGoals};
use crate::catalog::{Catalog, Goal, GoalIndex};
use crate::grant::Grant;
use crate::rules::{self, ActivityChange, GoalRow, SelectRefusal, Selected, Selection, UserGoals};
use crate::user::UserId;

/// What a store loaded for a group.
#[derive(Default)]
pub(super) struct LoadedGroup {
    pub(super) users: HashMap<UserId, LoadedGoals>,
    /// Those of the group's event keys that were applied before.
    pub(super) applied: HashSet<EventKey>,
    pub(super) claims: HashMap<ClaimKey, StoredClaim>,
}

/// A row that differs from the stored one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChangedRow {
    pub(super) user: UserId,
    pub(super) row: GoalRow,
}

/// What must become durable before any reply is sent.
#[derive(Default)]
pub(super) struct GroupChanges {
    pub(super) rows: Vec<ChangedRow>,
    /// Keys of the events that the group applies.
    pub(super) keys: Vec<EventKey>,
    /// Claims to be recorded, each once.
    pub(super) claims: Vec<StoredClaim>,
    /// Granted claims whose goal is no longer in the file: their row must be marked by its id.
    pub(super) unlisted: Vec<ClaimIntent>,
    pub(super) grants: Vec<Grant>,
}

/// The result of a group.
#[derive(Default)]
pub(super) struct GroupOutcome {
    pub(super) changes: GroupChanges,
    /// Users who have all default goals, once this is committed.
    pub(super) complete: Vec<UserId>,
    pub(super) events_written: u64,
    pub(super) events_duplicate: u64,
}

/// Runs a group on what was loaded for it, and leaves each outcome in its command's reply.
pub(super) fn run(catalog: &Catalog, group: &mut [Command], loaded: LoadedGroup, now: UtcMs) -> GroupOutcome {
    let mut batch = Batch { catalog, now, loaded, outcome: GroupOutcome::default() };
    for loaded in batch.loaded.users.values_mut() {
        rules::rotate(catalog, loaded.goals_mut(), now);
    }
    for command in group {
        batch.command(command);
    }
    batch.finish()
}

struct Batch<'a> {
    catalog: &'a Catalog,
    now: UtcMs,
    loaded: LoadedGroup,
    outcome: GroupOutcome,
}

impl Batch<'_> {
    fn command(&mut self, command: &mut Command) {
        match command {
            Command::Event(event, reply) => {
                let outcome = self.event(event);
                if let EventReply::WhenDurable(reply) = reply {
                    reply.set(outcome);
                }
            }
            Command::Initialize(user, reply) => reply.set(self.initialize(user)),
            Command::SetActive { user, goal, activation, reply } => {
                reply.set(self.set_active(user, ActivityChange { goal: *goal, activation: *activation }));
            }
            Command::Select { user, selection, reply } => reply.set(self.select(user, selection)),
            Command::BeginClaim { user, goal, terms, reply } => {
                reply.set(self.begin_claim(user, *goal, terms));
            }
            Command::EndClaim(intent, reply) => reply.set(self.end_claim(intent)),
            Command::LeaveClaim(intent, failure, reply) => {
                self.leave_claim(intent, *failure);
                reply.set(());
            }
            Command::EnterGrant(grant, reply) => {
                self.outcome.changes.grants.push(grant.clone());
                reply.set(());
            }
        }
    }

    /// For a user who was not loaded no row may be written, and the rows are never taken as complete.
    fn loaded(&mut self, user: &UserId) -> &mut LoadedGoals {
        self.loaded.users.entry(user.clone()).or_insert_with(|| LoadedGoals::Part(UserGoals::default()))
    }

    fn user(&mut self, user: &UserId) -> &mut UserGoals {
        self.loaded(user).goals_mut()
    }

    /// The user's rows, including every default goal that the group may change, and how many goals were assigned now.
    fn with_defaults(&mut self, user: &UserId) -> (&mut UserGoals, u32) {
        let (catalog, now) = (self.catalog, self.now);
        match self.loaded(user) {
            LoadedGoals::Whole(goals, defaults @ DefaultGoals::Unknown) => {
                *defaults = DefaultGoals::Assigned;
                let assigned = rules::assign_defaults(catalog, goals, now);
                (goals, assigned)
            }
            LoadedGoals::Whole(goals, DefaultGoals::Assigned) | LoadedGoals::Part(goals) => (goals, 0),
        }
    }

    fn event(&mut self, event: &EventWrite) -> EventOutcome {
        if let Some(key) = event.key {
            if !self.loaded.applied.insert(key) {
                self.outcome.events_duplicate += 1;
                return EventOutcome::Duplicate;
            }
            self.outcome.changes.keys.push(key);
        }
        let (catalog, now) = (self.catalog, self.now);
        let (goals, _) = self.with_defaults(&event.user);
        rules::apply(catalog, goals, event.event, now);
        self.outcome.events_written += 1;
        EventOutcome::Written
    }

    fn initialize(&mut self, user: &UserId) -> Initialized {
        let at = self.now;
        let (goals, new_assignments) = self.with_defaults(user);
        Initialized { new_assignments, goals: goals.clone(), at }
    }

    fn set_active(&mut self, user: &UserId, change: ActivityChange) -> GoalRow {
        let (catalog, now) = (self.catalog, self.now);
        let (goals, _) = self.with_defaults(user);
        rules::set_active(catalog, goals, change, now).clone()
    }

    fn select(&mut self, user: &UserId, selection: &Selection) -> Result<Selected, SelectRefusal> {
        let (catalog, now) = (self.catalog, self.now);
        let (goals, _) = self.with_defaults(user);
        rules::select(catalog, goals, selection, now)
    }

    fn begin_claim(&mut self, user: &UserId, goal: GoalIndex, terms: &ClaimTerms) -> ClaimStart {
        let (catalog, now) = (self.catalog, self.now);
        let period = match rules::claimable(catalog, self.user(user), goal) {
            Ok(row) => row.period,
            Err(refusal) => return ClaimStart::Refused(refusal),
        };
        let goal = catalog.goal(goal);
        let key = ClaimKey { user: user.clone(), goal_id: goal.id.clone(), period };
        if let Some(earlier) = self.ungranted_once_only(goal, &key) {
            earlier.reopen(terms, now);
            return ClaimStart::Begun(earlier.intent.clone());
        }
        let begun = || StoredClaim::begun(&key, goal, terms, now);
        let stored = self.loaded.claims.entry(key.clone()).or_insert_with(begun);
        // A grant and its row are committed together, so another program has removed the row since.
        if stored.granted_at.is_some() {
            *stored = stored.again(goal, terms, now);
        }
        stored.reopen(terms, now);
        ClaimStart::Begun(stored.intent.clone())
    }

    /// The claim of an earlier period that was not granted, for a goal whose reward is granted once: that claim is carried
    /// to its end.
    fn ungranted_once_only(&mut self, goal: &Goal, key: &ClaimKey) -> Option<&mut StoredClaim> {
        if goal.rotation.is_none() || rules::is_repeatable(goal) {
            return None;
        }
        let is_earlier = |stored: &&mut StoredClaim| {
            let intent = &stored.intent;
            stored.granted_at.is_none()
                && (&intent.user, &intent.goal_id) == (&key.user, &key.goal_id)
                && intent.period < key.period
        };
        let earlier = self.loaded.claims.values_mut().filter(is_earlier);
        earlier.min_by_key(|stored| stored.intent.period)
    }

    fn end_claim(&mut self, intent: &ClaimIntent) -> ClaimEnd {
        let (catalog, now) = (self.catalog, self.now);
        match self.loaded.claims.get_mut(&intent.key()) {
            Some(stored) if stored.is_open(intent) => stored.grant(now),
            _ => return ClaimEnd::AlreadyClaimed,
        }
        match catalog.find(&intent.goal_id) {
            // A row that another program has removed since stays removed.
            Some(goal) => {
                if let Some(row) = self.user(&intent.user).row_mut(goal) {
                    rules::end_claim(catalog.goal(goal), row, intent.period, now);
                }
            }
            None => self.outcome.changes.unlisted.push(intent.clone()),
        }
        ClaimEnd::Claimed(now)
    }

    fn leave_claim(&mut self, intent: &ClaimIntent, failure: ClaimFailure) {
        let now = self.now;
        if let Some(stored) = self.loaded.claims.get_mut(&intent.key())
            && stored.is_open(intent)
        {
            stored.leave(failure, now);
        }
    }

    fn finish(mut self) -> GroupOutcome {
        for (user, loaded) in self.loaded.users {
            let goals = match loaded {
                LoadedGoals::Whole(goals, defaults) => {
                    if defaults == DefaultGoals::Assigned {
                        self.outcome.complete.push(user.clone());
                    }
                    goals
                }
                LoadedGoals::Part(goals) => goals,
            };
            let changed = goals.into_rows().into_iter().filter(|row| row.is_changed);
            self.outcome.changes.rows.extend(changed.map(|row| ChangedRow { user: user.clone(), row }));
        }
        let changed = self.loaded.claims.into_values().filter(|claim| claim.is_changed);
        self.outcome.changes.claims.extend(changed);
        self.outcome
    }
}

#[cfg(test)]
mod tests;
