//! What happens inside one transaction: each command changes its user's goals by the rules, each user is loaded and
//! saved once however many commands concern it, and every answer waits for the commit.

use super::StoreError;
use super::claims::{self, ClaimEnd, ClaimIntent, ClaimStart};
use super::command::{Command, EventKey, EventOutcome, EventWrite, Initialized, Reply};
use super::rows;
use super::seen::Seen;
use crate::catalog::{Catalog, GoalIx};
use crate::rules::{self, UserGoals};
use crate::user::UserId;
use kit::clock::UtcMs;
use rusqlite::Connection;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

/// Tells one caller the outcome, or why there is none.
pub(super) type Answer = Box<dyn FnOnce(Option<&StoreError>) + Send>;

pub(super) struct Batch<'a> {
    connection: &'a Connection,
    catalog: &'a Catalog,
    seen: &'a Seen,
    now: UtcMs,
    users: HashMap<UserId, UserGoals>,
    fresh: HashSet<EventKey>,
    fresh_in_order: Vec<EventKey>,
    answers: Vec<Answer>,
    duplicates: u64,
}

/// What a batch leaves behind once its rows are written.
pub(super) struct Written {
    pub(super) keys: Vec<EventKey>,
    pub(super) answers: Vec<Answer>,
    pub(super) duplicates: u64,
}

impl<'a> Batch<'a> {
    pub(super) fn new(connection: &'a Connection, catalog: &'a Catalog, seen: &'a Seen, now: UtcMs) -> Self {
        Self {
            connection,
            catalog,
            seen,
            now,
            users: HashMap::new(),
            fresh: HashSet::new(),
            fresh_in_order: Vec::new(),
            answers: Vec::new(),
            duplicates: 0,
        }
    }

    /// Runs one command. After an error the whole batch must be rolled back and its callers told by
    /// [`Self::into_answers`].
    pub(super) fn run(&mut self, command: Command) -> rusqlite::Result<()> {
        match command {
            Command::Event(event, reply) => {
                let outcome = self.event(&event);
                self.settle_event(event, reply, outcome)
            }
            Command::Initialize(user, reply) => {
                let outcome = self.initialize(&user);
                self.settle(reply, outcome)
            }
            Command::SetActive { user, goal, activation, reply } => {
                let (catalog, now) = (self.catalog, self.now);
                let outcome = self.user(&user).map(|goals| {
                    rules::assign_defaults(catalog, goals, now);
                    rules::set_active(goals, goal, activation, now).clone()
                });
                self.settle(reply, outcome)
            }
            Command::BeginClaim { user, goal, reply } => {
                let outcome = self.begin_claim(&user, goal);
                self.settle(reply, outcome)
            }
            Command::EndClaim(intent, reply) => {
                let outcome = self.end_claim(&intent);
                self.settle(reply, outcome)
            }
            Command::EnterGrant(grant, reply) => {
                let outcome = claims::enter(self.connection, &grant, self.now);
                self.settle(reply, outcome)
            }
            Command::Close => Ok(()),
        }
    }

    /// Writes every changed row and the ids of the events.
    pub(super) fn write(self) -> Result<Written, (rusqlite::Error, Vec<Answer>)> {
        let saved = self.users.iter().try_for_each(|user| rows::save(self.connection, self.catalog, user));
        let stored = saved.and_then(|()| self.seen.store(self.connection, &self.fresh_in_order, self.now));
        match stored {
            Ok(()) => {
                Ok(Written { keys: self.fresh_in_order, answers: self.answers, duplicates: self.duplicates })
            }
            Err(error) => Err((error, self.answers)),
        }
    }

    pub(super) fn into_answers(self) -> Vec<Answer> {
        self.answers
    }

    fn user(&mut self, user: &UserId) -> rusqlite::Result<&mut UserGoals> {
        match self.users.entry(user.clone()) {
            Entry::Occupied(loaded) => Ok(loaded.into_mut()),
            Entry::Vacant(gap) => Ok(gap.insert(rows::load(self.connection, self.catalog, user)?)),
        }
    }

    fn event(&mut self, event: &EventWrite) -> rusqlite::Result<EventOutcome> {
        if let Some(key) = event.key {
            if self.seen.contains(key) || !self.fresh.insert(key) {
                self.duplicates += 1;
                return Ok(EventOutcome::Duplicate);
            }
            self.fresh_in_order.push(key);
        }
        let (catalog, now) = (self.catalog, self.now);
        let goals = self.user(&event.user)?;
        rules::assign_defaults(catalog, goals, now);
        rules::apply(catalog, goals, (catalog.triggered(event.trigger), event.what), now);
        Ok(EventOutcome::Written)
    }

    fn initialize(&mut self, user: &UserId) -> rusqlite::Result<Initialized> {
        let (catalog, now) = (self.catalog, self.now);
        let goals = self.user(user)?;
        let new_assignments = rules::assign_defaults(catalog, goals, now);
        Ok(Initialized { new_assignments, goals: goals.clone() })
    }

    fn begin_claim(&mut self, user: &UserId, goal: GoalIx) -> rusqlite::Result<ClaimStart> {
        let (connection, catalog, now) = (self.connection, self.catalog, self.now);
        let goals = self.user(user)?;
        match rules::claimable(catalog, goals, goal) {
            Ok(row) => claims::begin(connection, (catalog, user), row, now).map(ClaimStart::Begun),
            Err(refusal) => Ok(ClaimStart::Refused(refusal)),
        }
    }

    fn end_claim(&mut self, intent: &ClaimIntent) -> rusqlite::Result<ClaimEnd> {
        let (connection, now) = (self.connection, self.now);
        if !claims::end(connection, intent, now)? {
            return Ok(ClaimEnd::Already);
        }
        match self.catalog.find(&intent.goal_id) {
            Some(goal) => rules::mark_claimed(self.user(&intent.user)?, goal, now),
            None => claims::mark_unlisted(connection, intent, now)?,
        }
        Ok(ClaimEnd::Claimed(now))
    }

    fn settle<T: Send + 'static>(
        &mut self,
        reply: Reply<T>,
        outcome: rusqlite::Result<T>,
    ) -> rusqlite::Result<()> {
        let (outcome, error) = split(outcome);
        // A caller that is gone needs no answer; its write stands all the same.
        self.answers.push(Box::new(move |failure| {
            let answer = failure.map_or_else(|| outcome.ok_or(StoreError::Closed), |e| Err(e.clone()));
            let _caller_gone = reply.send(answer);
        }));
        error
    }

    fn settle_event(
        &mut self,
        event: EventWrite,
        reply: Option<Reply<EventOutcome>>,
        outcome: rusqlite::Result<EventOutcome>,
    ) -> rusqlite::Result<()> {
        let (outcome, error) = split(outcome);
        self.answers.push(Box::new(move |failure| {
            drop(event);
            if let Some(reply) = reply {
                let answer = failure.map_or_else(|| outcome.ok_or(StoreError::Closed), |e| Err(e.clone()));
                let _caller_gone = reply.send(answer);
            } else if let Some(error) = failure {
                tracing::error!(%error, "a buffered event was lost");
            }
        }));
        error
    }
}

fn split<T>(outcome: rusqlite::Result<T>) -> (Option<T>, rusqlite::Result<()>) {
    match outcome {
        Ok(outcome) => (Some(outcome), Ok(())),
        Err(error) => (None, Err(error)),
    }
}
