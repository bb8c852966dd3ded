//! Overload control: how long a runnable task waits for a thread, and how many connections and requests follow from it.
//!
//! Under more load than a process can handle, requests queue where no counter sees them: in sockets, and among the
//! runnable tasks. Then every response comes too late to be of use. A connection (of HTTP/1.1) has one request in
//! progress, so the number of connections bounds how long a request waits. A task measures every few milliseconds how
//! late it is woken; while that exceeds its target, connections are closed with a refusal, and no new one is accepted,
//! until their number fits the process. All others wait in the kernel, which costs nearly nothing: refusing a request
//! takes about half of the time of serving it, so it is done once for a connection, not for each request.
//!
//! A connection of HTTP/2 has many requests in progress, and its client queues what it cannot send: were it not read, all
//! its requests would come too late. So it is read, and the same number bounds the requests in progress of all of them;
//! the others are refused at once, before anything is done for them.

mod checks;
mod control;
mod turns;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use checks::Checks;
use control::{CHECK_INTERVAL, Control, Window, allowed};
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::Notify;

use crate::metrics::Metrics;
use turns::Turns;
pub(crate) use turns::{Read, TurnState};

/// As many connections may always be open: fewer could leave the process without work while clients read their responses.
const MIN_OPEN: usize = 64;
/// As many requests of HTTP/2 may always be in progress. Their connections have the next ones at hand; a process with a
/// fifth of a processor needs 50 ms for a hundred.
const MIN_REQUESTS: usize = 16;

/// Connections that are accepted between two checks: more would be here before the first delay is seen.
const MAX_FRESH: usize = 64;

/// While the last checks were late, and before that is known to be an overload, there may be twice as many requests in
/// progress as usual, and at least this many: the others would make all of them late.
const MIN_BURST: usize = 128;

/// A process's backlog. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Backlog {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// None without a target.
    checks: Option<Checks>,
    /// Whether connections and requests are limited now.
    is_behind: AtomicBool,
    /// Connections that are open, each with one request at a time.
    connections: Bounded,
    /// Requests in progress on connections that have many.
    requests: Bounded,
    /// Which connections that have many are read at once.
    turns: Arc<Turns>,
    times: Times,
    /// Connections that were accepted since the last check. They cost most, and their requests have not come yet.
    fresh: AtomicUsize,
    /// Connections that are to be closed.
    surplus: AtomicUsize,
    /// Whether a port waited for the limit, or a request was refused, since the last window.
    has_waited: AtomicBool,
    /// The limit, or the number of connections, has changed.
    changed: Notify,
    /// Metric: 1 while connections and requests are limited.
    overloaded: Gauge,
}

/// What is limited while the process is behind.
#[derive(Debug, Default)]
struct Bounded {
    open: AtomicUsize,
    /// The most that were open since the last window.
    peak: AtomicUsize,
    /// The most that may be open while they are limited.
    allowed: AtomicUsize,
    /// The most that were open in the last window without delay.
    usual: AtomicUsize,
}

impl Bounded {
    fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    fn enter(&self) {
        let open = self.open.fetch_add(1, Ordering::Relaxed) + 1;
        self.peak.fetch_max(open, Ordering::Relaxed);
    }

    fn leave(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    fn space(&self) -> usize {
        self.allowed.load(Ordering::Relaxed).saturating_sub(self.open())
    }

    /// Begins a window in which their number is not limited. The last one was late where an overload begins: how many were
    /// open in it is not usual.
    fn release(&self, was_late: bool) {
        let peak = self.peak.swap(self.open(), Ordering::Relaxed);
        if !was_late {
            let most = burst(self.usual.load(Ordering::Relaxed));
            self.usual.store(peak.min(most), Ordering::Relaxed);
        }
    }

    /// Sets what follows from a window; at least `min` may be open.
    fn limit(&self, factor: f64, min: usize) {
        let peak = self.peak.swap(self.open(), Ordering::Relaxed);
        self.allowed.store(allowed(peak, factor, min), Ordering::Relaxed);
    }
}

/// How many may be open where that many are usual.
fn burst(usual: usize) -> usize {
    usual.saturating_mul(2).max(MIN_BURST)
}

/// An open connection, which counts until it is dropped.
#[derive(Debug)]
pub(crate) struct OpenConnection(Arc<Shared>);

/// A request in progress, which counts until it is dropped.
#[derive(Debug)]
pub(crate) struct OpenRequest {
    shared: Arc<Shared>,
    begun: Instant,
    /// Whether its number is limited; otherwise that of its connection is.
    is_limited: bool,
}

/// How long requests were in progress that have ended since the last window.
#[derive(Debug, Default)]
struct Times {
    count: AtomicU64,
    nanos: AtomicU64,
}

impl Times {
    fn add(&self, time: Duration) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.nanos.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Their mean; zero if there were none.
    fn take_mean(&self) -> Duration {
        let [count, nanos] = [&self.count, &self.nanos].map(|total| total.swap(0, Ordering::Relaxed));
        Duration::from_nanos(nanos.checked_div(count).unwrap_or(0))
    }
}

impl Backlog {
    /// Watches the runtime that it is called on, for as long as any clone exists. `target` is how long a runnable task
    /// may wait before connections and requests are limited; zero limits none whatever the delay.
    #[must_use]
    pub fn watch(target: Duration, metrics: &Metrics) -> Self {
        if target.is_zero() {
            return Self::default();
        }
        let shared = Shared { checks: Some(Checks::begin(target)), ..Shared::default() };
        let backlog = Self { shared: Arc::new(shared) };
        let overloaded = backlog.shared.overloaded.clone();
        metrics.register(|registry| {
            registry.register("overloaded", "1 while connections and requests are limited", overloaded);
        });
        let watched = Arc::downgrade(&backlog.shared);
        tokio::spawn(async move {
            let mut control = Control::new(target);
            loop {
                tokio::time::sleep(CHECK_INTERVAL).await;
                let Some(shared) = watched.upgrade() else { return };
                let Some(took) = shared.checks.as_ref().map(Checks::end) else { return };
                shared.fresh.store(0, Ordering::Relaxed);
                match control.record(took) {
                    Some(delay) => shared.limit(&mut control, delay),
                    None => shared.changed.notify_waiters(),
                }
            }
        });
        backlog
    }

