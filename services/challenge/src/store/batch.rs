//! What a group of commands does, without any database: what the rules make of the rows that were loaded for it
//! (`read_set` defines which), and what must be written. Both stores call this, so that they cannot behave differently.
//! Each user is loaded and saved once, however many commands concern that user. Every reply waits for the commit.

use std::collections::{HashMap, HashSet};

use kit::clock::UtcMs;

use super::StoreError;
use super::claims::{ClaimChange, ClaimEnd, ClaimIntent, ClaimKey, ClaimStart, StoredClaim};
use super::command::{Command, EventOutcome, EventWrite, Initialized, ReplySender};
use super::event_key::EventKey;
use super::read_set::{DefaultGoals, LoadedGoals};
use crate::catalog::{Catalog, GoalIndex};
use crate::grant::Grant;
use crate::rules::{self, Activation, GoalRow, UserGoals};
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
    pub(super) claims: Vec<ClaimChange>,
    /// Granted claims whose goal is no longer in the file: their row must be marked by its id.
    pub(super) unlisted: Vec<ClaimIntent>,
    pub(super) grants: Vec<Grant>,
}

/// Sends one caller the result, or the error; returns the command if it must be retried.
pub(super) type PendingReply = Box<dyn FnOnce(Option<&StoreError>) -> Option<Command> + Send>;

/// The result of a group.
#[derive(Default)]
pub(super) struct GroupOutcome {
    pub(super) changes: GroupChanges,
    pub(super) replies: Vec<PendingReply>,
    /// Users who have all default goals, once this is committed.
    pub(super) complete: Vec<UserId>,
    pub(super) events_written: u64,
    pub(super) events_duplicate: u64,
}

/// Replies to every caller, and returns the commands that must be retried.
pub(super) fn send_replies(replies: Vec<PendingReply>, failure: Option<&StoreError>) -> Vec<Command> {
    replies.into_iter().filter_map(|reply| reply(failure)).collect()
}

/// Runs a group on what was loaded for it.
pub(super) fn run(catalog: &Catalog, group: Vec<Command>, loaded: LoadedGroup, now: UtcMs) -> GroupOutcome {
    let mut batch = Batch { catalog, now, loaded, outcome: GroupOutcome::default() };
    for command in group {
        batch.command(command);
    }
    batch.finish()
}

/// Replies to every caller of a group that could not be loaded, and returns the commands that must be retried.
pub(super) fn reject(group: Vec<Command>, error: &StoreError) -> Vec<Command> {
    group.into_iter().filter_map(|command| reject_one(command, error)).collect()
}

fn reject_one(command: Command, error: &StoreError) -> Option<Command> {
    match command {
        Command::Event(event, reply) => return reply_to_event(event, reply, Err(error.clone())),
        Command::Initialize(_, reply) => send(reply, Err(error.clone())),
        Command::SetActive { reply, .. } => send(reply, Err(error.clone())),
        Command::BeginClaim { reply, .. } => send(reply, Err(error.clone())),
        Command::EndClaim(_, reply) => send(reply, Err(error.clone())),
        Command::EnterGrant(_, reply) => send(reply, Err(error.clone())),
    }
    None
}

/// The write is durable whether or not the caller still waits for the reply.
fn send<T>(reply: ReplySender<T>, outcome: Result<T, StoreError>) {
    let _caller_gone = reply.send(outcome);
}

/// An event that was acknowledged when it was buffered must be retried here: its publisher will not send it again.
fn reply_to_event(
    event: EventWrite,
    reply: Option<ReplySender<EventOutcome>>,
    outcome: Result<EventOutcome, StoreError>,
) -> Option<Command> {
    match (reply, outcome) {
        (None, Err(_)) => Some(Command::Event(event, None)),
        (None, Ok(_)) => None,
        (Some(reply), outcome) => {
            // Its slot in the buffer is released before its publisher receives the reply.
            drop(event);
            send(reply, outcome);
            None
        }
    }
}

struct Batch<'a> {
    catalog: &'a Catalog,
    now: UtcMs,
    loaded: LoadedGroup,
    outcome: GroupOutcome,
}

