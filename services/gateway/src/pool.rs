//! The workers: a fixed number of async tasks that take entries from the queue and hand them on. No connection ever
//! occupies a worker.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kit::logs::RepeatedFailure;
use tokio::task::JoinSet;

use crate::breaker::{Breaker, BreakerDecision, BreakerState};
use crate::entry::QueueEntry;
use crate::meters::Meters;
use crate::queue::Queue;
use crate::sink::{Sink, SinkPermit};

/// Entries that one worker takes at once: they share the cost of a round trip to the sink.
const BATCH_SIZE: usize = 256;
/// After each failure.
const FAILURE_PAUSE: Duration = Duration::from_millis(20);

/// What all workers share.
#[derive(Debug)]
pub struct WorkerContext {
    queue: Arc<Queue>,
    sink: Sink,
    breaker: Mutex<Breaker>,
    failures: RepeatedFailure,
    meters: Arc<Meters>,
}

impl WorkerContext {
    /// From the queue to the sink.
    #[must_use]
    pub fn new(queue: Arc<Queue>, sink: Sink, meters: Arc<Meters>) -> Arc<Self> {
        Arc::new(Self {
            queue,
            sink,
            breaker: Mutex::default(),
            failures: RepeatedFailure::default(),
            meters,
        })
    }

    /// The state of the sink's circuit breaker, and how often it was opened.
    #[must_use]
    pub fn breaker(&self) -> (BreakerState, u64) {
        let breaker = self.lock();
        (breaker.state(), breaker.opened)
    }

    #[must_use]
    pub fn start(self: &Arc<Self>, workers: usize) -> WorkerPool {
        let mut tasks = JoinSet::new();
        for _ in 0..workers {
            let work = Arc::clone(self);
            tasks.spawn(async move {
                loop {
                    work.run_once().await;
                }
            });
        }
        WorkerPool { work: Arc::clone(self), _tasks: tasks }
    }

    async fn run_once(&self) {
        self.queue.arrived().await;
        let decision = self.lock().decide(Instant::now());
        if let BreakerDecision::RetryAfter(pause) = decision {
            return tokio::time::sleep(pause).await;
        }
        let permit = self.sink.permit().await;
        // Before entries are taken: `WorkerPool::finish` must see them in the queue or with a busy worker.
        let _busy = self.meters.busy();
        let entries = self.queue.take(BATCH_SIZE);
        if entries.is_empty() {
            return self.lock().cancel_probe(Instant::now());
        }
        self.hand_on(entries, permit).await;
    }

    async fn hand_on(&self, entries: Vec<QueueEntry>, permit: SinkPermit) {
        let began = Instant::now();
        #[cfg(feature = "faults")]
        crate::faults::slow_sink().await;
        let outcome = self.sink.hand_on(&entries, permit).await;
        match outcome {
            Ok(()) => {
                self.lock().record_success();
                self.meters.handed_on(&entries, began);
                entries.into_iter().for_each(QueueEntry::handed_on);
            }
            Err(error) => {
                if self.failures.is_to_be_logged() {
                    let waiting = self.queue.depth();
                    tracing::warn!(%error, waiting, "tasks could not be handed on; they stay queued");
                }
                self.meters.failed();
                self.queue.put_back(entries);
                self.lock().record_failure(Instant::now());
                tokio::time::sleep(FAILURE_PAUSE).await;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Running workers. Dropping them aborts them at their next await.
#[derive(Debug)]
pub struct WorkerPool {
    work: Arc<WorkerContext>,
    _tasks: JoinSet<()>,
}

impl WorkerPool {
    /// Waits until the queue is empty, for no longer than `within`; returns how many samples still wait then.
    pub async fn finish(self, within: Duration) -> usize {
        let mut checks = tokio::time::interval(Duration::from_millis(2));
        let done = async {
            while self.work.queue.depth() + self.work.meters.workers_busy() > 0 {
                checks.tick().await;
            }
        };
        let _in_time = tokio::time::timeout(within, done).await;
        // A busy worker's entries may or may not be handed on; they count as waiting.
        self.work.queue.depth() + self.work.meters.workers_busy() * BATCH_SIZE
    }
}

#[cfg(test)]
mod tests {
    use kit::limit::Limit;

    use super::*;
    use crate::entry::TaskBacking;
    use crate::queue::Shedding;
    use crate::sample::Priority;
    use crate::sink::SinkOptions;

    #[tokio::test]
    async fn while_one_worker_writes_to_a_file_the_others_leave_arriving_tasks_in_the_queue() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tasks");
        let queue = Arc::new(Queue::new(Limit::new(100), Shedding::Never));
        let sink = Sink::open(&SinkOptions::File(path.clone())).unwrap();
        let work = WorkerContext::new(Arc::clone(&queue), sink, Meters::new(Arc::clone(&queue), 8));
        let permit = work.sink.permit().await;
        let workers = work.start(8);
        for arrived in 1..=20 {
            let (since, backing) = (Instant::now(), TaskBacking::Memory);
            queue.push([QueueEntry {
                priority: Priority::Low,
                task: "{}".into(),
                since,
                slot: None,
                backing,
            }]);
            // Every runnable worker runs on the only thread meanwhile.
            tokio::task::yield_now().await;
            assert_eq!(queue.depth(), arrived);
        }
        drop(permit);
        assert_eq!(workers.finish(Duration::from_secs(60)).await, 0);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}\n".repeat(20));
    }
}