    /// Whether connections and requests are limited now.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.shared.is_behind.load(Ordering::Relaxed)
    }

    /// Returns when another connection may be accepted: above [`MIN_OPEN`] never while tasks are late, and while
    /// connections are limited when there is space.
    pub(crate) async fn connection(&self) -> OpenConnection {
        let shared = &self.shared;
        loop {
            let changed = shared.changed.notified();
            if shared.has_space() {
                shared.connections.enter();
                shared.fresh.fetch_add(1, Ordering::Relaxed);
                return OpenConnection(Arc::clone(shared));
            }
            shared.has_waited.store(true, Ordering::Relaxed);
            changed.await;
        }
    }

    /// How many more requests may be in progress; `None` while they are not limited.
    pub(crate) fn space(&self) -> Option<usize> {
        self.shared.space()
    }

    /// A request was refused because there was no space.
    pub(crate) fn note_refused(&self) {
        self.shared.has_waited.store(true, Ordering::Relaxed);
    }

    /// After a read of a connection that has many requests: how long it is not read.
    pub(crate) fn after_read(&self, state: &mut TurnState, read: Read) -> Option<Duration> {
        if self.is_behind() {
            return self.shared.turns.after_read(state, read);
        }
        *state = TurnState::Free;
        turns::pause_without_turns(read)
    }

    /// Counts a request of a connection that has many; `None` if it is to be refused.
    pub(crate) fn request(&self) -> Option<OpenRequest> {
        let shared = &self.shared;
        if shared.space() == Some(0) {
            self.note_refused();
            return None;
        }
        shared.requests.enter();
        Some(self.begin(true))
    }

    /// A request of a connection that has one at a time.
    pub(crate) fn request_of_limited_connection(&self) -> OpenRequest {
        self.begin(false)
    }

    fn begin(&self, is_limited: bool) -> OpenRequest {
        OpenRequest { shared: Arc::clone(&self.shared), begun: Instant::now(), is_limited }
    }

    /// Limits connections and requests as an overload does.
    #[cfg(test)]
    pub(crate) fn limit_to(&self, allowed: usize, surplus: usize) {
        for bounded in [&self.shared.connections, &self.shared.requests] {
            bounded.allowed.store(allowed, Ordering::Relaxed);
        }
        self.shared.begin(surplus);
    }

    #[cfg(test)]
    pub(crate) fn limit_turns_to(&self, allowed: usize) {
        self.shared.turns.limit_to(allowed);
    }

    /// Ends that.
    #[cfg(test)]
    pub(crate) fn release(&self) {
        self.shared.end(false);
    }

    /// Whether the connection that asks is to be closed: true for as many as are above the limit.
    pub(crate) fn must_close(&self) -> bool {
        let shared = &self.shared;
        self.is_behind()
            && shared
                .surplus
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |surplus| surplus.checked_sub(1))
                .is_ok()
    }
}

impl Shared {
    /// How many more requests may be in progress; `None` for any number.
    fn space(&self) -> Option<usize> {
        if self.is_behind.load(Ordering::Relaxed) {
            return Some(self.requests.space());
        }
        self.checks.as_ref().filter(|checks| checks.are_late())?;
        let most = burst(self.requests.usual.load(Ordering::Relaxed));
        Some(most.saturating_sub(self.requests.open()))
    }

    fn has_space(&self) -> bool {
        let is_within = !self.is_behind.load(Ordering::Relaxed) || self.connections.space() > 0;
        let is_burst = self.checks.is_some() && self.fresh.load(Ordering::Relaxed) >= MAX_FRESH;
        let is_few = self.connections.open() < MIN_OPEN;
        is_within && !is_burst && (is_few || !self.checks.as_ref().is_some_and(Checks::is_last_late))
    }

