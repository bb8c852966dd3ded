//! Which connections of HTTP/2 are read at once while requests are limited, and which only now and then.
//!
//! To read a connection costs as much as to refuse dozens of requests. So, of the connections with requests that were
//! refused, only as many have a turn as send a few more requests than can be served. The others are read after a pause,
//! and all that has come by then is refused in one go: it may be too old to be of use. Turns are short, and a connection
//! without one gets the next that is free.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// The connections with a turn should send this many times the requests that can be served.
const SPARE: f64 = 1.2;
/// If this part of them is served, there are too few.
const NEARLY_ALL: f64 = 0.95;
/// As many connections may always have a turn: between two reads of one, there is work of another.
const MIN_TURNS: usize = 2;
/// In one window their number falls by no more than to this part.
const MAX_DECREASE: f64 = 0.125;
/// How long a connection may have its turn while others wait for one.
const TURN: Duration = Duration::from_millis(250);
/// A connection with a turn is read again after this time for each connection that has one: all of them together are read
/// 200 times a second. Those without a turn likewise.
const PAUSE_FOR_EACH: Duration = Duration::from_millis(5);
/// What comes in the longest of those pauses is still of use.
const MAX_PAUSE: Duration = Duration::from_millis(25);
const MIN_LONG_PAUSE: Duration = Duration::from_millis(100);
const MAX_LONG_PAUSE: Duration = Duration::from_secs(2);

/// The turns of a process's connections.
#[derive(Debug)]
pub(super) struct Turns {
    /// Connections that have a turn, and the most that had one since the last window.
    taken: AtomicUsize,
    peak: AtomicUsize,
    allowed: AtomicUsize,
    /// Connections without one some of whose requests were refused.
    waiting: AtomicUsize,
    /// Requests of connections with a turn since the last window.
    passed: AtomicU64,
    refused: AtomicU64,
}

/// What a connection may do.
#[derive(Debug, Default)]
pub(crate) enum TurnState {
    /// None of its requests were refused.
    #[default]
    Free,
    Turn(Turn),
    Waiting(Waiting),
}

/// A turn, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    turns: Arc<Turns>,
    begun: Instant,
}

/// A connection that waits for a turn, until it is dropped.
#[derive(Debug)]
pub(crate) struct Waiting {
    turns: Arc<Turns>,
    /// How often it has found no turn free.
    attempts: u32,
}

/// What one read of a connection had.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Read {
    pub(crate) passed: u64,
    pub(crate) refused: u64,
    /// Whether nothing more was there to be read.
    pub(crate) is_all: bool,
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            taken: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            allowed: AtomicUsize::new(usize::MAX),
            waiting: AtomicUsize::new(0),
            passed: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }
}

impl Turns {
    /// After a read while requests are limited: changes the connection's state, and returns how long it is not read.
    pub(super) fn after_read(self: &Arc<Self>, state: &mut TurnState, read: Read) -> Option<Duration> {
        let was_waiting = state.is_waiting();
        if was_waiting && !read.is_all {
            return None;
        }
        *state = match std::mem::take(state) {
            TurnState::Free if read.refused == 0 => TurnState::Free,
            TurnState::Turn(turn) if read.refused == 0 || !turn.is_over() => TurnState::Turn(turn),
            TurnState::Turn(_) => TurnState::Waiting(self.wait()),
            TurnState::Free => self.take().map_or_else(|| TurnState::Waiting(self.wait()), TurnState::Turn),
            TurnState::Waiting(waiting) => self.take().map_or(TurnState::Waiting(waiting), TurnState::Turn),
        };
        match state {
            TurnState::Waiting(waiting) => {
                waiting.attempts += 1;
                // One that has waited for long looks more often, so that each gets a turn.
                let pause = pause_for(&self.waiting).min(MAX_LONG_PAUSE) / waiting.attempts;
                return Some(pause.max(MIN_LONG_PAUSE));
            }
            TurnState::Free => return None,
            TurnState::Turn(_) if was_waiting => {}
            TurnState::Turn(_) => {
                self.passed.fetch_add(read.passed, Ordering::Relaxed);
                self.refused.fetch_add(read.refused, Ordering::Relaxed);
            }
        }
        Some(pause_for(&self.taken).min(MAX_PAUSE)).filter(|_| read.is_all)
    }

