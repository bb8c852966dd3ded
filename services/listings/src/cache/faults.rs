//! Fault injection: periodically discards every cached answer. The answers stay in the cache and stay correct; they are
//! not used until the store was queried once more.

use std::collections::HashSet;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use kit::faults::amount;

use super::{CachedValue, FillToken};
use crate::faults::STAMPEDE;
use crate::scope::CacheScope;

/// The answers that the store was queried for in the current period.
struct PeriodAnswers {
    began: Instant,
    period: u128,
    answers: HashSet<(CacheScope, String)>,
}

static CURRENT: LazyLock<Mutex<PeriodAnswers>> =
    LazyLock::new(|| Mutex::new(PeriodAnswers { began: Instant::now(), period: 0, answers: HashSet::new() }));

/// Whether concurrent reads each query the store.
pub(super) fn is_on() -> bool {
    amount(STAMPEDE).is_some()
}

/// Keeps of the answers found those that were queried in the current period.
pub(super) fn discard(
    found: Vec<Result<CachedValue, FillToken>>,
    scopes: &[CacheScope],
    key: &str,
) -> Vec<Result<CachedValue, FillToken>> {
    let Some(current) = current_period() else { return found };
    let keep = |(scope, found): (&CacheScope, Result<CachedValue, FillToken>)| {
        let is_current = current.answers.contains(&(scope.clone(), key.to_owned()));
        found.and_then(|value| if is_current { Ok(value) } else { Err(FillToken::None) })
    };
    scopes.iter().zip(found).map(keep).collect()
}

/// Records that the store was queried for this answer.
pub(super) fn record_query(scope: &CacheScope, key: &str) {
    if let Some(mut current) = current_period() {
        current.answers.insert((scope.clone(), key.to_owned()));
    }
}

/// The current period; `None` without the fault.
fn current_period() -> Option<MutexGuard<'static, PeriodAnswers>> {
    let every_ms = u128::from(amount(STAMPEDE)?);
    let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
    let period = current.began.elapsed().as_millis() / every_ms;
    if period != current.period {
        current.period = period;
        current.answers.clear();
    }
    Some(current)
}
