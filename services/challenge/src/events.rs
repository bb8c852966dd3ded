//! The one intake of events, for every transport: it validates events, recognises repeated ones, bounds how many are
//! buffered, and passes them to the store.
//!
//! Nothing here depends on gRPC; the module `grpc` only translates messages.

pub mod grpc;
mod guard;

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kit::clock::UtcMs;
use kit::limit::Limit;

use crate::catalog::Catalog;
use crate::rules::{EventOrder, GoalEvent, TriggeredEvent};
use crate::store::{EventKey, EventOutcome, EventWrite, Store, StoreError};
use crate::user::UserId;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acknowledge {
    /// Once its effect is durable.
    Durable,
    /// Once it is buffered: a crash may lose events that are not written yet.
    Buffered,
}

/// An event as its publisher sends it.
#[derive(Debug, Clone, Copy)]
pub struct EventMessage<'a> {
    /// The publisher's namespace; empty means that of this deployment.
    pub namespace: &'a str,
    /// Recognises the event when it is delivered again; empty means that it cannot be recognised.
    pub id: &'a str,
    /// The user that it is about.
    pub user: &'a str,
    /// Numbers the events of one publisher; 0 when absent.
    pub version: i64,
    /// When it happened, in RFC 3339, from 1970 to 2099; any text that is not a time counts as absent.
    pub timestamp: &'a str,
    pub payload: EventPayload<'a>,
}

#[derive(Debug, Clone, Copy)]
pub enum EventPayload<'a> {
    Login,
    Statistic(StatisticChange<'a>),
}

#[derive(Debug, Clone, Copy)]
pub struct StatisticChange<'a> {
    pub stat_code: &'a str,
    /// Its value afterwards.
    pub latest: f64,
    pub added: f64,
}

/// The result of an event that was not refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntakeOutcome {
    /// There was nothing to do: another namespace, no goal that it moves, or a negative value.
    Ignored,
    /// Its effect is durable.
    Written,
    /// It was delivered before, and its effect is durable.
    Duplicate,
    Buffered,
}

/// Why an event was refused.
#[derive(Debug, Clone, thiserror::Error)]
pub enum IntakeError {
    /// It can never be accepted.
    #[error("{0}")]
    Invalid(&'static str),
    /// The buffer is full; it should be delivered again later.
    #[error("the event buffer is full")]
    Full,
    /// The store did not accept it; it should be delivered again.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Takes events in.
pub struct Intake {
    /// The challenges whose goals events move.
    pub catalog: Arc<Catalog>,
    /// Where their effect is written.
    pub store: Arc<Store>,
    /// The namespace of this deployment; events of others are ignored.
    pub namespace: String,
    pub acknowledge: Acknowledge,
    /// Slots for events that are not written yet.
    pub buffer: Limit,
    /// Keys of events without an id.
    pub unnamed: UnnamedKeys,
}

/// Keys that no other event has.
#[derive(Debug, Default)]
pub struct UnnamedKeys {
    /// Its keys are random, those of each process others.
    hasher: RandomState,
    count: AtomicU64,
}

impl UnnamedKeys {
    fn next(&self) -> EventKey {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        EventKey::unnamed([self.hasher.hash_one(number), number])
    }
}

impl Intake {
    /// Takes an event in; returns when it may be acknowledged.
    ///
    /// # Errors
    /// When it is malformed, the buffer is full, or the store fails. It must then not be acknowledged.
    pub async fn take(&self, message: EventMessage<'_>) -> Result<IntakeOutcome, IntakeError> {
        if !message.namespace.is_empty() && message.namespace != self.namespace {
            return Ok(IntakeOutcome::Ignored);
        }
        let user = UserId::new(message.user).ok_or(IntakeError::Invalid(USER_ID))?;
        let order = order(&message)?;
        let (kind, trigger, event) = match message.payload {
            EventPayload::Login => ("login", self.catalog.login_trigger(), Some(GoalEvent::Login { order })),
            EventPayload::Statistic(change) => {
                let event = statistic(change, order)?;
                ("statistic", self.catalog.statistic_trigger(change.stat_code), event)
            }
        };
        let (Some(trigger), Some(event)) = (trigger, event) else { return Ok(IntakeOutcome::Ignored) };
        let slot = self.buffer.enter().ok_or(IntakeError::Full)?;
        #[cfg(feature = "faults")]
        let _held = kit::faults::inject().await;
        let key = match (message.id, self.acknowledge) {
            // The store tries it again after a commit whose outcome is unknown: then it must recognise it.
            ("", Acknowledge::Buffered) => Some(self.unnamed.next()),
            ("", Acknowledge::Durable) => None,
            (id, _) => Some(EventKey::new(kind, &user, id)),
        };
        let write = EventWrite { user, key, event: TriggeredEvent { trigger, event } };
        match self.acknowledge {
            Acknowledge::Durable => Ok(match self.store.event(write, slot).await? {
                EventOutcome::Written => IntakeOutcome::Written,
                EventOutcome::Duplicate => IntakeOutcome::Duplicate,
            }),
            Acknowledge::Buffered => {
                Ok(self.store.buffer_event(write, slot).map(|()| IntakeOutcome::Buffered)?)
            }
        }
    }
}

const USER_ID: &str = "userId must be 1 to 100 characters without control characters";

/// 1970-01-01 and 2100-01-01, in UTC. No event happened outside: such a time comes from a clock that was never set, or
/// is made up. Every store can represent the times between, and no comparison of them overflows.
const TIMES: std::ops::Range<UtcMs> = UtcMs(0)..UtcMs(4_102_444_800_000);
const TIMESTAMP: &str =
    "timestamp must be from 1970-01-01T00:00:00Z to before 2100-01-01T00:00:00Z, or absent";

fn order(message: &EventMessage<'_>) -> Result<EventOrder, IntakeError> {
    let version = (message.version != 0).then_some(message.version);
    let timestamp = Some(message.timestamp).filter(|text| !text.is_empty());
    match timestamp.and_then(UtcMs::parse) {
        Some(time) if !TIMES.contains(&time) => Err(IntakeError::Invalid(TIMESTAMP)),
        occurred_at => Ok(EventOrder { version, occurred_at }),
    }
}

/// Values are truncated to whole numbers and to the range of progress; negative ones are ignored.
fn statistic(change: StatisticChange<'_>, order: EventOrder) -> Result<Option<GoalEvent>, IntakeError> {
    if change.stat_code.is_empty() {
        return Err(IntakeError::Invalid("statCode must not be empty"));
    }
    if !change.latest.is_finite() || !change.added.is_finite() {
        return Err(IntakeError::Invalid("latestValue and inc must be finite numbers"));
    }
    // `as` truncates towards zero and saturates at the range of the type.
    let event = GoalEvent::Statistic { latest: change.latest as i32, added: change.added as i32, order };
    Ok((change.latest >= 0.0).then_some(event))
}