    fn take(self: &Arc<Self>) -> Option<Turn> {
        let taken = self.taken.fetch_add(1, Ordering::Relaxed) + 1;
        let turn = Turn { turns: Arc::clone(self), begun: Instant::now() };
        let is_free = taken <= self.allowed.load(Ordering::Relaxed);
        if is_free {
            self.peak.fetch_max(taken, Ordering::Relaxed);
        }
        is_free.then_some(turn)
    }

    fn wait(self: &Arc<Self>) -> Waiting {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Waiting { turns: Arc::clone(self), attempts: 0 }
    }

    /// Sets how many may have a turn, by what was refused of the requests of those that had one in the last window.
    pub(super) fn limit(&self) {
        let taken = self.taken.load(Ordering::Relaxed);
        let peak = self.peak.swap(taken, Ordering::Relaxed);
        let [passed, refused] = [&self.passed, &self.refused].map(|count| count.swap(0, Ordering::Relaxed));
        if peak > 0 {
            let served = if refused == 0 { 1.0 } else { passed as f64 / (passed + refused) as f64 };
            let fitting = peak as f64 * (served * SPARE).max(MAX_DECREASE);
            // Also a few, of whose number a fifth is less than one, become more.
            let fitting = if served > NEARLY_ALL { fitting.ceil() } else { fitting.round() };
            self.allowed.store((fitting as usize).max(MIN_TURNS), Ordering::Relaxed);
        }
    }

    #[cfg(test)]
    pub(super) fn limit_to(&self, allowed: usize) {
        self.allowed.store(allowed, Ordering::Relaxed);
    }

    /// Any number may have a turn.
    pub(super) fn release(&self) {
        self.allowed.store(usize::MAX, Ordering::Relaxed);
    }
}

/// How long a connection is not read while none needs a turn.
pub(super) fn pause_without_turns(read: Read) -> Option<Duration> {
    (read.refused > 0 && read.is_all).then_some(MAX_PAUSE)
}

fn pause_for(connections: &AtomicUsize) -> Duration {
    let count = u32::try_from(connections.load(Ordering::Relaxed)).unwrap_or(u32::MAX);
    PAUSE_FOR_EACH.saturating_mul(count)
}

impl TurnState {
    /// Whether its requests may be too old to be of use.
    pub(crate) fn is_waiting(&self) -> bool {
        matches!(self, Self::Waiting(_))
    }
}

