//! Everything remembered is forgotten at once, again and again, put in on purpose. What a cache holds stays in it and
//! stays right; it is only not used until the store was asked once more.

use super::{Ticket, Value};
use crate::faults::STAMPEDE;
use crate::scope::Scope;
use kit::faults::amount;
use std::collections::HashSet;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// What the store was asked since everything was last forgotten.
struct Known {
    began: Instant,
    moment: u128,
    answers: HashSet<(Scope, String)>,
}

static KNOWN: LazyLock<Mutex<Known>> =
    LazyLock::new(|| Mutex::new(Known { began: Instant::now(), moment: 0, answers: HashSet::new() }));

/// Whether callers ask the store each by themselves.
pub(super) fn is_on() -> bool {
    amount(STAMPEDE).is_some()
}

/// What is still known of the answers that were found.
pub(super) fn forget(
    found: Vec<Result<Value, Ticket>>,
    (scopes, key): (&[Scope], &str),
) -> Vec<Result<Value, Ticket>> {
    let Some(known) = known() else { return found };
    let still = |(scope, found): (&Scope, Result<Value, Ticket>)| {
        let is_known = known.answers.contains(&(scope.clone(), key.to_owned()));
        found.and_then(|value| if is_known { Ok(value) } else { Err(Ticket::None) })
    };
    scopes.iter().zip(found).map(still).collect()
}

/// The store was asked for this answer.
pub(super) fn learn(scope: &Scope, key: &str) {
    if let Some(mut known) = known() {
        known.answers.insert((scope.clone(), key.to_owned()));
    }
}

/// What is known now; `None` without the fault.
fn known() -> Option<MutexGuard<'static, Known>> {
    let every_ms = u128::from(amount(STAMPEDE)?);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let moment = known.began.elapsed().as_millis() / every_ms;
    if moment != known.moment {
        known.moment = moment;
        known.answers.clear();
    }
    Some(known)
}
