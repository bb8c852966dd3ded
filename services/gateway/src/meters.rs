//! What the gateway counts of itself, in the two forms in which it is asked for: the JSON of `GET /metrics`, and
//! metrics for Prometheus. Depth and drops are read where they happen, at the moment somebody asks.

pub mod collector;

use crate::entry::Entry;
use crate::quantile::Quantiles;
use crate::queue::Queue;
use crate::sample::Priority;
use prometheus_client::metrics::histogram::Histogram;
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The quantiles that are told.
pub const SHARES: [f64; 3] = [0.5, 0.95, 0.99];

/// Counters of one process.
#[derive(Debug)]
pub struct Meters {
    began: Instant,
    queue: Arc<Queue>,
    workers: usize,
    busy: AtomicUsize,
    handed_on: AtomicU64,
    failures: AtomicU64,
    working_us: AtomicU64,
    accepted: [AtomicU64; 3],
    refused: AtomicU64,
    no_room: AtomicU64,
    answers: Quantiles,
    /// Seconds from acceptance until handed on.
    pub waits: Histogram,
}

/// `GET /metrics`.
#[derive(Debug, Serialize)]
pub struct Told {
    /// Accepted and handed on.
    pub samples_processed: u64,
    /// Accepted and shed for what mattered more, or valid and without room.
    pub samples_dropped: u64,
    /// Accepted and not taken by a worker yet.
    pub queue_depth: usize,
    /// Of accepted requests over the last minute or two, from head to answer; 0 when there were none.
    pub latency_p99_ms: f64,
    /// Since the process began.
    pub uptime_seconds: u64,
    /// The workers.
    pub thread_pool: Pool,
}

/// The workers, in `GET /metrics`.
#[derive(Debug, Serialize)]
pub struct Pool {
    /// Handed on.
    pub jobs_processed: u64,
    /// Waiting for a worker.
    pub jobs_queued: usize,
    /// A worker's time for each that it handed on, in ms.
    pub avg_processing_ms: f64,
    /// How many workers there are.
    pub num_threads: usize,
}

impl Meters {
    /// All at zero.
    #[must_use]
    pub fn new(queue: Arc<Queue>, workers: usize) -> Arc<Self> {
        let now = Instant::now();
        Arc::new(Self {
            began: now,
            queue,
            workers,
            busy: AtomicUsize::new(0),
            handed_on: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            working_us: AtomicU64::new(0),
            accepted: Default::default(),
            refused: AtomicU64::new(0),
            no_room: AtomicU64::new(0),
            answers: Quantiles::new(now),
            waits: kit::metrics::seconds_histogram(),
        })
    }

    /// A worker is at work until the guard is dropped.
    #[must_use]
    pub fn busy(&self) -> Busy<'_> {
        self.busy.fetch_add(1, Ordering::SeqCst);
        Busy { meters: self }
    }

    /// Workers at work now.
    #[must_use]
    pub fn workers_busy(&self) -> usize {
        self.busy.load(Ordering::SeqCst)
    }

    /// A worker handed these on, beginning at `began`.
    pub fn handed_on(&self, entries: &[Entry], began: Instant) {
        let now = Instant::now();
        entries.iter().for_each(|entry| self.waits.observe((now - entry.since).as_secs_f64()));
        self.handed_on.fetch_add(entries.len() as u64, Ordering::Relaxed);
        let spent_us = u64::try_from((now - began).as_micros()).unwrap_or(u64::MAX);
        self.working_us.fetch_add(spent_us, Ordering::Relaxed);
    }

    /// The sink did not take something.
    pub fn failed(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// Samples of a request were accepted.
    pub fn accepted(&self, priorities: impl Iterator<Item = Priority>, answered_in: Duration) {
        priorities.for_each(|priority| {
            self.accepted[priority.level()].fetch_add(1, Ordering::Relaxed);
        });
        self.answers.add(answered_in, Instant::now());
    }

    /// So many samples were invalid.
    pub fn refused(&self, samples: usize) {
        self.refused.fetch_add(samples as u64, Ordering::Relaxed);
    }

    /// So many valid samples found no room.
    pub fn no_room(&self, samples: usize) {
        self.no_room.fetch_add(samples as u64, Ordering::Relaxed);
    }

    /// Accepted of a priority.
    #[must_use]
    pub fn accepted_of(&self, priority: Priority) -> u64 {
        self.accepted[priority.level()].load(Ordering::Relaxed)
    }

    /// Handed on; not handed on, times; invalid; without room.
    #[must_use]
    pub fn totals(&self) -> [u64; 4] {
        [&self.handed_on, &self.failures, &self.refused, &self.no_room]
            .map(|count| count.load(Ordering::Relaxed))
    }

    /// [`SHARES`] of the time to answer accepted requests.
    #[must_use]
    pub fn answer_times(&self) -> Option<[Duration; 3]> {
        self.answers.at(SHARES, Instant::now())
    }

    /// As `GET /metrics` tells it.
    #[must_use]
    pub fn told(&self) -> Told {
        let [handed_on, _, _, no_room] = self.totals();
        let shed: u64 = Priority::ALL.into_iter().map(|priority| self.queue.shed(priority)).sum();
        let queue_depth = self.queue.depth();
        let working_ms = self.working_us.load(Ordering::Relaxed) as f64 / 1e3;
        Told {
            samples_processed: handed_on,
            samples_dropped: shed + no_room,
            queue_depth,
            latency_p99_ms: self.answer_times().map_or(0.0, |[_, _, p99]| p99.as_secs_f64() * 1e3),
            uptime_seconds: self.began.elapsed().as_secs(),
            thread_pool: Pool {
                jobs_processed: handed_on,
                jobs_queued: queue_depth,
                avg_processing_ms: if handed_on == 0 { 0.0 } else { working_ms / handed_on as f64 },
                num_threads: self.workers,
            },
        }
    }
}

/// A worker at work.
#[derive(Debug)]
pub struct Busy<'a> {
    meters: &'a Meters,
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.meters.busy.fetch_sub(1, Ordering::SeqCst);
    }
}