impl Turn {
    fn is_over(&self) -> bool {
        let turns = &self.turns;
        let is_awaited = turns.waiting.load(Ordering::Relaxed) > 0;
        let is_surplus = turns.taken.load(Ordering::Relaxed) > turns.allowed.load(Ordering::Relaxed);
        is_surplus || is_awaited && self.begun.elapsed() > TURN
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.turns.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(1);

    /// A connection with a constant rate of requests, and when it is read next.
    #[derive(Default)]
    struct Connection {
        state: TurnState,
        requests_per_ms: f64,
        unread: f64,
        next_read: Duration,
        passed: u64,
        refused: u64,
        reads: u64,
    }

    /// A service that is limited, and can serve so many requests.
    struct Service {
        turns: Arc<Turns>,
        served_per_ms: f64,
        space: f64,
        time: Duration,
        connections: Vec<Connection>,
    }

    impl Service {
        fn sum(&self, count: impl Fn(&Connection) -> u64) -> u64 {
            self.connections.iter().map(count).sum()
        }

        fn new(served_per_ms: f64, connections: &[f64]) -> Self {
            let count = connections.len() as f64;
            let connections = connections.iter().enumerate();
            Self {
                turns: Arc::default(),
                served_per_ms,
                space: 0.0,
                time: Duration::ZERO,
                connections: connections
                    .map(|(index, rate)| Connection {
                        requests_per_ms: *rate,
                        unread: index as f64 / count,
                        ..Connection::default()
                    })
                    .collect(),
            }
        }

        async fn run(&mut self, seconds: u64) {
            const MAX_SPACE: f64 = 64.0;
            for connection in &mut self.connections {
                (connection.passed, connection.refused, connection.reads) = (0, 0, 0);
            }
            let end = self.time + Duration::from_secs(seconds);
            while self.time < end {
                tokio::time::advance(STEP).await;
                self.time += STEP;
                self.space = (self.space + self.served_per_ms).min(MAX_SPACE);
                for (index, connection) in self.connections.iter_mut().enumerate() {
                    connection.unread += connection.requests_per_ms;
                    if connection.next_read > self.time || connection.unread < 1.0 {
                        continue;
                    }
                    let space = if connection.state.is_waiting() { 0.0 } else { self.space };
                    let came = connection.unread.floor();
                    let passed = came.min(space.floor());
                    let read = Read { passed: passed as u64, refused: (came - passed) as u64, is_all: true };
                    let pause = self.turns.after_read(&mut connection.state, read);
                    // Tasks of a process that is behind are woken late.
                    let late = pause.map(|pause| {
                        pause + STEP * ((index * 13 + connection.reads as usize * 7) % 11) as u32
                    });
                    connection.next_read = self.time + late.unwrap_or_default();
                    connection.unread -= came;
                    connection.passed += read.passed;
                    connection.refused += read.refused;
                    connection.reads += 1;
                    self.space -= passed;
                }
                if self.time.as_millis().is_multiple_of(50) {
                    self.turns.limit();
                }
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn few_of_many_connections_are_read_often_and_each_gets_its_turn() {
        for (count, max_reads_per_s) in [(50, 1_000), (1_000, 4_000)] {
            let mut service = Service::new(1.7, &vec![17.0 / f64::from(count); count as usize]);
            service.run(1).await;
            service.run(20).await;
            let passed = service.sum(|connection| connection.passed);
            let reads = service.sum(|connection| connection.reads) / 20;
            assert!(passed as f64 > 0.9 * 1_700.0 * 20.0, "{count}: {passed}");
            assert!(reads < max_reads_per_s, "{count}: {reads}");
            let without = service.connections.iter().filter(|connection| connection.passed == 0).count();
            assert_eq!(without, 0, "{count}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn when_fewer_requests_come_each_connection_gets_a_turn() {
        let mut service = Service::new(1.7, &[1.0; 17]);
        service.run(2).await;
        assert!(service.connections.iter().filter(|connection| connection.state.is_waiting()).count() > 10);
        for connection in &mut service.connections {
            connection.requests_per_ms = 0.05;
        }
        service.run(3).await;
        service.run(2).await;
        assert_eq!(service.sum(|connection| connection.refused), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_with_all_of_the_requests_keeps_its_turn_beside_idle_ones() {
        let mut service = Service::new(1.7, &[17.0, 0.01, 0.01, 0.0]);
        service.run(10).await;
        assert!(service.connections[0].passed as f64 > 0.95 * 17_000.0, "{}", service.connections[0].passed);
    }

    #[tokio::test(start_paused = true)]
    async fn when_nothing_is_limited_any_more_the_next_connection_gets_a_turn() {
        let turns = Arc::new(Turns::default());
        let read = Read { passed: 1, refused: 9, is_all: true };
        let mut states: Vec<_> = (0..40).map(|_| TurnState::default()).collect();
        for state in &mut states {
            assert!(turns.after_read(state, read).is_some_and(|pause| pause <= MAX_PAUSE));
        }
        turns.limit();
        let pauses = states.iter_mut().filter_map(|state| turns.after_read(state, read));
        assert_eq!(pauses.filter(|pause| *pause > MAX_PAUSE).count(), 35, "an eighth has a turn");
        let waiting = states.iter_mut().find(|state| state.is_waiting()).unwrap();
        assert_eq!(turns.after_read(waiting, Read { is_all: false, ..read }), None);
        assert!(waiting.is_waiting(), "more of what came in its pause is to be read");
        turns.release();
        assert_eq!(turns.after_read(waiting, read), Some(MAX_PAUSE));
        assert!(!waiting.is_waiting());
        drop(states);
        assert_eq!([turns.taken.load(Ordering::Relaxed), turns.waiting.load(Ordering::Relaxed)], [0, 0]);
    }
}