impl Batch<'_> {
    fn command(&mut self, command: Command) {
        match command {
            Command::Event(event, reply) => {
                let outcome = self.event(&event);
                self.outcome.replies.push(Box::new(move |failure| {
                    reply_to_event(event, reply, failure.map_or(Ok(outcome), |error| Err(error.clone())))
                }));
            }
            Command::Initialize(user, reply) => {
                let outcome = self.initialize(&user);
                self.reply_after_commit(reply, outcome);
            }
            Command::SetActive { user, goal, activation, reply } => {
                let outcome = self.set_active(&user, goal, activation);
                self.reply_after_commit(reply, outcome);
            }
            Command::BeginClaim { user, goal, reply } => {
                let outcome = self.begin_claim(&user, goal);
                self.reply_after_commit(reply, outcome);
            }
            Command::EndClaim(intent, reply) => {
                let outcome = self.end_claim(intent);
                self.reply_after_commit(reply, outcome);
            }
            Command::EnterGrant(grant, reply) => {
                self.outcome.changes.grants.push(grant);
                self.reply_after_commit(reply, ());
            }
        }
    }

    /// For a user who was not loaded no row may be written, and the rows are never taken as complete.
    fn loaded(&mut self, user: &UserId) -> &mut LoadedGoals {
        self.loaded.users.entry(user.clone()).or_insert_with(|| LoadedGoals::Part(UserGoals::default()))
    }

    fn user(&mut self, user: &UserId) -> &mut UserGoals {
        match self.loaded(user) {
            LoadedGoals::Whole(goals, _) | LoadedGoals::Part(goals) => goals,
        }
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
        let (goals, new_assignments) = self.with_defaults(user);
        Initialized { new_assignments, goals: goals.clone() }
    }

    fn set_active(&mut self, user: &UserId, goal: GoalIndex, activation: Activation) -> GoalRow {
        let now = self.now;
        let (goals, _) = self.with_defaults(user);
        rules::set_active(goals, goal, activation, now).clone()
    }

    fn begin_claim(&mut self, user: &UserId, goal: GoalIndex) -> ClaimStart {
        let catalog = self.catalog;
        let period = match rules::claimable(catalog, self.user(user), goal) {
            Ok(row) => row.period,
            Err(refusal) => return ClaimStart::Refused(refusal),
        };
        let key = ClaimKey { user: user.clone(), goal_id: catalog.goal(goal).id.clone(), period };
        if let Some(stored) = self.loaded.claims.get(&key) {
            return ClaimStart::Begun(stored.intent.clone());
        }
        let intent = ClaimIntent::new(catalog, user, goal, period);
        self.outcome.changes.claims.push(ClaimChange { intent: intent.clone(), granted_at: None });
        self.loaded.claims.insert(key, StoredClaim { intent: intent.clone(), is_granted: false });
        ClaimStart::Begun(intent)
    }

    fn end_claim(&mut self, intent: ClaimIntent) -> ClaimEnd {
        match self.loaded.claims.get_mut(&intent.key()) {
            Some(stored) if !stored.is_granted => stored.is_granted = true,
            _ => return ClaimEnd::AlreadyClaimed,
        }
        let (catalog, now) = (self.catalog, self.now);
        match catalog.find(&intent.goal_id) {
            Some(goal) => rules::mark_claimed(self.user(&intent.user), goal, now),
            None => self.outcome.changes.unlisted.push(intent.clone()),
        }
        let claims = &mut self.outcome.changes.claims;
        claims.retain(|begun| begun.intent.key() != intent.key());
        claims.push(ClaimChange { intent, granted_at: Some(now) });
        ClaimEnd::Claimed(now)
    }

    fn reply_after_commit<T: Send + 'static>(&mut self, reply: ReplySender<T>, outcome: T) {
        self.outcome.replies.push(Box::new(move |failure| {
            send(reply, failure.map_or(Ok(outcome), |error| Err(error.clone())));
            None
        }));
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
        self.outcome
    }
}