    /// Sets the limits that follow from a window.
    fn limit(&self, control: &mut Control, delay: Duration) {
        let has_waited = self.has_waited.swap(false, Ordering::Relaxed);
        let window = Window { delay, time: self.times.take_mean(), has_waited };
        let Some(factor) = control.factor(window) else { return self.end(control.is_late(delay)) };
        self.connections.limit(factor, MIN_OPEN);
        self.requests.limit(factor, MIN_REQUESTS);
        self.turns.limit();
        let allowed = self.connections.allowed.load(Ordering::Relaxed);
        self.begin(self.connections.open().saturating_sub(allowed));
    }

    fn begin(&self, surplus: usize) {
        self.is_behind.store(true, Ordering::Relaxed);
        self.overloaded.set(1);
        self.surplus.store(surplus, Ordering::Relaxed);
        self.changed.notify_waiters();
    }

    fn end(&self, was_late: bool) {
        self.is_behind.store(false, Ordering::Relaxed);
        self.overloaded.set(0);
        self.connections.release(was_late);
        self.requests.release(was_late);
        self.turns.release();
        self.surplus.store(0, Ordering::Relaxed);
        self.changed.notify_waiters();
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.shared.times.add(self.begun.elapsed());
        if self.is_limited {
            self.shared.requests.leave();
        }
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.connections.leave();
        if self.0.is_behind.load(Ordering::Relaxed) {
            self.0.changed.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    fn accept(backlog: &Backlog) -> Option<OpenConnection> {
        match pin!(backlog.connection()).poll(&mut Context::from_waker(Waker::noop())) {
            std::task::Poll::Ready(connection) => Some(connection),
            std::task::Poll::Pending => None,
        }
    }

    #[tokio::test]
    async fn the_requests_of_an_overload_that_begins_are_not_taken_for_usual() {
        let target = Duration::from_millis(10);
        let shared = Shared { checks: Some(Checks::begin(target)), ..Shared::default() };
        let (backlog, mut control) = (Backlog { shared: Arc::new(shared) }, Control::new(target));
        let mut open: Vec<_> = (0..30).map(|_| backlog.request().unwrap()).collect();
        backlog.shared.limit(&mut control, Duration::ZERO);
        open.extend((0..MIN_BURST).map(|_| backlog.request().unwrap()));
        backlog.shared.checks.as_ref().unwrap().assume(target * 2);
        assert!(backlog.request().is_none(), "they are more than twice as many as usual");
        backlog.shared.limit(&mut control, Duration::from_millis(15));
        assert!(!backlog.is_behind() && backlog.request().is_none());
    }

    #[tokio::test]
    async fn while_it_is_behind_few_connections_with_refused_requests_are_read_at_once_and_then_all() {
        let (backlog, mut control) = (Backlog::default(), Control::new(Duration::from_millis(10)));
        while !backlog.is_behind() {
            backlog.shared.limit(&mut control, Duration::from_millis(15));
        }
        let mut states: Vec<_> = (0..40).map(|_| TurnState::default()).collect();
        let read = |states: &mut [TurnState]| {
            for state in &mut *states {
                backlog.after_read(state, Read { passed: 1, refused: 9, is_all: true });
            }
            states.iter().filter(|state| state.is_waiting()).count()
        };
        assert_eq!(read(&mut states), 0);
        backlog.shared.limit(&mut control, Duration::from_millis(15));
        assert_eq!(read(&mut states), 35);
        while backlog.is_behind() {
            backlog.shared.limit(&mut control, Duration::ZERO);
        }
        assert_eq!(read(&mut states), 0);
    }

    #[tokio::test]
    async fn while_it_is_behind_the_surplus_is_closed_and_no_connection_is_accepted_above_the_limit() {
        let backlog = Backlog::default();
        let mut open: Vec<_> = (0..100).map(|_| accept(&backlog).unwrap()).collect();
        assert!(!backlog.is_behind() && !backlog.must_close());
        let mut control = Control::new(Duration::from_millis(10));
        while !backlog.is_behind() {
            backlog.shared.limit(&mut control, Duration::from_millis(15));
        }
        assert!(accept(&backlog).is_none());
        assert_eq!(backlog.shared.overloaded.get(), 1);
        let surplus = (0..100).filter(|_| backlog.must_close()).count();
        open.truncate(100 - surplus);
        assert!((1..100).contains(&surplus) && accept(&backlog).is_none(), "{surplus}");
        let waiting = backlog.clone();
        let accepted = tokio::spawn(async move { waiting.connection().await });
        tokio::task::yield_now().await;
        open.pop();
        let _connection = accepted.await.unwrap();
        while backlog.is_behind() {
            backlog.shared.limit(&mut control, Duration::ZERO);
        }
        assert!(accept(&backlog).is_some() && !backlog.must_close());
        assert_eq!(backlog.shared.overloaded.get(), 0);
    }
}
