//! What a group of commands does, without any database: what the rules make of what was loaded for it (`needs` says
//! what that must be), and what must be written. Both stores run through here, so that they cannot come to differ; and each user is loaded and
//! saved once, however many commands concern it. Every answer waits for the commit.

use super::StoreError;
use super::claims::{ClaimEnd, ClaimIntent, ClaimKey, ClaimStart, Recorded};
use super::command::{Command, EventKey, EventOutcome, EventWrite, Initialized, Reply};
use super::needs::{Defaults, Held};
use crate::catalog::{Catalog, GoalIx};
use crate::rewards::Grant;
use crate::rules::{self, Activation, GoalRow, UserGoals};
use crate::user::UserId;
use kit::clock::UtcMs;
use std::collections::{HashMap, HashSet};

/// What a store found.
#[derive(Default)]
pub(super) struct Loaded {
    pub(super) users: HashMap<UserId, Held>,
    /// Those of the asked keys that were applied before.
    pub(super) applied: HashSet<EventKey>,
    pub(super) claims: HashMap<ClaimKey, Recorded>,
}

/// What must become durable before anybody is answered.
#[derive(Default)]
pub(super) struct Changes {
    pub(super) rows: Vec<(UserId, GoalRow)>,
    pub(super) keys: Vec<(UserId, EventKey)>,
    /// Claims to be recorded, each once; those that were granted with the instant.
    pub(super) claims: Vec<(ClaimIntent, Option<UtcMs>)>,
    /// Granted claims whose goal is no longer in the file: their row must be marked by its id.
    pub(super) unlisted: Vec<ClaimIntent>,
    pub(super) grants: Vec<Grant>,
}

/// Tells one caller the outcome, or why there is none; hands back what must be tried again.
pub(super) type Answer = Box<dyn FnOnce(Option<&StoreError>) -> Option<Command> + Send>;

/// What a group leaves behind.
#[derive(Default)]
pub(super) struct Done {
    pub(super) changes: Changes,
    pub(super) answers: Vec<Answer>,
    /// Users who have all default goals, once this is committed.
    pub(super) complete: Vec<UserId>,
    pub(super) events_written: u64,
    pub(super) events_duplicate: u64,
}

/// Tells every caller, and hands back what must be tried again.
pub(super) fn answer(answers: Vec<Answer>, failure: Option<&StoreError>) -> Vec<Command> {
    answers.into_iter().filter_map(|answer| answer(failure)).collect()
}

/// Runs a group on what was loaded for it.
pub(super) fn run(catalog: &Catalog, group: Vec<Command>, loaded: Loaded, now: UtcMs) -> Done {
    let mut batch = Batch { catalog, now, loaded, done: Done::default() };
    for command in group {
        batch.command(command);
    }
    batch.finish()
}

/// Tells every caller of a group that could not even be loaded, and hands back what must be tried again.
pub(super) fn refuse(group: Vec<Command>, error: &StoreError) -> Vec<Command> {
    group.into_iter().filter_map(|command| refuse_one(command, error)).collect()
}

fn refuse_one(command: Command, error: &StoreError) -> Option<Command> {
    match command {
        Command::Event(event, reply) => return settle_event(event, reply, Err(error.clone())),
        Command::Initialize(_, reply) => tell(reply, Err(error.clone())),
        Command::SetActive { reply, .. } => tell(reply, Err(error.clone())),
        Command::BeginClaim { reply, .. } => tell(reply, Err(error.clone())),
        Command::EndClaim(_, reply) => tell(reply, Err(error.clone())),
        Command::EnterGrant(_, reply) => tell(reply, Err(error.clone())),
    }
    None
}

/// A caller that is gone needs no answer; its write stands all the same.
fn tell<T>(reply: Reply<T>, outcome: Result<T, StoreError>) {
    let _caller_gone = reply.send(outcome);
}

/// An event that was acknowledged when it was buffered must be tried again, as nobody else will.
fn settle_event(
    event: EventWrite,
    reply: Option<Reply<EventOutcome>>,
    outcome: Result<EventOutcome, StoreError>,
) -> Option<Command> {
    match (reply, outcome) {
        (None, Err(_)) => Some(Command::Event(event, None)),
        (None, Ok(_)) => None,
        (Some(reply), outcome) => {
            // Its place in the buffer is free before its publisher hears of it.
            drop(event);
            tell(reply, outcome);
            None
        }
    }
}

struct Batch<'a> {
    catalog: &'a Catalog,
    now: UtcMs,
    loaded: Loaded,
    done: Done,
}

