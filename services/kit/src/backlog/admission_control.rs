//! What to do with the admission queue after each measured delay and each step; without a clock, so that it can be
//! tested.

use std::time::Duration;

use super::wait_queue::WaitTimes;

/// Between two measurements of the delay.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_millis(5);
/// How long the delay must exceed its target before the queue opens: a machine that was busy with something else for a
/// moment is no overload.
const OPEN_AFTER: Duration = Duration::from_millis(250);
/// How long the queue must have become empty again and again, with no connection kept waiting, before it closes. A
/// client whose connection attempt was dropped tries again after a second.
const CLOSE_AFTER: Duration = Duration::from_millis(1_200);
/// How long the queue must have been non-empty before requests are refused: what is worked off sooner was a burst.
const OVERLOAD_AFTER: Duration = Duration::from_secs(1);
/// A request that has waited for less is not refused. During an overload, one that has waited for longer is not
/// admitted, or all the time would go into responses that come too late.
const MAX_USEFUL_WAIT: Duration = Duration::from_millis(50);
/// The share of the time that may be spent on refusing while there are requests that can be answered in time. More
/// would leave too little time for work where a refusal costs nearly as much as a response; less would leave too many
/// clients without any response where a refusal costs little.
const REFUSAL_SHARE: f64 = 0.25;
/// Unused time for refusing is kept up to this amount.
const MAX_CREDIT_S: f64 = 0.01;
/// Requests handled in one step. Small, so that a request that arrives meanwhile is seen soon; large beside the cost of
/// a step.
const STEP_SIZE: usize = 16;

/// What is done with the queue next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueueStep {
    /// The queue is empty: nothing.
    Idle,
    /// Up to this many of the newest waiters are admitted.
    AdmitNewest(usize),
    /// Up to `count` of the oldest waiters that have waited for longer than `waited` are refused.
    RefuseOldest { count: usize, waited: Duration },
}

/// The queue as seen between two steps.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct QueueSnapshot {
    /// `None` when the queue is empty.
    pub(super) waits: Option<WaitTimes>,
    /// As many connections were accepted as may be; more may be waiting in the kernel.
    pub(super) is_accept_limited: bool,
}

#[derive(Debug)]
pub(super) struct AdmissionControl {
    target: Duration,
    /// For how long the delay has exceeded its target.
    delayed_for: Duration,
    /// For how long the queue has been non-empty.
    queued_for: Duration,
    /// For how long the queue has not been non-empty for longer than the target, with no connection kept waiting.
    recovered_for: Duration,
    /// Time that may be spent on refusing.
    refusal_credit_s: f64,
    /// Whether a request is queued that can be answered in time.
    has_timely_request: bool,
}

impl AdmissionControl {
    /// `target` is how long a runnable task may wait.
    pub(super) fn new(target: Duration) -> Self {
        let zero = Duration::ZERO;
        Self {
            target,
            delayed_for: zero,
            queued_for: zero,
            recovered_for: zero,
            refusal_credit_s: 0.0,
            has_timely_request: true,
        }
    }

    /// Records a measured delay; returns whether the queue must open.
    pub(super) fn record_delay(&mut self, delay: Duration) -> bool {
        let is_late = delay > self.target;
        self.delayed_for = if is_late { self.delayed_for + delay + CHECK_INTERVAL } else { Duration::ZERO };
        let must_open = self.delayed_for >= OPEN_AFTER;
        if must_open {
            *self = Self::new(self.target);
        }
        must_open
    }

    /// Whether the queue has been non-empty for longer than a burst.
    pub(super) fn is_overload(&self) -> bool {
        self.queued_for >= OVERLOAD_AFTER
    }

    /// The next step, after the step `done` that took `took` and left the queue as in `snapshot`; `None` when the queue
    /// is not needed any more.
    pub(super) fn next_step(
        &mut self,
        done: QueueStep,
        took: Duration,
        snapshot: QueueSnapshot,
    ) -> Option<QueueStep> {
        self.queued_for = if snapshot.waits.is_some() { self.queued_for + took } else { Duration::ZERO };
        let is_late = self.queued_for > self.target || snapshot.is_accept_limited;
        self.recovered_for = if is_late { Duration::ZERO } else { self.recovered_for + took };
        if self.recovered_for >= CLOSE_AFTER {
            return None;
        }
        self.refusal_credit_s += match done {
            QueueStep::RefuseOldest { .. } if self.has_timely_request => -took.as_secs_f64(),
            QueueStep::RefuseOldest { .. } => 0.0,
            QueueStep::AdmitNewest(_) | QueueStep::Idle => {
                took.as_secs_f64() * REFUSAL_SHARE / (1.0 - REFUSAL_SHARE)
            }
        };
        self.refusal_credit_s = self.refusal_credit_s.min(MAX_CREDIT_S);
        self.has_timely_request = snapshot.waits.is_some_and(|waits| waits.newest <= MAX_USEFUL_WAIT);
        let may_refuse = self.refusal_credit_s > 0.0 || !self.has_timely_request;
        Some(match snapshot.waits {
            None => QueueStep::Idle,
            Some(waits) if self.is_overload() && waits.oldest > MAX_USEFUL_WAIT && may_refuse => {
                QueueStep::RefuseOldest { count: STEP_SIZE, waited: MAX_USEFUL_WAIT }
            }
            Some(_) => QueueStep::AdmitNewest(STEP_SIZE),
        })
    }
}

#[cfg(test)]
mod tests;
