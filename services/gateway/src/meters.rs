//! The gateway's counters, in two formats: the JSON of `GET /metrics`, and metrics for Prometheus. Queue depth and shed
//! samples are read from the queue at each request.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use prometheus_client::metrics::histogram::Histogram;
use serde::Serialize;

use crate::entry::QueueEntry;
use crate::quantile::Quantiles;
use crate::queue::Queue;
use crate::sample::Priority;

/// The quantiles that are reported.
pub const QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];

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
    no_space: AtomicU64,
    latencies: Quantiles,
    /// Seconds from acceptance until handed on.
    pub waits: Histogram,
}

/// `GET /metrics`.
#[derive(Debug, Serialize)]
pub struct MetricsReport {
    /// Accepted and handed on.
    pub samples_processed: u64,
    /// Accepted and shed for a higher priority, or valid and refused for lack of space.
    pub samples_dropped: u64,
    /// Accepted and not taken by a worker yet.
    pub queue_depth: usize,
    /// Of accepted requests over the last minute or two, from head to response; 0 when there were none.
    pub latency_p99_ms: f64,
    /// Since the process began.
    pub uptime_seconds: u64,
    pub thread_pool: WorkerReport,
}

/// The workers, in `GET /metrics`.
#[derive(Debug, Serialize)]
pub struct WorkerReport {
    /// Handed on.
    pub jobs_processed: u64,
    /// Tasks waiting for a worker.
    pub jobs_queued: usize,
    /// A worker's mean time per task handed on, in ms.
    pub avg_processing_ms: f64,
    /// The number of workers.
    pub num_threads: usize,
}

/// The counters that have no labels.
#[derive(Debug, Clone, Copy)]
pub struct MeterTotals {
    /// Samples handed on.
    pub handed_on: u64,
    /// Batches that the sink did not take.
    pub sink_failures: u64,
    /// Samples refused as invalid.
    pub invalid: u64,
    /// Valid samples refused for lack of space.
    pub no_space: u64,
}

impl Meters {
    /// All counters are zero.
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
            no_space: AtomicU64::new(0),
            latencies: Quantiles::new(now),
            waits: kit::metrics::seconds_histogram(),
        })
    }

    /// Counts a worker as busy until the returned value is dropped.
    #[must_use]
    pub fn busy(&self) -> BusyWorker<'_> {
        self.busy.fetch_add(1, Ordering::SeqCst);
        BusyWorker { meters: self }
    }

    /// Workers that are busy now.
    #[must_use]
    pub fn workers_busy(&self) -> usize {
        self.busy.load(Ordering::SeqCst)
    }

    /// A worker handed these tasks on, beginning at `began`.
    pub fn handed_on(&self, entries: &[QueueEntry], began: Instant) {
        let now = Instant::now();
        entries.iter().for_each(|entry| self.waits.observe((now - entry.since).as_secs_f64()));
        self.handed_on.fetch_add(entries.len() as u64, Ordering::Relaxed);
        let spent_us = u64::try_from((now - began).as_micros()).unwrap_or(u64::MAX);
        self.working_us.fetch_add(spent_us, Ordering::Relaxed);
    }

    /// The sink did not take a batch.
    pub fn failed(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// Samples of a request were accepted.
    pub fn accepted(&self, priorities: impl Iterator<Item = Priority>, answered_in: Duration) {
        priorities.for_each(|priority| {
            self.accepted[priority.level()].fetch_add(1, Ordering::Relaxed);
        });
        self.latencies.add(answered_in, Instant::now());
    }

    /// This many samples were invalid.
    pub fn refused(&self, samples: usize) {
        self.refused.fetch_add(samples as u64, Ordering::Relaxed);
    }

    /// This many valid samples were refused for lack of space.
    pub fn no_space(&self, samples: usize) {
        self.no_space.fetch_add(samples as u64, Ordering::Relaxed);
    }

    /// Samples accepted of a priority.
    #[must_use]
    pub fn accepted_of(&self, priority: Priority) -> u64 {
        self.accepted[priority.level()].load(Ordering::Relaxed)
    }

    /// The counters that have no labels.
    #[must_use]
    pub fn totals(&self) -> MeterTotals {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        MeterTotals {
            handed_on: read(&self.handed_on),
            sink_failures: read(&self.failures),
            invalid: read(&self.refused),
            no_space: read(&self.no_space),
        }
    }

    /// [`QUANTILES`] of the time to answer accepted requests.
    #[must_use]
    pub fn latency_quantiles(&self) -> Option<[Duration; 3]> {
        self.latencies.at(QUANTILES, Instant::now())
    }

    /// The JSON of `GET /metrics`.
    #[must_use]
    pub fn report(&self) -> MetricsReport {
        let MeterTotals { handed_on, no_space, .. } = self.totals();
        let shed: u64 = Priority::ALL.into_iter().map(|priority| self.queue.shed(priority)).sum();
        let queue_depth = self.queue.depth();
        let working_ms = self.working_us.load(Ordering::Relaxed) as f64 / 1e3;
        MetricsReport {
            samples_processed: handed_on,
            samples_dropped: shed + no_space,
            queue_depth,
            latency_p99_ms: self.latency_quantiles().map_or(0.0, |[_, _, p99]| p99.as_secs_f64() * 1e3),
            uptime_seconds: self.began.elapsed().as_secs(),
            thread_pool: WorkerReport {
                jobs_processed: handed_on,
                jobs_queued: queue_depth,
                avg_processing_ms: if handed_on == 0 { 0.0 } else { working_ms / handed_on as f64 },
                num_threads: self.workers,
            },
        }
    }
}

#[derive(Debug)]
pub struct BusyWorker<'a> {
    meters: &'a Meters,
}

impl Drop for BusyWorker<'_> {
    fn drop(&mut self) {
        self.meters.busy.fetch_sub(1, Ordering::SeqCst);
    }
}