impl Batch<'_> {
    fn command(&mut self, command: Command) {
        match command {
            Command::Event(event, reply) => {
                let outcome = self.event(&event);
                self.done.answers.push(Box::new(move |failure| {
                    settle_event(event, reply, failure.map_or(Ok(outcome), |error| Err(error.clone())))
                }));
            }
            Command::Initialize(user, reply) => {
                let outcome = self.initialize(&user);
                self.settle(reply, outcome);
            }
            Command::SetActive { user, goal, activation, reply } => {
                let outcome = self.set_active(&user, goal, activation);
                self.settle(reply, outcome);
            }
            Command::BeginClaim { user, goal, reply } => {
                let outcome = self.begin_claim(&user, goal);
                self.settle(reply, outcome);
            }
            Command::EndClaim(intent, reply) => {
                let outcome = self.end_claim(intent);
                self.settle(reply, outcome);
            }
            Command::EnterGrant(grant, reply) => {
                self.done.changes.grants.push(grant);
                self.settle(reply, ());
            }
        }
    }

    /// Whoever was not asked for has no row that may be touched, and least of all is known as a whole.
    fn held(&mut self, user: &UserId) -> &mut Held {
        self.loaded.users.entry(user.clone()).or_insert_with(|| Held::Part(UserGoals::default()))
    }

    fn user(&mut self, user: &UserId) -> &mut UserGoals {
        match self.held(user) {
            Held::Whole(goals, _) | Held::Part(goals) => goals,
        }
    }

    /// The user's rows with all default goals among them that the group may touch, and how many were given just now.
    fn with_defaults(&mut self, user: &UserId) -> (&mut UserGoals, u32) {
        let (catalog, now) = (self.catalog, self.now);
        match self.held(user) {
            Held::Whole(goals, defaults @ Defaults::Unknown) => {
                *defaults = Defaults::Given;
                let given = rules::assign_defaults(catalog, goals, now);
                (goals, given)
            }
            Held::Whole(goals, Defaults::Given) | Held::Part(goals) => (goals, 0),
        }
    }

    fn event(&mut self, event: &EventWrite) -> EventOutcome {
        if let Some(key) = event.key {
            if !self.loaded.applied.insert(key) {
                self.done.events_duplicate += 1;
                return EventOutcome::Duplicate;
            }
            self.done.changes.keys.push((event.user.clone(), key));
        }
        let (catalog, now) = (self.catalog, self.now);
        let (goals, _) = self.with_defaults(&event.user);
        rules::apply(catalog, goals, (catalog.triggered(event.trigger), event.what), now);
        self.done.events_written += 1;
        EventOutcome::Written
    }

    fn initialize(&mut self, user: &UserId) -> Initialized {
        let (goals, new_assignments) = self.with_defaults(user);
        Initialized { new_assignments, goals: goals.clone() }
    }

    fn set_active(&mut self, user: &UserId, goal: GoalIx, activation: Activation) -> GoalRow {
        let now = self.now;
        let (goals, _) = self.with_defaults(user);
        rules::set_active(goals, goal, activation, now).clone()
    }

    fn begin_claim(&mut self, user: &UserId, goal: GoalIx) -> ClaimStart {
        let catalog = self.catalog;
        let period = match rules::claimable(catalog, self.user(user), goal) {
            Ok(row) => row.period,
            Err(refusal) => return ClaimStart::Refused(refusal),
        };
        let key = (user.clone(), catalog.goal(goal).id.clone(), period);
        if let Some(recorded) = self.loaded.claims.get(&key) {
            return ClaimStart::Begun(recorded.intent.clone());
        }
        let intent = ClaimIntent::new(catalog, user, (goal, period));
        self.done.changes.claims.push((intent.clone(), None));
        self.loaded.claims.insert(key, Recorded { intent: intent.clone(), is_granted: false });
        ClaimStart::Begun(intent)
    }

    fn end_claim(&mut self, intent: ClaimIntent) -> ClaimEnd {
        match self.loaded.claims.get_mut(&intent.key()) {
            Some(recorded) if !recorded.is_granted => recorded.is_granted = true,
            _ => return ClaimEnd::Already,
        }
        let (catalog, now) = (self.catalog, self.now);
        match catalog.find(&intent.goal_id) {
            Some(goal) => rules::mark_claimed(self.user(&intent.user), goal, now),
            None => self.done.changes.unlisted.push(intent.clone()),
        }
        let claims = &mut self.done.changes.claims;
        claims.retain(|(begun, _)| begun.key() != intent.key());
        claims.push((intent, Some(now)));
        ClaimEnd::Claimed(now)
    }

    fn settle<T: Send + 'static>(&mut self, reply: Reply<T>, outcome: T) {
        self.done.answers.push(Box::new(move |failure| {
            tell(reply, failure.map_or(Ok(outcome), |error| Err(error.clone())));
            None
        }));
    }

    fn finish(mut self) -> Done {
        for (user, held) in self.loaded.users {
            let goals = match held {
                Held::Whole(goals, defaults) => {
                    if defaults == Defaults::Given {
                        self.done.complete.push(user.clone());
                    }
                    goals
                }
                Held::Part(goals) => goals,
            };
            let changed = goals.into_rows().into_iter().filter(|row| row.is_changed);
            self.done.changes.rows.extend(changed.map(|row| (user.clone(), row)));
        }
        self.done
    }
}
