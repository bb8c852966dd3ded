//! The one intake of events, whatever brings them: checks, recognises, bounds, and hands them to the store.
//!
//! Nothing here knows gRPC; `grpc` below only translates.

pub mod grpc;

use crate::catalog::Catalog;
use crate::rules::{EventOrder, Happening};
use crate::store::{EventKey, EventOutcome, EventWrite, Store, StoreError};
use crate::user::UserId;
use kit::clock::UtcMs;
use kit::limit::Limit;
use std::sync::Arc;

/// When an event is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acknowledge {
    /// Once its effect is durable.
    Durable,
    /// Once it has a place in the buffer: a crash may lose what was not written yet.
    Buffered,
}

/// An event as its publisher tells it.
#[derive(Debug, Clone, Copy)]
pub struct Told<'a> {
    /// The publisher's namespace; empty means that of this deployment.
    pub namespace: &'a str,
    /// Recognises the event when it is delivered again; empty means that it cannot be recognised.
    pub id: &'a str,
    /// Whom it is about.
    pub user: &'a str,
    /// Numbers the events of one publisher; 0 tells nothing.
    pub version: i64,
    /// When it happened, in RFC 3339; any other text tells nothing.
    pub timestamp: &'a str,
    /// What happened.
    pub what: What<'a>,
}

/// What happened.
#[derive(Debug, Clone, Copy)]
pub enum What<'a> {
    /// A login.
    Login,
    /// A statistic changed.
    Statistic {
        /// Which.
        stat_code: &'a str,
        /// Its value afterwards.
        latest: f64,
        /// What was added.
        added: f64,
    },
}

/// What became of an event that was not refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// There was nothing to do: another namespace, no goal that it moves, or a negative value.
    Nothing,
    /// Its effect is durable.
    Written,
    /// It was delivered before, and its effect is durable.
    Duplicate,
    /// It has a place in the buffer.
    Buffered,
}

/// Why an event was refused.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Refused {
    /// It can never be taken.
    #[error("{0}")]
    Invalid(&'static str),
    /// The buffer is full; it should be delivered again later.
    #[error("the event buffer is full")]
    Full,
    /// The store did not take it; it should be delivered again.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Takes events in.
pub struct Intake {
    /// The challenges that events move.
    pub catalog: Arc<Catalog>,
    /// Where their effect goes.
    pub store: Arc<Store>,
    /// Events of other namespaces are none of ours.
    pub namespace: String,
    /// When to acknowledge.
    pub acknowledge: Acknowledge,
    /// Places for events that are not written yet.
    pub buffer: Limit,
}

impl Intake {
    /// Takes an event in; returns when it may be acknowledged.
    ///
    /// # Errors
    /// When it is malformed, the buffer is full, or the store fails. It must then not be acknowledged.
    pub async fn take(&self, told: Told<'_>) -> Result<Taken, Refused> {
        if !told.namespace.is_empty() && told.namespace != self.namespace {
            return Ok(Taken::Nothing);
        }
        let user = UserId::new(told.user).ok_or(Refused::Invalid(USER_ID))?;
        let (kind, trigger, what) = match told.what {
            What::Login => ("login", self.catalog.login_trigger(), Some(Happening::Login)),
            What::Statistic { stat_code, latest, added } => {
                let happening = statistic((stat_code, latest, added), order(&told))?;
                ("statistic", self.catalog.statistic_trigger(stat_code), happening)
            }
        };
        let (Some(trigger), Some(what)) = (trigger, what) else { return Ok(Taken::Nothing) };
        let place = self.buffer.enter().ok_or(Refused::Full)?;
        #[cfg(feature = "faults")]
        let _held = kit::faults::inject().await;
        let key = (!told.id.is_empty()).then(|| EventKey::new(kind, &user, told.id));
        let write = EventWrite { user, key, trigger, what, place };
        match self.acknowledge {
            Acknowledge::Durable => Ok(match self.store.event(write).await? {
                EventOutcome::Written => Taken::Written,
                EventOutcome::Duplicate => Taken::Duplicate,
            }),
            Acknowledge::Buffered => Ok(self.store.buffer_event(write).map(|()| Taken::Buffered)?),
        }
    }
}

const USER_ID: &str = "userId must be 1 to 100 characters without control characters";

fn order(told: &Told<'_>) -> EventOrder {
    let version = (told.version != 0).then_some(told.version);
    EventOrder { version, told_at: UtcMs::parse(told.timestamp) }
}

/// Values are cut to whole numbers and to what progress can hold; negative ones say nothing about progress.
fn statistic(
    (stat_code, latest, added): (&str, f64, f64),
    order: EventOrder,
) -> Result<Option<Happening>, Refused> {
    if stat_code.is_empty() {
        return Err(Refused::Invalid("statCode must not be empty"));
    }
    if !latest.is_finite() || !added.is_finite() {
        return Err(Refused::Invalid("latestValue and inc must be finite numbers"));
    }
    // `as` cuts towards zero and stays within the range of the type.
    let happening = Happening::Statistic { latest: latest as i32, added: added as i32, order };
    Ok((latest >= 0.0).then_some(happening))
}
