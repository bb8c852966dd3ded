//! The admission queue: requests that wait to be worked on.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, oneshot};

/// The queue's capacity; past it, the oldest waiter is refused when another joins.
const MAX_WAITERS: usize = 16_384;

/// What became of a waiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    /// Its request is to be worked on.
    Admitted,
    /// Its request is to be refused.
    Refused,
}

/// A slot in the queue; completes when its waiter is admitted or refused. Dropping it abandons the slot, which is removed
/// when it reaches an end of the queue.
#[derive(Debug)]
pub(crate) struct QueueSlot(oneshot::Receiver<Admission>);

impl Future for QueueSlot {
    type Output = Admission;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Admission> {
        // When the queue itself is gone, its waiters are admitted.
        Pin::new(&mut self.0).poll(context).map(|admission| admission.unwrap_or(Admission::Admitted))
    }
}

/// The queue, from the oldest waiter to the newest. While it is closed, which it is at first, every request is admitted at
/// once.
#[derive(Debug, Default)]
pub(super) struct WaitQueue {
    state: Mutex<QueueState>,
    first_arrived: Notify,
}

#[derive(Debug, Default)]
struct QueueState {
    is_open: bool,
    waiters: VecDeque<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    since: Instant,
    admission: oneshot::Sender<Admission>,
}

/// How long the oldest and the newest waiter have waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WaitTimes {
    pub(super) oldest: Duration,
    pub(super) newest: Duration,
}

impl WaitQueue {
    pub(super) fn open(&self) {
        self.lock().is_open = true;
    }

    /// Admits every waiter; from now on no request joins.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.is_open = false;
        state.waiters.drain(..).for_each(|waiter| waiter.finish(Admission::Admitted));
    }

    /// A slot at the queue's end; `None` when the queue is closed.
    pub(super) fn join(&self, now: Instant) -> Option<QueueSlot> {
        let (admission, receiver) = oneshot::channel();
        let mut state = self.lock();
        if !state.is_open {
            return None;
        }
        if state.waiters.len() >= MAX_WAITERS
            && let Some(oldest) = state.waiters.pop_front()
        {
            oldest.finish(Admission::Refused);
        }
        state.waiters.push_back(Waiter { since: now, admission });
        if state.waiters.len() == 1 {
            self.first_arrived.notify_one();
        }
        Some(QueueSlot(receiver))
    }

    /// Returns when a request has joined an empty queue.
    pub(super) async fn first_arrived(&self) {
        self.first_arrived.notified().await;
    }

    /// Admits up to `count` of the newest waiters; returns how many.
    pub(super) fn admit_newest(&self, count: usize) -> usize {
        let mut state = self.lock();
        let newest = std::iter::from_fn(|| state.waiters.pop_back());
        finish_up_to(newest, count, Admission::Admitted)
    }

    /// Refuses up to `count` of the oldest waiters that joined before `before`; returns how many.
    pub(super) fn refuse_oldest(&self, count: usize, before: Instant) -> usize {
        let mut state = self.lock();
        let oldest = std::iter::from_fn(|| state.waiters.pop_front_if(|waiter| waiter.since < before));
        finish_up_to(oldest, count, Admission::Refused)
    }

    /// How long the oldest and the newest waiter have waited; `None` when the queue is empty. Waiters at either end
    /// whose client has left are removed.
    pub(super) fn wait_times(&self, now: Instant) -> Option<WaitTimes> {
        let mut state = self.lock();
        while state.waiters.pop_front_if(|waiter| waiter.has_left()).is_some() {}
        while state.waiters.pop_back_if(|waiter| waiter.has_left()).is_some() {}
        let waited = |waiter: &Waiter| now.saturating_duration_since(waiter.since);
        let (oldest, newest) = (state.waiters.front()?, state.waiters.back()?);
        Some(WaitTimes { oldest: waited(oldest), newest: waited(newest) })
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiter {
    fn has_left(&self) -> bool {
        self.admission.is_closed()
    }

    /// A waiter that has left meanwhile receives nothing.
    fn finish(self, admission: Admission) {
        let _left = self.admission.send(admission);
    }
}

/// Finishes the first `count` of the waiters that have not left; returns how many there were.
fn finish_up_to(waiters: impl Iterator<Item = Waiter>, count: usize, admission: Admission) -> usize {
    let present = waiters.filter(|waiter| !waiter.has_left()).take(count);
    present.map(|waiter| waiter.finish(admission)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admission(slot: &mut QueueSlot) -> Option<Admission> {
        slot.0.try_recv().ok()
    }

    #[test]
    fn the_newest_are_admitted_the_oldest_refused_and_a_waiter_that_left_counts_as_neither() {
        let (queue, begun) = (WaitQueue::default(), Instant::now());
        let at = |ms| begun + Duration::from_millis(ms);
        assert!(queue.join(begun).is_none(), "the queue is closed");
        queue.open();
        let mut slots: Vec<_> = (0..6).map(|ms| queue.join(at(ms)).unwrap()).collect();
        drop(slots.remove(4));
        drop(slots.remove(1));
        let handled = (queue.admit_newest(2), queue.refuse_oldest(1, at(2)), queue.refuse_oldest(9, at(2)));
        assert_eq!(handled, (2, 1, 0));
        let admissions: Vec<_> = slots.iter_mut().map(admission).collect();
        let admitted = Some(Admission::Admitted);
        assert_eq!(admissions, [Some(Admission::Refused), None, admitted, admitted]);
        let seven_ms = Duration::from_millis(7);
        assert_eq!(queue.wait_times(at(9)), Some(WaitTimes { oldest: seven_ms, newest: seven_ms }));
        queue.close();
        assert_eq!(admission(&mut slots[1]), admitted);
        assert!(queue.wait_times(at(9)).is_none() && queue.join(at(9)).is_none());
    }

    #[test]
    fn its_length_is_bounded() {
        let (queue, now) = (WaitQueue::default(), Instant::now());
        queue.open();
        let mut first = queue.join(now).unwrap();
        let _others: Vec<_> = (0..MAX_WAITERS).map(|_| queue.join(now).unwrap()).collect();
        assert_eq!(admission(&mut first), Some(Admission::Refused));
    }
}
